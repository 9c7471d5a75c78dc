"""The wall clock of an agent: what was read is written down, and given back in a replay.

Every function of `time` and `datetime` that tells the date goes by one number, nanoseconds since
1970. Monotonic clocks are left alone: nothing in a prompt comes from them, and time-outs do.
"""

import time

from _rerail_run import RUN
from _rerail_sites import LIMIT, asking, getframe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any, Dict

HELD_NS = 2000000000
"""How long the clock of a replay waits at the next recorded model call: a loop that polls for a
later time must come to its end."""

_time_ns, _monotonic_ns = time.time_ns, time.monotonic_ns
_localtime, _gmtime = time.localtime, time.gmtime
_ctime, _asctime, _strftime = time.ctime, time.asctime, time.strftime
_clock_gettime = getattr(time, "clock_gettime", None)
_clock_gettime_ns = getattr(time, "clock_gettime_ns", None)
_REALTIME = getattr(time, "CLOCK_REALTIME", None)


class _Told:
    """The latest time that was given in a replay: the clock does not go back."""

    latest = 0


def _recorded_now(frame: "FrameType") -> int:
    """The system's time, written down with the place that asked for it."""
    now = _time_ns()
    if RUN.live:
        site = asking(frame)
        site.count += 1
        if site.count <= LIMIT:
            number = site.number if site.declared else site.declare()
            RUN.write(b"t\t%d\t%d\t%d\n" % (site.turn, number, now))
        elif site.count == LIMIT + 1:
            RUN.missing("times past %d in one turn" % LIMIT, site.text)
    return now


def _replayed_now(frame: "FrameType") -> int:
    """The time that this place was given in the recording, else the time of the page."""
    if not RUN.live:
        return _time_ns()
    if RUN.gone_live():
        return _recorded_now(frame) if RUN.settings["log"] else _time_ns()
    site = asking(frame)
    at = site.count
    site.count = at + 1
    if at < len(site.times):
        now: "int" = site.times[at]
        _Told.latest = max(_Told.latest, now)
    else:
        now = _Told.latest = max(_Told.latest, _of_the_page())
    if RUN.settings["log"] and at < LIMIT:
        number = site.number if site.declared else site.declare()
        RUN.write(b"t\t%d\t%d\t%d\n" % (site.turn, number, now))
    return now


def _of_the_page() -> int:
    words, signed = RUN.words, RUN.signed
    for _ in range(1000):
        counter = words[1]
        wall, mono, limit = signed[3], signed[4], signed[5]
        if counter == words[1] and not counter & 1:
            break
    now = wall + max(0, _monotonic_ns() - mono)
    if limit and now > limit:
        now = limit + max(0, now - limit - HELD_NS)
    return now  # type: ignore[no-any-return]


_now = _recorded_now


def time_left(seconds: "Any", frame: "FrameType") -> "Any":
    """What is left of a time-out, as a message names it: by the monotonic clock, so never twice
    the same. What is whole was said by the agent itself."""
    if not RUN.live or not isinstance(seconds, float) or seconds.is_integer():
        return seconds
    site = asking(frame)
    at = site.left
    site.left = at + 1
    if at < len(site.lefts) and not RUN.gone_live():
        seconds = site.lefts[at]
    if RUN.settings["log"] and at < LIMIT:
        number = site.number if site.declared else site.declare()
        RUN.write(b"w\t%d\t%d\t%s\n" % (site.turn, number, repr(seconds).encode("ascii")))
    return seconds


def install_subprocess(module: "Any") -> None:
    """`run(…, timeout=5)` says that it timed out after 4.998 seconds."""
    expired = module.TimeoutExpired
    native = expired.__init__

    def made(self: "Any", cmd: "Any", timeout: "Any", *args: "Any", **kwargs: "Any") -> None:
        native(self, cmd, time_left(timeout, getframe(1)), *args, **kwargs)

    made.__name__ = native.__name__
    made.__qualname__ = native.__qualname__
    expired.__init__ = made


class _Natives:
    """What stood where we stand."""

    functions: "Dict[str, Any]" = {}  # noqa: RUF012 - there is one clock
    kind: "Any" = None
    given_back = False
    methods: "Dict[str, Any]" = {}  # noqa: RUF012


class _Time:
    """What stands in `time` for the functions in C: bound methods, which bind no further."""

    def __reduce__(self) -> "Any":
        return __import__, ("time",)

    def __deepcopy__(self, memo: object) -> "_Time":
        return self

    def time(self) -> float:
        return _now(getframe(1)) / 1e9

    def time_ns(self) -> int:
        return _now(getframe(1))

    def clock_gettime(self, *args: "Any") -> float:
        if args == (_REALTIME,):
            return _now(getframe(1)) / 1e9
        return _clock_gettime(*args)  # type: ignore[misc,no-any-return]

    def clock_gettime_ns(self, *args: "Any") -> int:
        if args == (_REALTIME,):
            return _now(getframe(1))
        return _clock_gettime_ns(*args)  # type: ignore[misc,no-any-return]

    def localtime(self, *args: "Any") -> "Any":
        if not args or args == (None,):
            args = (_now(getframe(1)) // 1000000000,)
        return _localtime(*args)

    def gmtime(self, *args: "Any") -> "Any":
        if not args or args == (None,):
            args = (_now(getframe(1)) // 1000000000,)
        return _gmtime(*args)

    def ctime(self, *args: "Any") -> str:
        if not args or args == (None,):
            args = (_now(getframe(1)) // 1000000000,)
        return _ctime(*args)

    def asctime(self, *args: "Any") -> str:
        return _asctime(*(args or (_localtime(_now(getframe(1)) // 1000000000),)))

    def strftime(self, *args: "Any") -> str:
        if len(args) == 1:
            args = (*args, _localtime(_now(getframe(1)) // 1000000000))
        return _strftime(*args)


def install() -> None:
    """Put the clock in the place of the system's."""
    global _now  # noqa: PLW0603 - asked at every call: one look-up less than an attribute
    _now = _replayed_now if RUN.settings["mode"] == "replay" else _recorded_now
    clock = _Time()
    for name, function in list(vars(_Time).items()):
        if not name.startswith("_") and hasattr(time, name):
            function.__module__, function.__qualname__ = "time", name
            function.__doc__ = getattr(time, name).__doc__
            _Natives.functions[name] = getattr(time, name)
            setattr(time, name, getattr(clock, name))


def install_datetime(module: "Any") -> None:
    """`now` and `utcnow` in C read the clock by themselves; `today` asks `time.time`."""
    if _Natives.given_back:
        return
    kind, utc = module.datetime, module.timezone.utc
    at = kind.__dict__["fromtimestamp"]

    def now(cls: "Any", tz: "Any" = None) -> "Any":
        """Returns new datetime object representing current time local to tz."""
        return at.__get__(None, cls)(_now(getframe(1)) // 1000 / 1e6, tz)

    def utcnow(cls: "Any") -> "Any":
        """Return a new datetime representing UTC day and time."""
        _warn_of_utcnow()
        told = at.__get__(None, kind)(_now(getframe(1)) // 1000 / 1e6, utc)
        date = (told.year, told.month, told.day)
        return cls(*date, told.hour, told.minute, told.second, told.microsecond)

    _Natives.kind = kind
    _Natives.methods = {name: kind.__dict__[name] for name in ("now", "utcnow")}
    _put_into_type(kind, {"now": classmethod(now), "utcnow": classmethod(utcnow)})


def give_way(name: str) -> None:
    """time_machine does the same to the functions in C, and would write into ours as if they were.

    So it finds those, and from now on the clock is its own; `name` is that of its part in C.
    """
    _Natives.given_back = True
    for function in _Natives.functions:
        setattr(time, function, _Natives.functions[function])
    if _Natives.kind is not None:
        _put_into_type(_Natives.kind, _Natives.methods)
    RUN.missing("the clock", "%s has taken it over" % name)


give_way.comes_before = True  # type: ignore[attr-defined]


def _warn_of_utcnow() -> None:
    import sys

    if sys.version_info >= (3, 12):
        import warnings

        warnings.warn(
            "datetime.datetime.utcnow() is deprecated and scheduled for removal in a future "
            "version. Use timezone-aware objects to represent datetimes in UTC: "
            "datetime.datetime.now(datetime.UTC).",
            DeprecationWarning,
            stacklevel=3,
        )


def _put_into_type(kind: "Any", methods: "Any") -> None:
    """A type in C refuses new attributes, but its dictionary is one like any other.

    So it stays the same type, for subclasses, for pickles and for whoever holds it already. Setting
    and deleting `__abstractmethods__` is what makes Python forget what it has looked up.
    """
    try:
        for name, method in methods.items():
            setattr(kind, name, method)
        return
    except TypeError:
        pass
    import gc

    (entries,) = gc.get_referents(kind.__dict__)
    entries.update(methods)
    flag = type.__dict__["__abstractmethods__"]
    flag.__set__(kind, frozenset())
    flag.__delete__(kind)
