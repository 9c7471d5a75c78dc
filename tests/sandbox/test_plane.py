"""What a program in a plane tries against the rest of the machine, for real: all of it in vain."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rerail.launch.child import Ending, start
from rerail.sandbox import kernel, landlock, machine
from rerail.sandbox.plane import Plane
from tests.sandbox.conftest import NOBODY, as_nobody

pytestmark = pytest.mark.skipif(
    not kernel.is_linux() or landlock.version() < landlock.TCP_SINCE or machine.here() is None,
    reason="a plane is not contained on this machine",
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
