"""What every journey may ask for: a private home, an origin that draws all it says at random."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rerail.testing.ca import CertificateAuthority
from rerail.testing.model import SimulatedModel
from rerail.testing.origin import Origin
from tests.journeys.playground import playground
from tests.journeys.rail import Rail


@pytest.fixture(scope="session")
def private_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home folder for the whole session, so that the user's own CA is neither used nor made."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def rail(tmp_path: Path, private_home: Path, authority_file: Path) -> Iterator[Rail]:
    """The command line, in a folder of the test's own."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    environment = {
        **kept,
        "HOME": str(private_home),
        "XDG_DATA_HOME": str(private_home / "data"),
        "SSL_CERT_FILE": str(authority_file),
        "OPENAI_API_KEY": "sk-proj-a1B2c3D4e5F6g7H8i9J0k1L2",
        "ANTHROPIC_API_KEY": "sk-ant-api03-z9Y8x7W6v5U4t3S2r1Q0",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    with Rail(tmp_path, environment) as started:
        yield started


@pytest.fixture
def start_playground(
    start_origin: Callable[..., Origin], authority: CertificateAuthority
) -> Callable[..., Origin]:
    """`start_playground(*names)` gives a random origin, over TLS where it is given names."""

    def start(*names: str) -> Origin:
        return start_origin(playground(), tls=authority.leaf(*names) if names else None)

    return start


@pytest.fixture
def openai_model(
    rail: Rail, start_model: Callable[..., SimulatedModel], authority: CertificateAuthority
) -> SimulatedModel:
    """An unseeded model under the name that the OpenAI SDK calls by default."""
    model = start_model(tls=authority.leaf("api.openai.com"))
    rail.resolve("api.openai.com", model.origin)
    return model


@pytest.fixture
def need() -> Callable[[str], str]:
    """`need("node")` gives the program's path, or skips the test and says why."""

    def find(program: str) -> str:
        found = shutil.which(program)
        if found is None:
            pytest.skip(f"{program} is not installed here")
        return found

    return find


@pytest.fixture
def need_curl(need: Callable[[str], str]) -> Callable[..., str]:
    """`need_curl("zstd")` gives curl's path, or skips where it lacks that feature."""

    def find(*features: str) -> str:
        curl = need("curl")
        said = subprocess.run([curl, "--version"], capture_output=True, text=True, check=True)
        missing = [name for name in features if name not in said.stdout.split()]
        if missing:
            pytest.skip(f"this curl has no {', '.join(missing)}")
        return curl

    return find
