"""What of a folder is not snapshotted, and why: one table. Knows names, opens nothing.

A pattern without a slash is the name of a file or folder anywhere, one with a slash the end of a
path; `*` stands for anything. What a name cannot tell, a marker inside the folder does.
"""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rerail.tape.companions import with_companions

OWN: Final = "rerail's own"
CREDENTIALS: Final = "may hold credentials"
INSTALLED: Final = "installed by a tool"
MADE_AGAIN: Final = "can be made again"
HELD: Final = "held by a git at work"
ASKED: Final = "left out by --exclude"


@dataclass(frozen=True, slots=True)
class Rule:
    """Patterns, and why what they match is left out. `folders` says whether folders match."""

    why: str
    patterns: tuple[str, ...]
    folders: bool = False


TABLE: Final = (
    # A tape that held itself would grow with every look at it.
    Rule(OWN, (*map(str, with_companions(Path("*.tape"))), "*.tape.partial")),
    # Tapes are shown to others. A key in one of these would be in it as it is.
    Rule(
        CREDENTIALS,
        (
            ".env", ".env.*", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx",
            "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", ".netrc", "_netrc", ".pgpass",
            ".git-credentials", ".npmrc", ".pypirc", ".htpasswd", ".dockercfg",
            ".docker/config.json", ".config/gh/hosts.yml", ".terraform.d/credentials.tfrc.json",
            "application_default_credentials.json", "service-account*",
            ".claude/.credentials.json", ".claude.json", ".codex/auth.json",
            ".gemini/oauth_creds.json",
            ".local/share/opencode/auth.json",
        ),
    ),
    Rule(
        CREDENTIALS,
        (".ssh", ".gnupg", ".aws", ".azure", ".kube", ".config/gcloud", ".password-store"),
        folders=True,
    ),
    # There for as long as a git runs, beside whatever a snapshot is taken for.
    Rule(HELD, (".git/index.lock", ".git/HEAD.lock", ".git/config.lock")),
    # Large, and put there by a tool out of what is snapshotted. A replay sees what is there now.
    Rule(INSTALLED, ("node_modules", ".venv", "venv", ".tox", ".nox"), folders=True),
    # Made by a tool out of what is snapshotted, and made again where it is missing.
    Rule(
        MADE_AGAIN,
        (
            "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".gradle", ".next/cache",
            ".turbo", ".parcel-cache",
        ),
        folders=True,
    ),
)  # fmt: skip

RUNS: Final = b"runs"
"""The folder in which unnamed tapes go, at the top of the workspace."""

NO_SECRETS: Final = (".env.example", ".env.sample", ".env.template", ".env.dist")
"""Files for others to fill in."""

MARKERS: Final = {"pyvenv.cfg": INSTALLED, "CACHEDIR.TAG": MADE_AGAIN}
"""Files that make their folder a virtual environment, or a cache (bford.info/cachedir)."""


class LeftOut:
    """The table, with what the user wants back (`include`) and what besides to leave out.

    `own` are paths of rerail's own files in the folder, whatever they are called; `held` are those
    that an earlier snapshot held, and so does the next.
    """

    def __init__(
        self,
        include: Iterable[str] = (),
        exclude: Iterable[str] = (),
        *,
        own: Iterable[bytes] = (),
        held: Iterable[bytes] = (),
    ) -> None:
        self._own = frozenset(own)
        self._held = frozenset(held)
        self._wanted = Patterns(include)
        self._asked = Patterns(exclude)
        self._no_secrets = Patterns(NO_SECRETS)
        self._of_files = [(rule.why, Patterns(rule.patterns)) for rule in TABLE if not rule.folders]
        self._of_folders = [(rule.why, Patterns(rule.patterns)) for rule in TABLE if rule.folders]

    def why(self, path: bytes, *, folder: bool) -> str:
        """Why this path is left out; "" where it is not."""
        if path in self._own:
            return OWN
        if path in self._held:
            return ""
        if self._asked.match(path):
            return ASKED
        why = OWN if path == RUNS and folder else self._by_table(path, folder=folder)
        return "" if why and self._wanted.match(path) else why

    def wanted(self, path: bytes) -> bool:
        """Whether this path is to be there whatever is in it, and however large it is."""
        return path in self._held or self._wanted.match(path)

    def _by_table(self, path: bytes, *, folder: bool) -> str:
        for why, patterns in self._of_folders if folder else self._of_files:
            if patterns.match(path):
                return "" if self._no_secrets.match(path) else why
        return ""


class Patterns:
    """Several patterns. Those of the usual forms need no regular expression: they are made fast."""

    __slots__ = ("_begin", "_end", "_exact", "_odd", "_paths")

    def __init__(self, patterns: Iterable[str]) -> None:
        given = [os.fsencode(pattern.strip("/")) for pattern in patterns]
        plain = [pattern for pattern in given if not _WILD.search(pattern)]
        self._exact = frozenset(pattern for pattern in plain if b"/" not in pattern)
        self._paths = tuple(b"/" + pattern for pattern in plain if b"/" in pattern)
        wild = [pattern for pattern in given if _WILD.search(pattern)]
        ends = [pattern for pattern in wild if _END.fullmatch(pattern)]
        begins = [pattern for pattern in wild if _BEGIN.fullmatch(pattern)]
        self._end = tuple(pattern[1:] for pattern in ends)
        self._begin = tuple(pattern[:-1] for pattern in begins)
        self._odd = _expression([item for item in wild if item not in (*ends, *begins)])

    def match(self, path: bytes) -> bool:
        """Whether a path is meant by one of them."""
        name = path[path.rfind(b"/") + 1 :]
        if name in self._exact or name.endswith(self._end) or name.startswith(self._begin):
            return True
        if self._paths and (b"/" + path).endswith(self._paths):
            return True
        return self._odd is not None and self._odd.fullmatch(path) is not None


_WILD: Final = re.compile(rb"[*?[]")
_END: Final = re.compile(rb"\*[^*?[/]+")
_BEGIN: Final = re.compile(rb"[^*?[/]+\*")


def _expression(patterns: list[bytes]) -> re.Pattern[bytes] | None:
    """One regular expression for all; `*` may stand for slashes too."""
    if not patterns:
        return None
    from fnmatch import translate

    each = (f"(?:.*/)?{translate(os.fsdecode(pattern))}" for pattern in patterns)
    return re.compile(os.fsencode("|".join(each)), re.DOTALL)
