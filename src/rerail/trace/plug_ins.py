"""What other packages bring along, by entry points. To load it runs their code: only if asked."""

from collections.abc import Iterator
from importlib.metadata import entry_points
from typing import Any

from rerail.errors import UserError


class PlugInBroken(UserError):
    """Another package's plug-in cannot be loaded."""


def loaded(group: str) -> Iterator[Any]:
    """What the entry points of a group name. Raises PlugInBroken."""
    for entry in entry_points(group=group):
        try:
            yield entry.load()
        except Exception as error:
            what = f"the plug-in {entry.name} ({entry.value}) cannot be loaded: {error}"
            raise PlugInBroken(what, hint="mend or remove its package, or ask for none") from error
