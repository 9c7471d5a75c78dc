"""What a run asks of its Pythons is put in place: now for what is loaded, else when it is."""

from _rerail_run import RUN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict


def start(hooks: "Dict[str, Callable[[Any], None]]") -> None:
    """Join the run; `hooks` are called with the module of their name once it is imported."""
    RUN.join()
    if not RUN.live:
        return
    import _rerail_spawn
    from _rerail_sites import prepare

    prepare()
    RUN.renewed.append(_rerail_spawn.renewed)
    hooks["multiprocessing.util"] = _rerail_spawn.install_multiprocessing
    hooks["multiprocessing.pool"] = _scopes("install_multiprocessing_pool")
    hooks["concurrent.futures.process"] = _scopes("install_process_pool")
    hooks["concurrent.futures.thread"] = _scopes("install_thread_pool")
    hooks["threading"] = _scopes("install_threading")
    hooks["asyncio.base_events"] = _scopes("install_asyncio")
    if RUN.settings.get("children"):
        _tell_of_children(hooks)
    if RUN.settings["clock"]:
        import _rerail_clock

        _rerail_clock.install()
        hooks["datetime"] = _rerail_clock.install_datetime
        hooks["_time_machine"] = _rerail_clock.give_way
        _also(hooks, "subprocess", _rerail_clock.install_subprocess)
    if RUN.settings["random"]:
        import _rerail_random

        _rerail_random.install()
        hooks["random"] = _rerail_random.install_random
        hooks["uuid"] = _rerail_random.install_uuid
        hooks["tempfile"] = _rerail_random.install_tempfile


def _tell_of_exec(os: "Any") -> None:
    """A fork that becomes another program is a child of which nobody hears anything more."""

    def telling(native: "Any") -> "Any":
        def exec_(path: "Any", args: "Any", *environment: "Any") -> "Any":
            if RUN.live and RUN.is_fork and os.access(path, os.X_OK):  # PATH is tried in turn
                words = " ".join(map(os.fsdecode, args))
                RUN.missing("a child that was made by fork and exec is not on the tape", words)
            return native(path, args, *environment)

        exec_.__name__ = native.__name__
        exec_.__doc__ = native.__doc__
        return exec_

    for name in ("execv", "execve"):
        setattr(os, name, telling(getattr(os, name)))


def _also(
    hooks: "Dict[str, Callable[[Any], None]]", name: str, hook: "Callable[[Any], None]"
) -> None:
    """After the hook that is there, if one is."""
    first = hooks.get(name)

    def both(module: "Any") -> None:
        if first is not None:
            first(module)
        hook(module)

    hooks[name] = both


def _scopes(name: str) -> "Callable[[Any], None]":
    """A function of `_rerail_scopes`, which is loaded when it is needed."""

    def install(module: "Any") -> None:
        import _rerail_scopes

        getattr(_rerail_scopes, name)(module)

    return install


def _tell_of_children(hooks: "Dict[str, Callable[[Any], None]]") -> None:
    """What does so is loaded when it is needed: most processes start no child."""
    import os

    if os.environ.get("RERAIL_INSIDE"):
        import _rerail_written

        _rerail_written.install()

    def install(module: "Any") -> None:
        from _rerail_children import install

        install(module)

    def system(command: "Any") -> int:
        os.system = native
        import subprocess  # noqa: F401 - its hook puts another in this place

        return os.system(command)  # noqa: S605 - the agent's own

    _tell_of_exec(os)
    native, os.system = os.system, system
    hooks["subprocess"] = install
