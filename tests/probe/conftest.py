"""A stand-in for the recorder: takes CONNECT, with an answer or without, and carries on."""

import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from rerail.launch.environment import child_environment
from rerail.launch.trust import ca_bundle
from rerail.testing.ca import CertificateAuthority
from rerail.testing.connection import Connection
from rerail.testing.forward_proxy import relay_to
from rerail.testing.origin import Behaviour, Origin
from rerail.testing.replies import head, serve, text
from tests.probe.played import Played

TOKEN = "tok-EN_1"
SECURE, PLAIN = "api.example.com", "plain.example.com"


@dataclass(frozen=True)
class Recorder:
    """The stand-in, and the environment of a child that it is for."""

    proxy: Origin
    environment: dict[str, str]

    @property
    def asked(self) -> list[tuple[str, str]]:
        """Method and target of what reached the recorder."""
        return [(request.method, request.target) for request in self.proxy.requests]

    @property
    def silent(self) -> list[bool]:
        """Which of these asked for no answer."""
        return [request.header("rerail-answer") == "none" for request in self.proxy.requests]

    @property
    def credentials(self) -> set[str]:
        """What stood in Proxy-Authorization."""
        return {request.header("proxy-authorization") or "" for request in self.proxy.requests}


def carries_on(origins: Mapping[str, tuple[str, int]]) -> Behaviour:
    """CONNECT to a host of `origins`; everything else ends."""

    def run(connection: Connection) -> None:
        request = connection.read_request()
        if request is None:
            return
        host = request.target.removeprefix("http://").partition("/")[0].rpartition(":")[0]
        if host not in origins:
            return
        if request.header("rerail-answer") != "none":
            connection.send(head(200))
        relay_to(origins[host])(connection)

    return run


@pytest.fixture
def recorder(
    start_origin: Callable[..., Origin], authority: CertificateAuthority, tmp_path: Path
) -> Recorder:
    """A stand-in before a plain and a TLS origin, both saying what path they were asked for."""
    answers = serve(lambda connection, request: text(f"told {request.path}")(connection, request))
    secure = start_origin(answers, tls=authority.leaf(SECURE, "192.0.2.7"))
    plain = start_origin(answers)
    table = dict.fromkeys((SECURE, "192.0.2.7", "other.example.com"), secure.address)
    table[PLAIN] = plain.address
    proxy = start_origin(carries_on(table))
    environment = child_environment(
        {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(tmp_path)},
        port=proxy.port,
        token=TOKEN,
        process_id=7,
        bundle=ca_bundle(tmp_path, authority.pem, {}),
    )
    return Recorder(proxy, environment)


PYENV = Path("~/.pyenv/versions").expanduser()
THIS = f"{sys.version_info.major}.{sys.version_info.minor}"
VERSIONS = [name for name in ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13") if name != THIS]


@pytest.fixture(params=("this", *VERSIONS))
def played(request: pytest.FixtureRequest, tmp_path: Path) -> Played:
    """Programs under the probe, in this Python and in each other version that is here."""
    if request.param == "this":
        return Played(tmp_path, sys.executable)
    name = f"python{request.param}"
    found = sorted(PYENV.glob(f"{request.param}.*/bin/{name}"))
    executable = str(found[-1]) if found else shutil.which(name)
    if executable is None:
        pytest.skip(f"{name} is not installed here")
    return Played(tmp_path, executable)


@pytest.fixture
def here(tmp_path: Path) -> Played:
    """Programs under the probe, in this Python."""
    return Played(tmp_path, sys.executable)
