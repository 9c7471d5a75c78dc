"""Real clients, in the environment of a child: each takes the proxy, its token and its roots."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rerail.launch.environment import child_environment
from rerail.launch.trust import ca_bundle
from rerail.testing.ca import CertificateAuthority
from rerail.testing.forward_proxy import forward_proxy
from rerail.testing.origin import Origin
from rerail.testing.replies import serve, text

TOKEN = "tok-EN_1"
SECURE, PLAIN = "https://api.example.com/page", "http://plain.example.com/page"


@pytest.fixture
def proxy(start_origin: Callable[..., Origin], authority: CertificateAuthority) -> Origin:
    """A proxy that lets in only process 7 with its token, before a TLS and a plain origin."""
    answers = serve(text("[]"))
    secure = start_origin(answers, tls=authority.leaf("api.example.com"))
    plain = start_origin(answers)
    table = {("api.example.com", 443): secure.address, ("plain.example.com", 80): plain.address}
    return start_origin(forward_proxy(credentials=("p7", TOKEN), resolve=table))


@pytest.fixture
def run(
    proxy: Origin, authority: CertificateAuthority, tmp_path: Path
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """`run(*words)` runs a client in a child's environment."""
    environment = child_environment(
        {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(tmp_path), "NO_PROXY": "*"},
        port=proxy.port,
        token=TOKEN,
        process_id=7,
        bundle=ca_bundle(tmp_path, authority.pem, {}),
    )

    def go(*words: str) -> subprocess.CompletedProcess[str]:
        if shutil.which(words[0]) is None:
            pytest.skip(f"{words[0]} is not installed")
        return subprocess.run(
            words, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
        )

    return go


def passed(proxy: Origin) -> list[str]:
    """The targets that came with the right token."""
    return [
        request.target
        for request in proxy.requests
        if request.header("proxy-authorization") == "Basic cDc6dG9rLUVOXzE="
    ]


@pytest.mark.parametrize("url", [SECURE, PLAIN])
@pytest.mark.parametrize("client", [("curl", "-sSf"), ("wget", "-qO-")], ids=["curl", "wget"])
def test_command_line_clients(
    run: Callable[..., Any], proxy: Origin, client: tuple[str, ...], url: str
) -> None:
    done = run(*client, url)
    assert (done.returncode, done.stdout) == (0, "[]"), done.stderr
    assert passed(proxy) == ["api.example.com:443" if url == SECURE else url]


@pytest.mark.parametrize("url", [SECURE, PLAIN])
@pytest.mark.parametrize(
    ("module", "program"),
    [
        (
            "urllib",
            "import sys, urllib.request as u; print(u.urlopen(sys.argv[1]).read().decode())",
        ),
        ("requests", "import sys, requests; print(requests.get(sys.argv[1]).text)"),
        ("httpx", "import sys, httpx; print(httpx.get(sys.argv[1]).text)"),
    ],
)
def test_python_clients(
    run: Callable[..., Any], proxy: Origin, module: str, program: str, url: str
) -> None:
    pytest.importorskip(module)
    done = run(sys.executable, "-c", program, url)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr
    assert passed(proxy) == ["api.example.com:443" if url == SECURE else url]


@pytest.mark.parametrize("url", ["wss://api.example.com/", "ws://plain.example.com/"])
def test_websockets_go_by_connect_even_in_plain(
    run: Callable[..., Any], proxy: Origin, url: str
) -> None:
    pytest.importorskip("websockets")
    program = "import sys, websockets.sync.client as w; w.connect(sys.argv[1])"
    assert (
        "did not receive a valid HTTP response"
        not in run(sys.executable, "-c", program, url).stderr
    )
    secure = url.startswith("wss")
    assert passed(proxy) == ["api.example.com:443" if secure else "plain.example.com:80"]


def test_git(run: Callable[..., Any], proxy: Origin) -> None:
    done = run("git", "ls-remote", "https://api.example.com/repository.git")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert set(passed(proxy)) == {"api.example.com:443"}


def test_pip(run: Callable[..., Any], proxy: Origin) -> None:
    index = ("--retries", "0", "--index-url", SECURE)
    done = run(sys.executable, "-m", "pip", "download", *index, "no-such-package")
    assert "SSLError" not in done.stderr
    assert set(passed(proxy)) == {"api.example.com:443"}


def test_npm(run: Callable[..., Any], proxy: Origin) -> None:
    options = ("--registry", SECURE, "--fetch-retries", "0", "--no-update-notifier")
    done = run("npm", "view", "no-such-package", *options)
    assert "self-signed" not in done.stderr
    assert "CERT" not in done.stderr
    assert set(passed(proxy)) == {"api.example.com:443"}
