"""Starts children in every way that a Python agent may, and prints what came of each."""

import asyncio
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable

PIPE, STDOUT = subprocess.PIPE, subprocess.STDOUT


def large() -> object:
    done = subprocess.run("yes rerail | head -c 3000000", shell=True, stdout=PIPE)
    return len(done.stdout), done.stdout[:14], done.returncode


def large_and_slow_to_be_read() -> object:
    with subprocess.Popen(["head", "-c", "400000", "/dev/zero"], stdout=PIPE) as child:
        read = sum(len(child.stdout.read(50_000)) for _ in range(8))
    return read, child.returncode


def nobody_reads_on() -> object:
    with subprocess.Popen(["yes"], stdout=PIPE) as child:
        first = child.stdout.read(4)
        child.stdout.close()
        return first, child.wait()


def told_more_than_it_reads() -> object:
    done = subprocess.run(["true"], input=b"x" * 500_000, stdout=PIPE)
    return done.stdout, done.returncode


def told_until_it_hears_no_more() -> object:
    with subprocess.Popen(["head", "-c", "3"], stdin=PIPE, stdout=PIPE, bufsize=0) as child:
        child.stdin.write(b"abc")
        child.wait()
        try:
            while True:
                child.stdin.write(b"y" * 65536)
        except BrokenPipeError:
            return child.stdout.read(), child.returncode


def killed_for_its_time() -> object:
    try:
        subprocess.run("echo begun; exec sleep 30", shell=True, stdout=PIPE, timeout=2)
    except subprocess.TimeoutExpired as error:
        return error.stdout, "timed out"


def a_conversation() -> object:
    with subprocess.Popen(["cat"], stdin=PIPE, stdout=PIPE, bufsize=0) as child:
        heard = []
        for number in range(20):
            child.stdin.write(b"%d\n" % number)
            heard.append(child.stdout.readline())
        child.stdin.close()
    return heard, child.returncode


def a_grandchild_holds_the_pipe() -> object:
    done = subprocess.run("(sleep 0.3; echo late) & echo early", shell=True, stdout=PIPE)
    return done.stdout, done.returncode


def both_on_one_pipe() -> object:
    script = "for i in 1 2 3; do echo out $i; echo err $i >&2; done"
    return subprocess.run(script, shell=True, stdout=PIPE, stderr=STDOUT).stdout


def one_into_another() -> object:
    first = subprocess.Popen(["printf", "b\\na\\nc\\n"], stdout=PIPE)
    second = subprocess.Popen(["sort"], stdin=first.stdout, stdout=PIPE)
    first.stdout.close()
    return second.communicate(), first.wait(), second.returncode


def into_a_pipe_of_its_own() -> object:
    read, write = os.pipe()
    child = subprocess.Popen(["echo", "through"], stdout=write)
    os.close(write)
    with os.fdopen(read, "rb") as source:
        return source.read(), child.wait()


def into_a_file() -> object:
    with tempfile.TemporaryFile() as file:
        file.write(b"before ")
        file.flush()
        status = subprocess.run("echo out; echo err >&2", shell=True, stdout=file, stderr=file)
        file.seek(0)
        return file.read(), status.returncode


def from_a_file() -> object:
    with tempfile.TemporaryFile() as file:
        file.write(b"c\na\nb\n")
        file.seek(0)
        return subprocess.run(["sort"], stdin=file, stdout=PIPE).stdout


def with_no_environment() -> object:
    return subprocess.run(["/bin/echo", "bare"], env={}, stdout=PIPE).stdout


def with_its_own_environment() -> object:
    environment = {"PATH": os.environ["PATH"], "NAME": "value"}
    return subprocess.run("echo $NAME", shell=True, env=environment, stdout=PIPE).stdout


def in_another_folder() -> object:
    return subprocess.run(["pwd"], cwd="/", stdout=PIPE).stdout


def ended_kindly() -> object:
    script = "trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.05; done"
    with subprocess.Popen(["sh", "-c", script], stdout=PIPE) as child:
        ready = child.stdout.readline()
        child.terminate()
        return ready, child.stdout.read(), child.wait()


def ended_by_a_signal() -> object:
    with subprocess.Popen(["sleep", "30"], stdout=PIPE) as child:
        child.send_signal(signal.SIGINT)
        return child.stdout.read(), child.wait()


def many() -> object:
    return {subprocess.run(["true"]).returncode for _ in range(40)}


def not_found() -> object:
    try:
        subprocess.run(["no-such-program-anywhere"])
    except FileNotFoundError as error:
        return str(error)


def no_such_folder() -> object:
    try:
        subprocess.run(["true"], cwd="/no/such/folder")
    except FileNotFoundError as error:
        return str(error)


def by_a_shell_of_the_system() -> object:
    return os.system("exit 3"), os.popen("echo by popen").read()


def in_a_session_of_its_own() -> object:
    return subprocess.run(["echo", "apart"], start_new_session=True, stdout=PIPE).stdout


def without_closing() -> object:
    return subprocess.run(["echo", "open"], close_fds=False, stdout=PIPE).stdout


def polled() -> object:
    with subprocess.Popen(["sh", "-c", "exit 5"]) as child:
        while child.poll() is None:
            pass
        return child.returncode


def a_python_inside() -> object:
    inner = "import subprocess; print(subprocess.check_output(['echo', 'inner']))"
    return subprocess.run([sys.executable, "-c", inner], stdout=PIPE).stdout


def double(number: int) -> int:
    return number * 2


def workers() -> object:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.map(double, [1, 2, 3])


def asynchronous() -> object:
    return asyncio.run(_asynchronous())


async def _asynchronous() -> object:
    async def one(number: int) -> tuple[object, int | None]:
        child = await asyncio.create_subprocess_exec(
            "cat", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        out, _ = await child.communicate(b"%d" % number)
        return out, child.returncode

    together = await asyncio.gather(*(one(number) for number in range(10)))
    shell = await asyncio.create_subprocess_shell(
        "echo out; echo err >&2; exit 2",
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    return together, await shell.communicate(), shell.returncode


WAYS: tuple[Callable[[], object], ...] = (
    large, large_and_slow_to_be_read, nobody_reads_on, told_more_than_it_reads,
    told_until_it_hears_no_more, killed_for_its_time, a_conversation, a_grandchild_holds_the_pipe,
    both_on_one_pipe, one_into_another, into_a_pipe_of_its_own, into_a_file, from_a_file,
    with_no_environment, with_its_own_environment, in_another_folder, ended_kindly,
    ended_by_a_signal, many, not_found, no_such_folder, by_a_shell_of_the_system,
    in_a_session_of_its_own, without_closing, polled, a_python_inside, workers, asynchronous,
)  # fmt: skip

if __name__ == "__main__":
    chosen = set(sys.argv[1:])
    for way in WAYS:
        if not chosen or way.__name__ in chosen:
            print(way.__name__, way(), flush=True)
