"""The links of a tree, and which of them lead out of it. By the tree alone: no file system.

A link is followed as the system does it, name by name and through other links, so that neither a
`..` behind a link nor a link to a link hides where it goes.
"""

from collections.abc import Mapping
from typing import Final

from rerail.tape.trees import Entry, Tree

_MOST_LINKS: Final = 40
"""The system follows no more on one way; where such a way ends nobody can say."""


def new_ways_out(before: Tree, after: Tree) -> list[str]:
    """The links of `after` that are absolute or lead out of it, but for those `before` had so."""
    had = {(entry.path, entry.content) for entry in _leading_out(before)}
    return [entry.name for entry in _leading_out(after) if (entry.path, entry.content) not in had]


def _leading_out(tree: Tree) -> list[Entry]:
    links = {entry.path: entry for entry in tree if entry.kind == "link"}
    return [link for link in links.values() if _leads_out(link, links)]


def _leads_out(link: Entry, links: Mapping[bytes, Entry]) -> bool:
    place = link.path.split(b"/")[:-1]
    ahead = _reversed_names(link)
    followed = 1
    while ahead:
        if followed > _MOST_LINKS:
            return True
        name = ahead.pop()
        if name == b"/" or (name == b".." and not place):
            return True
        if name == b"..":
            place.pop()
        elif (met := links.get(b"/".join([*place, name]))) is not None:
            followed += 1
            ahead += _reversed_names(met)
        else:
            place.append(name)
    return False


def _reversed_names(link: Entry) -> list[bytes]:
    """The names on the way, the first one last; `/` first of all where it is absolute."""
    names = [name for name in link.content.split(b"/") if name not in (b"", b".")]
    return [*reversed(names), *([b"/"] if link.content.startswith(b"/") else [])]
