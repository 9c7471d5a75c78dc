"""Loaded by every Python an agent starts: it joins the run, and its clients find the recorder.

Imports nothing that Python has not loaded already: a module is changed when it is itself imported.
Any Python from 2.7 on may be pointed here and must be able to read this file; the modules beside it
(`_rerail_*`) are for 3.8 and later.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict  # noqa: F401 - for the comments that are types


def _aiohttp_finds_the_recorder(module):
    # type: (Any) -> None
    """aiohttp reads proxy variables only where `trust_env` is set, and netrc along with them.

    So the proxy is given to each request instead, unless the agent chose one or dials by itself.
    """
    session, connector = module.ClientSession, module.TCPConnector
    request, dial = session._request, connector._wrap_create_connection

    def _request(self, *args, **kwargs):
        # type: (Any, *Any, **Any) -> Any
        url = os.environ.get("RERAIL_PROXY")
        chosen = kwargs.get("proxy") or getattr(self, "_default_proxy", None) or self.trust_env
        own = getattr(type(self.connector), "_wrap_create_connection", None)
        if url and not chosen and own is dial:
            kwargs["proxy"] = url
        return request(self, *args, **kwargs)

    session._request = _request


_HOOKS = {"aiohttp.client": _aiohttp_finds_the_recorder}  # type: Dict[str, Callable[[Any], None]]


_FOLDER = os.path.dirname(__file__)


class _AfterImport:
    """Calls the hook of a module once the other finders have loaded it; finds only our own.

    A hook that `comes_before` is called with the name, before anybody loads the module.
    """

    def find_spec(self, name, path=None, target=None):
        # type: (str, Any, Any) -> Any
        if name.startswith("_rerail_"):
            from _frozen_importlib_external import PathFinder

            return PathFinder.find_spec(name, [_FOLDER])
        hook = _HOOKS.get(name)
        if hook is None:
            return None
        if getattr(hook, "comes_before", False):
            del _HOOKS[name]
            hook(name)
            return None
        others = [finder for finder in sys.meta_path if finder is not self]
        specs = (other.find_spec(name, path, target) for other in others)
        spec = next((found for found in specs if found is not None), None)  # type: Any
        load = getattr(getattr(spec, "loader", None), "exec_module", None)
        if spec is None or load is None:
            return None

        def exec_module(module):
            # type: (Any) -> None
            load(module)
            if module.__name__ == name:
                _call(hook, module)

        spec.loader.exec_module = exec_module
        return spec


def _call(hook, module):
    # type: (Any, Any) -> None
    """A hook that does not fit this version of a client must not stop the agent."""
    try:
        hook(module)
    except AttributeError as error:
        sys.stderr.write("rerail: %s is not recorded: %s\n" % (module.__name__, error))


def _join_the_run():
    # type: () -> None
    """Whatever goes wrong with it, the agent goes on."""
    if sys.version_info < (3, 8) or not os.environ.get("RERAIL_RUN"):
        return
    try:
        from _rerail_start import start

        start(_HOOKS)
    except Exception as error:
        sys.stderr.write("rerail: clock and random are left as they are: %r\n" % error)


def _install():
    # type: () -> None
    if sys.version_info < (3, 4):
        return
    sys.meta_path.insert(0, _AfterImport())
    _join_the_run()
    for name, hook in _HOOKS.items():
        if name in sys.modules:
            _call(hook, sys.modules[name])


def _tell_of_what_passes_by():
    # type: () -> None
    if sys.version_info < (3, 8) or not os.environ.get("RERAIL_TELLS"):
        return
    try:
        from _rerail_passed import install

        install(os.environ["RERAIL_PROXY"])
    except Exception as error:
        sys.stderr.write("rerail: connections that pass by are not told: %r\n" % error)


def _run_the_shadowed_one():
    # type: () -> None
    """Debian and others have a sitecustomize of their own, which this one hides."""
    folder = _FOLDER
    ours = sys.modules.pop(__name__)
    sys.modules["_rerail_probe"] = ours
    sys.path[:] = [entry for entry in sys.path if entry != folder]
    try:
        __import__(__name__)
    except ImportError as error:
        if getattr(error, "name", __name__) != __name__:
            raise
        sys.modules[__name__] = ours


_install()
_tell_of_what_passes_by()
_run_the_shadowed_one()
