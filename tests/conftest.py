"""What every test may ask for: a test authority, scripted origins, a simulated model."""

import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import settings

from rerail.testing.ca import CertificateAuthority
from rerail.testing.model import SimulatedModel
from rerail.testing.origin import Origin

# A busy machine fails no property; CI tries the same examples each time, everybody else new ones.
settings.register_profile("suite", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("suite")

# A shell that starts the tests in its background has Ctrl-C ignored, and commands inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Before anybody imports it: whoever asks for the list of faults does.
pytest.register_assert_rewrite("tests.journeys.rail")


@pytest.fixture(scope="session")
def authority() -> CertificateAuthority:
    """The authority that signs the origins' certificates; one a session."""
    return CertificateAuthority()


@pytest.fixture(scope="session")
def authority_file(
    authority: CertificateAuthority, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The authority's certificate as a PEM file, for SSL_CERT_FILE."""
    return authority.write(tmp_path_factory.mktemp("authority") / "authority.pem")


@pytest.fixture
def start_origin() -> Iterator[Callable[..., Origin]]:
    """`start_origin(script, tls=…)` gives a started origin that is closed after the test."""
    with ExitStack() as stack:
        yield lambda *scripts, **options: stack.enter_context(Origin(*scripts, **options))


@pytest.fixture
def start_model() -> Iterator[Callable[..., SimulatedModel]]:
    """`start_model(policy, tls=…)` gives a started simulated model, closed after the test."""
    with ExitStack() as stack:
        yield lambda *policy, **options: stack.enter_context(SimulatedModel(*policy, **options))


@pytest.fixture
def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
