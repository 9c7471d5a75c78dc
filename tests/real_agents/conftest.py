"""Real coding agents, as their registries have them; run by `make test-agents`, never by the suite.

`RERAIL_AGENTS` names the folder that `tools/install-agents` filled.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rerail.testing.ca import CertificateAuthority
from rerail.testing.model import SimulatedModel
from tests.journeys.rail import Rail
from tests.real_agents.chores import BEFORE, NOTES, Astray, AstrayByWords, Chores

collect_ignore_glob = [] if os.environ.get("RERAIL_AGENTS") else ["test_*.py"]


@pytest.fixture(scope="session")
def agents() -> Path:
    """Where the agents are installed."""
    return Path(os.environ["RERAIL_AGENTS"]).resolve()


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A work folder under version control, with the notes in it."""
    folder = tmp_path / "desk"
    folder.mkdir()
    (folder / NOTES).write_text(BEFORE)
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "Notes"]):
        identity = ["-c", "user.name=Tester", "-c", "user.email=tester@example.org"]
        subprocess.run(["git", *identity, *words], cwd=folder, check=True)
    return folder


@pytest.fixture
def rail(tmp_path: Path, desk: Path, agents: Path, authority_file: Path) -> Iterator[Rail]:
    """The command line in that folder, with a home of its own."""
    home = tmp_path / "home"
    home.mkdir()
    git = tmp_path / "gitconfig"
    git.write_text("[user]\n\tname = Tester\n\temail = tester@example.org\n")
    environment = {
        "PATH": os.pathsep.join([str(agents / "npm/node_modules/.bin"), os.environ["PATH"]]),
        "LANG": "C.UTF-8",
        "HOME": str(home),
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "GIT_CONFIG_GLOBAL": str(git),
        "SSL_CERT_FILE": str(authority_file),
        "OPENAI_API_KEY": "sk-proj-a1B2c3D4e5F6g7H8i9J0k1L2",
        "CODEX_API_KEY": "sk-proj-a1B2c3D4e5F6g7H8i9J0k1L2",
        "ANTHROPIC_API_KEY": "sk-ant-api03-z9Y8x7W6v5U4t3S2r1Q0",
    }
    with Rail(desk, environment) as started:
        yield started


@pytest.fixture
def model(
    rail: Rail,
    desk: Path,
    start_model: Callable[..., SimulatedModel],
    authority: CertificateAuthority,
) -> SimulatedModel:
    """A simulated model under the names that agents call by default; it does its chores."""
    return _under_their_names(rail, start_model, authority, Chores(desk))


@pytest.fixture
def model_astray(
    rail: Rail,
    desk: Path,
    start_model: Callable[..., SimulatedModel],
    authority: CertificateAuthority,
) -> SimulatedModel:
    """The same; it goes astray until it is told better."""
    return _under_their_names(rail, start_model, authority, Astray(desk))


@pytest.fixture
def model_astray_by_words(
    rail: Rail,
    desk: Path,
    start_model: Callable[..., SimulatedModel],
    authority: CertificateAuthority,
) -> SimulatedModel:
    """The same for an agent without tools."""
    return _under_their_names(rail, start_model, authority, AstrayByWords(desk))


def _under_their_names(
    rail: Rail,
    start_model: Callable[..., SimulatedModel],
    authority: CertificateAuthority,
    policy: Chores,
) -> SimulatedModel:
    names = ("api.openai.com", "api.anthropic.com")
    started = start_model(policy, tls=authority.leaf(*names), chunk_pause=0.002)
    for name in names:
        rail.resolve(name, started.origin)
    return started


@pytest.fixture
def need() -> Callable[[Path], Path]:
    """`need(path)` gives the path, or skips the test and says why."""

    def find(path: Path) -> Path:
        if not path.exists() and shutil.which(str(path)) is None:
            pytest.skip(f"{path.name} is not installed: run tools/install-agents")
        return path

    return find
