"""A Python joins its run: it says who it is, under a name that its replay has again."""

import subprocess
import sys
from pathlib import Path

import pytest

from rerail.launch.run_folder import ProbeSettings, RunFolder
from rerail.probe import paths
from rerail.probe.log import Hello, read_hello
from tests.probe.played import Played

SETTINGS = ProbeSettings(mode="record", seed="5e" * 32)


def hellos(played: Played) -> dict[str, Hello]:
    """Who said hello in the last recording, by kind and order."""
    said = [read_hello(log.partition(b"\n")[0]) for log in played.logs.values()]
    return {f"{hello.kind} {at}": hello for at, hello in enumerate(said) if hello is not None}


def test_a_process_says_who_it_is(played: Played) -> None:
    told = played.record("print(os.getpid(), os.getppid(), '%d.%d.%d' % sys.version_info[:3])")
    (hello,) = hellos(played).values()
    assert told.split() == [str(hello.pid), str(hello.ppid), hello.version]
    assert hello.argv[-1] == str(played.folder / "program.py")
    assert (hello.kind, hello.cwd, hello.n) == ("python", str(played.folder), 0)


def test_its_name_is_the_same_in_every_run(here: Played) -> None:
    here.record("pass")
    (name,) = here.logs
    here.record("pass # changed")
    assert list(here.logs) == [name]


def test_a_fork_is_another_process_by_its_number(played: Played) -> None:
    program = """
        import time, uuid
        print(uuid.uuid4(), time.time(), flush=True)
        for _ in range(3):
            child = os.fork()
            if not child:
                print(uuid.uuid4(), time.time(), flush=True)
                os._exit(0)
            os.waitpid(child, 0)
        print(uuid.uuid4(), flush=True)
    """
    lines = played.same(program).splitlines()
    assert len(set(lines)) == len(lines) == 5
    played.record(program)
    kinds = [hello.kind for hello in hellos(played).values()]
    assert sorted(kinds) == ["fork"] * 3 + ["python"]


def test_children_of_one_script_keep_their_own_values_whatever_their_order(here: Played) -> None:
    """Siblings race for their numbers; which words they were started with settles it."""
    (here.folder / "tool.py").write_text("import sys, time; print(sys.argv[1], time.time_ns())")
    program = """
        import subprocess
        names = "abcd"
        words = [[sys.executable, "tool.py", name] for name in names]
        told = [subprocess.run(each, capture_output=True, text=True).stdout for each in words]
        print(*sorted(told))
    """
    here.same(program, program.replace('"abcd"', '"dbca"'))


def test_what_it_starts_knows_its_parent_and_calls_under_its_own_number(here: Played) -> None:
    here.environment |= dict.fromkeys(("RERAIL_PROXY", "https_proxy"), "http://p1:tok@127.0.0.1:9")
    here.environment |= {"other": "http://p1:tok@127.0.0.1:90"}
    program = """
        import subprocess
        code = "import os; print(os.environ['https_proxy'], os.environ['other'])"
        print(os.environ["https_proxy"], flush=True)
        subprocess.run([sys.executable, "-c", code])
        subprocess.run(["sh", "-c", "echo $https_proxy"])
    """
    assert here.record(program, children=False).splitlines() == [
        "http://p1:tok@127.0.0.1:9",
        "http://p2:tok@127.0.0.1:9 http://p1:tok@127.0.0.1:90",
        "http://p1:tok@127.0.0.1:9",
    ]


def test_an_agent_that_closes_every_file_goes_on_being_recorded(played: Played) -> None:
    program = """
        import time
        time.time()
        os.closerange(3, 1024)
        with open("own.txt", "w") as own:
            for _ in range(3): time.time()
            print("own", file=own)
        assert open("own.txt").read() == "own\\n"
    """
    played.record(program)
    (log,) = played.logs.values()
    assert log.count(b"\nt\t") == 4


@pytest.mark.parametrize(("most", "opened"), [(1000, 600), (128, 100), (40, 30)])
def test_a_file_that_has_the_number_of_a_closed_log_is_the_agents_own(
    played: Played, most: int, opened: int
) -> None:
    program = f"""
        import resource, time
        resource.setrlimit(resource.RLIMIT_NOFILE, ({most}, {most}))
        os.closerange(3, 1024)
        time.time()
        os.closerange(3, 1024)
        files = [open("own%d.txt" % number, "w") for number in range({opened})]
        time.time()
        for file in files: file.close()
        print(sum(os.path.getsize(file.name) for file in files))
        if os.fork(): os.wait()
        print(time.time(), flush=True)
    """
    output = played.same(program)
    assert output.startswith("0\n")


def test_a_run_that_is_over_leaves_all_as_it_is(here: Played) -> None:
    env = {"PYTHONPATH": str(paths().python), "RERAIL_RUN": str(here.folder / "gone")}
    code = "import time, random, os; time.time(); print(random.random() < 1, len(os.urandom(3)))"
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"True 3\n", b"")


def test_a_run_that_ends_under_a_process_does_not_end_the_process(here: Played) -> None:
    code = (
        "import time, os, uuid, datetime\nprint(flush=True)\ninput()\n"
        "time.time(); uuid.uuid4(); datetime.datetime.now(); os.urandom(3)\n"
        "child = os.fork()\ntime.time(); uuid.uuid4()\n"
        "child and print(os.waitpid(child, 0)[1])"
    )
    with RunFolder.make(SETTINGS) as run:
        env = {"PYTHONPATH": str(paths().python), "RERAIL_RUN": str(run.path)}
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdout is not None
        process.stdout.readline()
    assert process.communicate(b"\n", timeout=30) == (b"0\n", b"")


def test_threads_draw_and_read_at_once(played: Played) -> None:
    program = """
        import threading, time, uuid
        told = []
        def work():
            for _ in range(200):
                told.append((uuid.uuid4(), time.time()))
        threads = [threading.Thread(target=work) for _ in range(4)]
        for each in threads: each.start()
        for each in threads: each.join()
        assert len(told) == 800
    """
    played.record(program)
    (log,) = played.logs.values()
    assert log.count(b"\nt\t") == 800


def test_something_that_passes_by_is_written_down(here: Played) -> None:
    here.record("from _rerail_log import missing; missing('a thing\\n', 'by\\ttab')")
    (log,) = here.logs.values()
    assert b"\nmissing\ta thing\tby tab\n" in log


def test_code_made_at_run_time_asks_for_the_one_who_called_it(played: Played) -> None:
    program = """
        import dataclasses, time
        @dataclasses.dataclass
        class Made:
            at: float = dataclasses.field(default_factory=time.time)
        def mine():
            return Made()
        mine()
        exec("import time; time.time()")
    """
    played.record(program)
    (log,) = played.logs.values()
    sites = [
        line.split(b"\t")[2].rpartition(b":")[0] for line in log.split(b"\n") if line[:2] == b"s\t"
    ]
    assert sites == [b"program.py:mine", b"program.py:<module>"]


def test_the_modules_beside_it_are_not_on_the_path(here: Played) -> None:
    told = here.record(
        "print(*[p for p in sys.path if 'probe' in p], '_rerail_clock' in sys.modules)"
    )
    assert told.split() == ["True"]


def test_an_old_python_is_left_alone(tmp_path: Path) -> None:
    found = sorted(Path("~/.pyenv/versions").expanduser().glob("[23].[67].*/bin/python"))
    for executable in found:
        with RunFolder.make(SETTINGS) as run:
            env = {"PYTHONPATH": str(paths().python), "RERAIL_RUN": str(run.path), **quiet()}
            words = [str(executable), "-c", "import time; print(time.time() > 0)"]
            done = subprocess.run(words, env=env, capture_output=True, check=True)
            assert (done.stdout, done.stderr) == (b"True\n", b""), executable
            assert not list((run.path / "p").iterdir())


def quiet() -> dict[str, str]:
    return {"PYTHONDONTWRITEBYTECODE": "1"}
