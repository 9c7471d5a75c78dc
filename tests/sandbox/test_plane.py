"""What a program in a plane tries against the rest of the machine, for real: all of it in vain."""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rerail.launch.child import Ending, start
from rerail.sandbox import aside, kernel, landlock, machine
from rerail.sandbox.plane import Plane
from tests.sandbox.conftest import NOBODY, as_nobody

pytestmark = pytest.mark.skipif(
    not kernel.is_linux() or landlock.version() < landlock.SCOPES_SINCE or machine.here() is None,
    reason="no Landlock with signals, or no filter",
)

BEGINS = """
import ctypes, errno, fcntl, os, resource, socket, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
victim = int(sys.argv[1])
def call(number, *words):
    if libc.syscall(number, *[ctypes.c_long(word) for word in words]) < 0:
        raise OSError(ctypes.get_errno(), "")
def tried(name, action):
    try:
        action()
        print(name, "done")
    except OSError as error:
        print(name, errno.errorcode[error.errno])
"""

Tries = Callable[..., dict[str, str]]


@pytest.fixture(params=["ourselves", "nobody"])
def tries(request: pytest.FixtureRequest, python: str) -> Iterator[Tries]:
    """`tries(program)` runs it in a plane beside a victim of the same user: what each try gave."""
    nobody = request.param == "nobody"
    if nobody and os.geteuid() != 0:
        pytest.skip("only root can become another user")
    top = Path(tempfile.mkdtemp(dir="/var/tmp"))
    own = top / "own"
    own.mkdir()
    (top / "outside").write_text("outside")
    (own / "inside").write_text("inside")
    if nobody:
        for path in (top, own, top / "outside", own / "inside"):
            os.chown(path, NOBODY, NOBODY)
    with subprocess.Popen(
        ["cat"], stdin=subprocess.PIPE, **({"user": NOBODY, "group": NOBODY} if nobody else {})
    ) as victim:

        def run(program: str, *words: str, **options: bool) -> dict[str, str]:
            def task() -> Ending:
                plane = Plane(writable=[own], hidden=[], **options)
                told = [python, "-c", BEGINS + program, str(victim.pid), *words]
                command = ["sh", "-c", 'exec >"$0" 2>&1; exec "$@"', str(own / "said"), *told]
                environment = {"PATH": os.defpath, "HOME": str(own)}
                with start(
                    command, cwd=own, environment=environment, sandbox=plane, ports=[41234]
                ) as child:
                    return child.wait()

            ending = as_nobody(task) if nobody else task()
            said = (own / "said").read_text()
            assert ending == Ending(0), said
            return dict(line.split() for line in said.splitlines())

        yield run
        assert victim.stdin is not None
        victim.stdin.close()
        assert victim.wait() == 0
    shutil.rmtree(top)


def test_neither_settings_nor_processes_nor_shared_memory_are_written(tries: Tries) -> None:
    found = tries("""
for place in ("/proc/sys/kernel/core_pattern", "/proc/sys/dev/tty/legacy_tiocsti",
              f"/proc/{victim}/oom_score_adj", f"/proc/{victim}/comm", "/dev/shm/rerail-test"):
    tried(place, lambda: os.close(os.open(place, os.O_WRONLY | (os.O_CREAT * ("shm" in place)))))
tried("pipe", lambda: os.close(os.open(f"/proc/self/fd/{os.pipe()[1]}", os.O_WRONLY)))
tried("null", lambda: os.close(os.open("/dev/null", os.O_WRONLY)))
""")
    assert (found.pop("pipe"), found.pop("null")) == ("done", "done")
    assert len(found) == 5
    # What this kernel does not have is not there to be written.
    assert set(found.values()) <= {"EACCES", "ENOENT"}
    assert found["/proc/sys/kernel/core_pattern"] == found["/dev/shm/rerail-test"] == "EACCES"


OTHERS = """
zero = ctypes.addressof(kept := ctypes.create_string_buffer(64))
for who in (victim, os.getppid()):
    for limit in ("CPU", "NOFILE", "FSIZE"):
        number = getattr(resource, f"RLIMIT_{limit}")
        tried(f"{limit}-{who}", lambda: resource.prlimit(who, number, (20, 20)))
    tried(f"affinity-{who}", lambda: os.sched_setaffinity(who, {0}))
    tried(f"policy-{who}", lambda: os.sched_setscheduler(who, os.SCHED_IDLE, os.sched_param(0)))
    tried(f"param-{who}", lambda: os.sched_setparam(who, os.sched_param(0)))
    tried(f"nice-{who}", lambda: os.setpriority(os.PRIO_PROCESS, who, 10))
    tried(f"kill-{who}", lambda: os.kill(who, 0))
    if who == victim:
        tried("attr", lambda: call(CALLS["sched_setattr"], who, zero, 0))
        tried("ioprio", lambda: call(CALLS["ioprio_set"], 1, who, 3 << 13))
        tried("ptrace", lambda: call(CALLS["ptrace"], 16, who, 0, 0))
        tried("kcmp", lambda: call(CALLS["kcmp"], who, os.getpid(), 0, 0, 0))
        tried("vm-read", lambda: call(CALLS["process_vm_readv"], who, 0, 0, 0, 0, 0))
        tried("vm-write", lambda: call(CALLS["process_vm_writev"], who, 0, 0, 0, 0, 0))
        tried("getfd", lambda: call(CALLS["pidfd_getfd"], os.pidfd_open(who), 0, 0))
tried("users-nice", lambda: os.setpriority(os.PRIO_USER, 0, 10))
tried("groups-nice", lambda: os.setpriority(os.PRIO_PGRP, 0, 10))
tried("users-ioprio", lambda: call(CALLS["ioprio_set"], 3, 0, 3 << 13))
"""

ITSELF = """
import threading
tried("limit", lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
tried("limit0", lambda: resource.prlimit(0, resource.RLIMIT_NOFILE))
tried("nice", lambda: os.nice(1))
tried("affinity", lambda: os.sched_setaffinity(0, os.sched_getaffinity(0)))
tried("child", lambda: os.kill(os.posix_spawn("/bin/sh", ["sh", "-c", "ulimit -c 0"], {}), 9))
tried("thread", lambda: threading.Thread(target=print, args=("threads", "run")).start())
tried("shell", lambda: os.system("ulimit -n 64 && nice true") and os.abort())
"""


def numbers() -> str:
    """The calls' numbers, for a program that makes them by number."""
    here = machine.here()
    assert here is not None
    return f"CALLS = {dict(here.calls)}\n"


def test_other_processes_are_left_alone(tries: Tries) -> None:
    found = tries(numbers() + OTHERS)
    assert len(found) == 8 * 2 + 10
    assert set(found.values()) == {"EPERM"}, found


def test_what_a_program_does_to_itself_goes_on(tries: Tries) -> None:
    assert set(tries(ITSELF).values()) <= {"done", "run"}


def test_a_terminal_cannot_be_typed_into(tries: Tries) -> None:
    found = tries(
        numbers()
        + """
import termios
held, terminal = os.openpty()
tried("terminal", lambda: fcntl.ioctl(terminal, termios.TIOCGWINSZ, bytes(8)))
tried("sti", lambda: fcntl.ioctl(terminal, termios.TIOCSTI, b"y"))
tried("sti-high", lambda: call(CALLS["ioctl"], terminal, 0x100005412, 0))
tried("linux", lambda: fcntl.ioctl(terminal, 0x541C, b"x"))
tried("console", lambda: fcntl.ioctl(terminal, 0x541D))
"""
    )
    assert found.pop("terminal") == "done"
    assert set(found.values()) == {"EPERM"}


def test_what_all_processes_share_and_the_kernels_own_is_refused(tries: Tries) -> None:
    found = tries(
        f"{numbers()}REFUSED = {aside.REFUSED}"
        + """
for name in REFUSED:
    tried(name, lambda: call(CALLS[name], 0, 0, 0, 0, 0, 0))
for flag in (7, 17, 25, 26, 27, 28, 29, 30):
    tried(f"unshare-{flag}", lambda: call(CALLS["unshare"], 1 << flag))
    if flag != 7:
        tried(f"clone-{flag}", lambda: call(CALLS["clone"], 1 << flag | 17, 0, 0, 0, 0))
tried("clone3", lambda: call(CALLS["clone3"], 0, 0))
tried("files", lambda: call(CALLS["unshare"], 0x400))
"""
    )
    assert (found.pop("files"), found.pop("clone3")) == ("done", "ENOSYS")
    assert found.pop("io_uring_setup") == "EACCES"  # by the filter of sockets, which came later
    assert len(found) == len(aside.REFUSED) + 14
    assert set(found.values()) == {"EPERM"}, found


MESSAGES = """
service, kind = sys.argv[2], getattr(socket, sys.argv[3])
def pair(): return socket.socketpair(socket.AF_UNIX, kind)
def single(): return socket.socket(socket.AF_UNIX, kind)
tried("connect", lambda: single().connect(service))
tried("send", lambda: single().sendto(b"x", service))
tried("message", lambda: single().sendmsg([b"x"], [], 0, service))
tried("pair", lambda: (both := pair())[0].send(b"x") and both[1].recv(1))
tried("pair-send", lambda: pair()[0].sendto(b"x", service))
tried("pair-message", lambda: pair()[0].sendmsg([b"x"], [], 0, service))
"""


@pytest.mark.parametrize("kind", [socket.SOCK_DGRAM, socket.SOCK_SEQPACKET, socket.SOCK_STREAM])
def test_no_message_reaches_a_local_socket_outside(tries: Tries, kind: socket.SocketKind) -> None:
    """One of a pair of datagram sockets can name another receiver, too."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    connected = kind != socket.SOCK_DGRAM
    with socket.socket(socket.AF_UNIX, kind) as service:
        service.bind(str(folder / "service"))
        (folder / "service").chmod(0o777)
        if connected:
            service.listen()
        service.setblocking(False)
        found = tries(MESSAGES, str(folder / "service"), kind.name)
        with pytest.raises(BlockingIOError):
            service.accept() if connected else service.recv(1)
    shutil.rmtree(folder)
    assert found["pair"] == ("done" if connected else "EACCES")
    assert found["connect"] == ("ECONNREFUSED" if connected else "EACCES")
    assert "done" not in (found["send"], found["message"])


WAYS = """
service = sys.argv[2]
folder, name = os.path.split(service)
def connect(path): socket.socket(socket.AF_UNIX).connect(path)
os.symlink(service, "link")
os.symlink(folder + "/in", "folder")
tried("link", lambda: connect("link"))
tried("link-here", lambda: connect(os.getcwd() + "/link"))
tried("up", lambda: connect("folder/../" + name))
held = os.open(folder, os.O_PATH)
tried("held", lambda: connect(f"/proc/self/fd/{held}/{name}"))
os.symlink(f"/proc/thread-self/fd/{held}", "held")
tried("held-by-link", lambda: connect("held/" + name))
own = socket.socket(socket.AF_UNIX); own.bind("own"); own.listen()
os.symlink("own", "link-to-own")
tried("own", lambda: connect("link-to-own"))
tried("nothing", lambda: connect("/nothing/there"))
os.chdir(folder)
tried("entered", lambda: connect("/proc/self/cwd/" + name))
tried("beside", lambda: connect(name))
"""


def test_no_way_round_leads_to_a_local_socket_outside(tries: Tries) -> None:
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    (folder / "in").mkdir()
    with socket.socket(socket.AF_UNIX) as service:
        service.bind(str(folder / "service"))
        (folder / "service").chmod(0o777)
        service.listen()
        service.setblocking(False)
        found = tries(WAYS, str(folder / "service"))
        with pytest.raises(BlockingIOError):
            service.accept()
    shutil.rmtree(folder)
    assert found.pop("own") == "done"
    assert found.pop("nothing") == "ENOENT"
    assert set(found.values()) == {"ECONNREFUSED"}, found


def test_nobody_can_be_served_but_by_a_local_socket(tries: Tries) -> None:
    found = tries("""
tried("bind", lambda: socket.socket().bind(("127.0.0.1", 0)))
tried("bind-all", lambda: socket.socket(socket.AF_INET6).bind(("::", 18778)))
tried("unbound", lambda: socket.socket().listen())
def own():
    server = socket.socket(socket.AF_UNIX); server.bind("served"); server.listen(5)
    socket.socket(socket.AF_UNIX).connect("served"); server.accept()
tried("own", own)
""")
    assert found.pop("own") == "done"
    assert set(found.values()) == {"EACCES"}


ATTRIBUTES = """
import threading, time
outside = "../outside"
os.symlink(outside, "way"); os.symlink("inside", "near")
held = os.open(outside, os.O_RDONLY)
here = os.open(".", os.O_RDONLY)
above = os.open("..", os.O_PATH)
for name, place, options in (
    ("path", outside, {}), ("absolute", os.path.abspath(outside), {}), ("link", "way", {}),
    ("held", held, {}), ("below", "outside", {"dir_fd": above}),
    ("by-number", f"/proc/self/fd/{held}", {}), ("folder", "..", {}), ("passwd", "/etc/passwd", {}),
):
    tried(f"mode-{name}", lambda: os.chmod(place, 0o777, **options))
    tried(f"time-{name}", lambda: os.utime(place, (1, 1), **options))
    tried(f"owner-{name}", lambda: os.chown(place, 1, 1, **options))
    if not options:
        tried(f"attribute-{name}", lambda: os.setxattr(place, "user.a", b"b"))
        tried(f"remove-{name}", lambda: os.removexattr(place, "user.a"))
tried("flags", lambda: fcntl.ioctl(held, 0x40086602, struct.pack("q", 0x80)))
tried("setuid", lambda: os.chmod("inside", 0o4755))
tried("setgid", lambda: os.chmod("inside", 0o2755))
tried("null", lambda: call(CALLS["fchmodat"], -100, 0, 0o777))
"""

OWN_ATTRIBUTES = """
inside, folder = os.open("inside", os.O_RDONLY), os.open(".", os.O_RDONLY)
os.symlink("nowhere", "dangling"); os.mkdir("folder")
def held(action, wanted, *look):
    action()
    if wanted != (seen := look[0]()):
        raise OSError(errno.EILSEQ, f"{seen}")
mode = lambda: os.stat("inside").st_mode & 0o7777
times = lambda: (os.stat("inside").st_atime_ns, os.stat("inside").st_mtime_ns)
tried("path", lambda: held(lambda: os.chmod("inside", 0o600), 0o600, mode))
tried("absolute", lambda: held(lambda: os.chmod(os.path.abspath("inside"), 0o640), 0o640, mode))
tried("descriptor", lambda: held(lambda: os.chmod(inside, 0o604), 0o604, mode))
tried("folder", lambda: held(lambda: os.chmod("inside", 0o600, dir_fd=folder), 0o600, mode))
tried("number", lambda: held(lambda: os.chmod(f"/proc/self/fd/{inside}", 0o644), 0o644, mode))
tried("sticky", lambda: os.chmod("folder", 0o3755))
tried("times", lambda: held(lambda: os.utime("inside", ns=(12, 34)), (12, 34), times))
tried("times-held", lambda: held(lambda: os.utime(inside, ns=(-5, 7)), (-5, 7), times))
tried("link", lambda: held(lambda: os.utime("dangling", ns=(3, 4), follow_symlinks=False), 4,
                           lambda: os.lstat("dangling").st_mtime_ns))
omit, now = (1 << 30) - 2, (1 << 30) - 1
spec = ctypes.create_string_buffer(struct.pack("=4q", 0, now, 0, omit))
tried("omit", lambda: held(lambda: call(CALLS["utimensat"], inside, 0, ctypes.addressof(spec), 0),
                           7, lambda: os.stat("inside").st_mtime_ns))
tried("now", lambda: held(lambda: os.utime("inside"), True, lambda: times()[1] > 10**18))
tried("owner", lambda: os.chown("inside", os.getuid(), -1))
tried("touch", lambda: os.system("touch -d @5 inside && cp -p inside copy") and os.abort())
tried("copied", lambda: held(lambda: None, 5, lambda: int(os.stat("copy").st_mtime)))
tried("pipe", lambda: os.chmod(os.pipe()[0], 0o600))
def absent(): os.chmod("absent", 0o600)
tried("absent", absent)
tried("closed", lambda: os.chmod(99, 0o600))
tried("dangling", lambda: os.chmod("dangling", 0o600))
"""


def test_what_is_outside_keeps_its_mode_its_times_and_its_owner(tries: Tries) -> None:
    found = tries(numbers() + ATTRIBUTES)
    assert "done" not in found.values(), found
    wrong = {name: said for name, said in found.items() if said not in ("EPERM", "ENOTSUP")}
    assert set(wrong) == {"null"}
    assert sum(said == "ENOTSUP" for said in found.values()) == 7 * 2 + 1


def test_what_is_its_own_has_the_mode_and_the_times_it_is_given(tries: Tries) -> None:
    found = tries(numbers() + OWN_ATTRIBUTES)
    assert found.pop("absent") == found.pop("dangling") == "ENOENT"
    assert found.pop("closed") == "EBADF"
    assert set(found.values()) == {"done"}, found
    assert len(found) == 15


def test_with_a_network_all_the_rest_is_kept_from_it(tries: Tries, neighbour: int) -> None:
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    with socket.socket(socket.AF_UNIX) as service:
        service.bind(str(folder / "service"))
        (folder / "service").chmod(0o777)
        service.listen()
        found = tries(
            """
tried("tcp", lambda: socket.create_connection(("127.0.0.1", int(sys.argv[2])), 5))
tried("udp", lambda: socket.socket(type=socket.SOCK_DGRAM).connect(("127.0.0.1", 9)))
tried("serve", lambda: socket.create_server(("127.0.0.1", 0)))
tried("mode", lambda: os.chmod("inside", 0o600))
tried("service", lambda: socket.socket(socket.AF_UNIX).connect(sys.argv[3]))
tried("outside", lambda: os.chmod("../outside", 0o777))
tried("victim", lambda: resource.prlimit(victim, resource.RLIMIT_CPU, (1, 1)))
""",
            str(neighbour),
            str(folder / "service"),
            network=True,
        )
    shutil.rmtree(folder)
    assert {found.pop(way) for way in ("tcp", "udp", "serve", "mode")} == {"done"}
    assert found == {"service": "ECONNREFUSED", "outside": "EPERM", "victim": "EPERM"}
