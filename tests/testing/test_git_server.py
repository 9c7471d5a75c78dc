import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from rerail.testing.ca import CertificateAuthority
from rerail.testing.git_server import git_backend, make_repository
from rerail.testing.origin import Origin
from rerail.testing.replies import serve


def clone(url: str, target: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["git", "clone", "--quiet", url, str(target)],
        env={**os.environ, "GIT_TERMINAL_PROMPT": "0", "NO_PROXY": "*", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("protocol", ["0", "2"])
def test_a_repository_is_cloned_over_tls(
    tmp_path: Path,
    authority: CertificateAuthority,
    authority_file: Path,
    start_origin: Callable[..., Origin],
    protocol: str,
) -> None:
    make_repository(tmp_path / "root" / "project.git", {"a/readme": "hello\n"})
    origin = start_origin(serve(git_backend(tmp_path / "root")), tls=authority.leaf("127.0.0.1"))
    done = clone(
        f"{origin.url}/project.git",
        tmp_path / "copy",
        GIT_SSL_CAINFO=str(authority_file),
        GIT_CONFIG_COUNT="1",
        GIT_CONFIG_KEY_0="protocol.version",
        GIT_CONFIG_VALUE_0=protocol,
    )
    assert done.stderr == ""
    assert (tmp_path / "copy/a/readme").read_text() == "hello\n"


def test_a_repository_that_is_not_there_is_a_404(
    tmp_path: Path, start_origin: Callable[..., Origin]
) -> None:
    origin = start_origin(serve(git_backend(tmp_path)))
    done = clone(f"{origin.url}/none.git", tmp_path / "copy")
    assert done.returncode == 128
    assert "not found" in done.stderr
