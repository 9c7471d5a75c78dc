"""Random values of an agent: from the run's seed where nothing secret hangs on them, else kept.

`random`, UUIDs and the names of temporary files come from a keyed hash over process, turn, place
and kind: nothing need be written down. What the system's generator gives (`secrets`, `os.urandom`)
may become a key or a token, so it stays real, and is written down.
"""

import os

from _rerail_run import RUN
from _rerail_sites import LIMIT, Site, asking, getframe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any, Callable

LARGEST = 65536
"""Bytes of entropy drawn at once that are written down."""

_urandom = os.urandom
_getrandom: "Any" = getattr(os, "getrandom", None)


# Derived.


def derived(site: Site, kind: str, size: int) -> bytes:
    """The next `size` bytes (64 at most) of a kind at a site."""
    from _blake2 import blake2b

    count = site.streams.get(kind, 0)
    site.streams[kind] = count + 1
    owner = site.scope if site.scope.startswith("@") else RUN.name + site.scope
    what = "%s\0%d\0%s\0%s\0%d" % (owner, site.turn, site.text, kind, count)
    key = bytes.fromhex(RUN.settings["seed"])
    digest = blake2b(what.encode("utf-8", "surrogateescape"), key=key, digest_size=size)
    return digest.digest()


# The system's generator.


class _System:
    """What stands in `os` for its functions: bound methods, which bind no further."""

    def __reduce__(self) -> "Any":
        return __import__, ("os",)

    def __deepcopy__(self, memo: object) -> "_System":
        return self

    def urandom(self, size: int) -> bytes:
        return _kept(getframe(1), size, lambda: _urandom(size))

    def getrandom(self, size: int, flags: int = 0) -> bytes:
        return _kept(getframe(1), size, lambda: _getrandom(size, flags))


def _kept(frame: "FrameType", size: object, draw: "Callable[[], bytes]") -> bytes:
    """What is drawn, written down; in a replay what was drawn here then, if it is as long."""
    if not RUN.live:
        return draw()
    site = asking(frame)
    at = site.drawn
    site.drawn = at + 1
    known = at < len(site.entropy) and len(site.entropy[at]) == size and not RUN.gone_live()
    drawn = site.entropy[at] if known else draw()
    if not RUN.settings["log"]:
        return drawn
    if at < LIMIT and len(drawn) <= LARGEST:
        number = site.number if site.declared else site.declare()
        RUN.write(("r\t%d\t%d\t%s\n" % (site.turn, number, drawn.hex())).encode("ascii"))
    elif at == LIMIT or len(drawn) > LARGEST:
        RUN.missing("entropy past what is kept", site.text)
    return drawn


def install() -> None:
    """Keep what the system's generator gives."""
    system = _System()
    for name in ("urandom", "getrandom"):
        if hasattr(os, name):
            function = vars(_System)[name]
            function.__module__, function.__qualname__ = "os", name
            setattr(os, name, getattr(system, name))


# The modules that derive.


class _Shared:
    """What stands in `random` for the methods of its hidden instance, until that is seeded."""

    def __init__(self, module: "Any") -> None:
        self.module = module
        self.inner = module._inst
        self.seeded = False
        # Python seeds the shared generator anew in a fork, whatever it was.
        RUN.renewed.append(lambda: setattr(self, "seeded", False))

    def __reduce__(self) -> "Any":
        return __import__, ("random",)

    def __deepcopy__(self, memo: object) -> "_Shared":
        return self

    def generator(self, frame: "FrameType") -> "Any":
        """The generator of a site in this turn; the shared one once the agent has seeded it."""
        if self.seeded or not RUN.live:
            return self.inner
        site = asking(frame)
        return site.streams.get("random") or _generator(self.module, site)

    def seed(self, a: "Any" = None, version: int = 2) -> None:
        """Initialize internal state from a seed."""
        self.inner.seed(a, version)
        self.seeded = a is not None

    def getstate(self) -> "Any":
        """Return internal state; can be passed to setstate() later."""
        return self.inner.getstate()

    def setstate(self, state: "Any") -> None:
        """Restore internal state from object returned by getstate()."""
        self.inner.setstate(state)
        self.seeded = True


def _generator(module: "Any", site: Site) -> "Any":
    made = module.Random(int.from_bytes(derived(site, "generator", 32), "big"))
    site.streams["random"] = made
    return made


def _drawing(name: str) -> "Any":
    def draw(self: _Shared, *args: "Any", **kwargs: "Any") -> "Any":
        return getattr(self.generator(getframe(1)), name)(*args, **kwargs)

    draw.__name__ = draw.__qualname__ = name
    draw.__module__ = "random"
    return draw


def install_random(module: "Any") -> None:
    """The functions of `random` draw by site, and a `Random()` without a seed gets one."""
    shared = _Shared(module)
    seed = module.Random.seed

    def seeded(self: "Any", a: "Any" = None, version: int = 2) -> None:
        if a is None and RUN.live:
            a = int.from_bytes(derived(asking(getframe(1)), "seed", 32), "big")
        seed(self, a, version)

    seeded.__name__, seeded.__qualname__, seeded.__doc__ = "seed", "Random.seed", seed.__doc__
    module.Random.seed = seeded
    for name, value in list(vars(module).items()):
        if getattr(value, "__self__", None) is not shared.inner:
            continue
        if name not in ("seed", "getstate", "setstate"):
            setattr(module, name, _drawing(name).__get__(shared))
        else:
            setattr(module, name, getattr(shared, name))
    if module._urandom is _urandom:
        module._urandom = os.urandom
    shared.inner.seed()


def install_uuid(module: "Any") -> None:
    """Random UUIDs are derived; those by time go by `time`, not by a library that reads a clock,
    and by the network address of the machine that was recorded."""
    uuid4, getnode = module.uuid4, module.getnode

    def derived_uuid4() -> "Any":
        """Generate a random UUID."""
        if not RUN.live:
            return uuid4()
        return module.UUID(bytes=derived(asking(getframe(1)), "uuid4", 16), version=4)

    def recorded_getnode() -> int:
        """Get the hardware address as a 48-bit positive integer."""
        kept = _kept(getframe(1), 6, lambda: getnode().to_bytes(6, "big"))
        return int.from_bytes(kept, "big")

    for name, function in (("uuid4", derived_uuid4), ("getnode", recorded_getnode)):
        function.__name__ = function.__qualname__ = name
        function.__module__ = "uuid"
        setattr(module, name, function)
    module._generate_time_safe = module._UuidCreate = None
    if hasattr(module, "_has_uuid_generate_time_safe"):
        module._has_uuid_generate_time_safe = False


def install_tempfile(module: "Any") -> None:
    """Names of temporary files are drawn by site."""
    names = module._RandomNameSequence
    before = names.rng

    def rng(self: "Any") -> "Any":
        if not RUN.live:
            return before.fget(self)
        import random

        site = asking(getframe(1))
        found = site.streams.get("name")
        if found is None:
            seed = int.from_bytes(derived(site, "names", 32), "big")
            found = site.streams["name"] = random.Random(seed)  # noqa: S311 - no secret
        return found

    names.rng = property(rng)
    if RUN.settings["mode"] == "replay":
        module._os = _TakesOver(os)


class _TakesOver:
    """`os` as `tempfile` sees it in a replay.

    The recording may have left a folder or file behind, under the very name that is to be made
    again. A folder of ours that is empty is as good as made; anything of ours gives way where it is
    only a copy, which nobody else sees.
    """

    def __init__(self, module: "Any") -> None:
        self._module = module

    def __getattr__(self, name: str) -> "Any":
        return getattr(self._module, name)

    def mkdir(self, path: str, mode: int = 0o777) -> None:
        """Create a directory, or take over what the recording left of it."""
        try:
            os.mkdir(path, mode)
        except FileExistsError:
            if _is_left_empty(path):
                os.chmod(path, mode)
            elif _gives_way(path):
                os.mkdir(path, mode)
            else:
                RUN.missing("a temporary folder has another name", "%s is still there" % path)
                raise

    def open(self, path: str, flags: int, mode: int = 0o777) -> int:
        """Open a file, or make it anew where the recording left one."""
        try:
            return os.open(path, flags, mode)
        except FileExistsError:
            if not _gives_way(path):
                RUN.missing("a temporary file has another name", "%s is still there" % path)
                raise
            return os.open(path, flags, mode)


def _gives_way(path: str) -> bool:
    """Take away what is left there, if it is ours and only a copy of what others see."""
    try:
        found = os.lstat(path)
        if found.st_uid != os.geteuid() or not _is_private(path):
            return False
        if found.st_mode & 0o170000 == 0o040000:
            import shutil

            shutil.rmtree(path)
        else:
            os.unlink(path)
        return True
    except OSError:
        return False


def _is_private(path: str) -> bool:
    """Whether it is in a copy-on-write mount of the replay's (`rerail.sandbox.mounts`).

    There folders have the device of the mount, files that of what lies beneath.
    """
    around = os.stat(os.path.dirname(path)).st_dev
    for folder in RUN.settings.get("private", ()):
        if path.startswith(folder + "/") and os.stat(folder).st_dev == around:
            ours = "upperdir=%s/upper" % folder
            with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as mounts:
                lines = [line.split() for line in mounts]
            return any(line[4] == folder and ours in line[-1].split(",") for line in lines)
    return False


def _is_left_empty(path: str) -> bool:
    try:
        found = os.lstat(path)
        return (
            found.st_mode & 0o170000 == 0o040000
            and found.st_uid == os.geteuid()
            and not os.listdir(path)
        )
    except OSError:
        return False
