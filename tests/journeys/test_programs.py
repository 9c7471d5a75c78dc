"""Programs that are no Python, recorded and then replayed offline: the same to the byte, twice."""

import shlex
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from rerail.testing.ca import CertificateAuthority
from rerail.testing.git_server import git_backend, make_repository
from rerail.testing.origin import Origin
from rerail.testing.replies import content, routes, serve
from tests.journeys.rail import AGENTS, Rail

pytestmark = pytest.mark.journey

HOST = "api.example.com"
PLAIN = "plain.example.com"
Start = Callable[..., Origin]
Need = Callable[..., str]


@pytest.fixture
def both(rail: Rail, start_playground: Start) -> tuple[str, str]:
    """The playground twice, as the URLs of a secure and of a plain origin."""
    rail.resolve(HOST, start_playground(HOST))
    rail.resolve(PLAIN, start_playground())
    return f"https://{HOST}", f"http://{PLAIN}"


def test_node_fetch_and_its_http_modules(rail: Rail, both: tuple[str, str], need: Need) -> None:
    script = str(AGENTS / "node_agent.mjs")
    recorded = rail.there_and_back(need("node"), script, *both)
    assert "information 103" in recorded.text
    assert len(recorded.exchanges()) == 33


CURL = {
    "get": "/page",
    "headers shown": "-i /page",
    "head": "-I /page",
    "stream": "-N /stream",
    "large": "/large",
    "post": "-d a=1 -d b=2 /upload",
    "upload with Expect": "-T {upload} -H 'Expect: 100-continue' /upload",
    "upload of unknown length": "-X POST -T - /upload",
    "multipart": "-F f=@{upload} /upload",
    "gzip": "--compressed /gzip",
    "deflate": "--compressed /deflate",
    "br": "--compressed /br",
    "zstd": "--compressed /zstd",
    "as on the wire": "-H 'Accept-Encoding: br' /br",
    "HTTP/1.0": "--http1.0 /page",
    "an old server": "/old",
    "redirect": "-L /moved",
    "204": "-i /empty",
    "304": "-i /unchanged",
    "103 and 200": "-i /hinted",
    "one connection, two requests": "/page {base}/page?again",
}


def test_curl(rail: Rail, both: tuple[str, str], need_curl: Need, tmp_path: Path) -> None:
    curl = need_curl("brotli", "zstd")
    (tmp_path / "upload.bin").write_bytes(b"u" * 1_500_000)
    lines = []
    for base in both:
        for name, options in CURL.items():
            words = shlex.split(options.format(upload="upload.bin", base=base))
            words = [base + word if word.startswith("/") else word for word in words]
            curled = shlex.join([curl, "-sS", *words])
            lines += [f"echo {shlex.quote(name)}", f"echo piped | {curled}"]
    script = tmp_path / "curls.sh"
    script.write_text("set -e\n" + "\n".join(lines))
    recorded = rail.there_and_back("sh", str(script))
    assert len(recorded.exchanges()) == 2 * (len(CURL) + 2)


def test_git_clone_over_https(
    rail: Rail, start_origin: Start, authority: CertificateAuthority, need: Need, tmp_path: Path
) -> None:
    need("git")
    (tmp_path / "served").mkdir()
    make_repository(tmp_path / "served" / "tool.git", {"a.txt": "one\n" * 999, "d/b.txt": "two\n"})
    name = "git.example.com"
    served = serve(git_backend(tmp_path / "served"))
    rail.resolve(name, start_origin(served, tls=authority.leaf(name)))
    clone = f"rm -rf clone; git clone -q https://{name}/tool.git clone && "
    look = "git -C clone log --format='%H %s' && cat clone/a.txt clone/d/b.txt"
    recorded = rail.there_and_back("sh", "-c", clone + look)
    assert recorded.text.count("one") == 999


def test_wget(rail: Rail, both: tuple[str, str], need: Need) -> None:
    wget = need("wget")
    urls = [base + path for base in both for path in ("/page", "/large", "/stream", "/moved")]
    recorded = rail.there_and_back(wget, "-q", "-O", "-", *urls)
    assert len(recorded.exchanges()) == 10


def test_pip_download(
    rail: Rail, start_origin: Start, authority: CertificateAuthority, tmp_path: Path
) -> None:
    name = "pypi.example.com"
    wheel = make_wheel(tmp_path / "small-1.0-py3-none-any.whl")
    index = f'<a href="/files/{wheel.name}">{wheel.name}</a>'.encode()
    pages = {
        "/simple/small/": content(index, kind="text/html"),
        f"/files/{wheel.name}": content(wheel.read_bytes()),
    }
    rail.resolve(name, start_origin(routes(pages), tls=authority.leaf(name)))
    pip = [sys.executable, "-m", "pip"]
    options = f"--no-deps --no-cache-dir -q --index-url https://{name}/simple -d wheels small"
    download = shlex.join([*pip, "download", "--disable-pip-version-check", *shlex.split(options)])
    recorded = rail.there_and_back("sh", "-c", f"rm -rf wheels; {download} && sha256sum wheels/*")
    assert wheel.name in recorded.text


def make_wheel(path: Path) -> Path:
    """A distribution with one module."""
    info = "small-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("small.py", "VALUE = 1\n")
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: small\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\n")
        archive.writestr(f"{info}/RECORD", "")
    return path
