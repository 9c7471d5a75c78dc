"""What child processes say comes again to the word, and they behave as without rerail."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rerail.tape.records import CHILDREN_UNSEEN, CaptureMissing, ProcessEnded, ProcessStarted
from rerail.testing.model import SimulatedModel
from tests.journeys.rail import AGENTS, Rail
from tests.node import MAJORS, node_or_skip

pytestmark = pytest.mark.journey

CALLS = 30
PLACE = "# more is done here"


@pytest.fixture
def agent(rail: Rail) -> Path:
    """An agent in a repository of its own, where it can be changed."""
    subprocess.run(["git", "init", "-q"], cwd=rail.folder, check=True)
    (rail.folder / "notes.txt").touch()
    return Path(shutil.copy(AGENTS / "observing_agent.py", rail.folder))


def by_how(report: dict[str, Any]) -> dict[str, list[list[str]]]:
    found: dict[str, list[list[str]]] = {}
    for child in report["children"]:
        found.setdefault(child["how"], []).append(child["argv"])
    return found


@pytest.mark.usefixtures("openai_model")
def test_prompts_full_of_what_commands_say_come_again(rail: Rail, agent: Path) -> None:
    done = rail.record(sys.executable, str(agent), str(CALLS))
    assert done.status == 0, done.said
    rail.stop_origins()
    (rail.folder / "another.txt").touch()  # git and ls would say so
    for _ in range(2):
        replayed = rail.replay(done.tape)
        assert replayed.green, replayed.said
        assert replayed.report["counts"]["exact"] == CALLS
        assert replayed.output == done.output
        assert {how: len(argvs) for how, argvs in by_how(replayed.report).items()} == {
            "given back": 7 * CALLS // 3
        }
    assert rail.reached == 0


@pytest.mark.usefixtures("openai_model")
def test_another_command_runs_for_real_and_is_said(rail: Rail, agent: Path) -> None:
    done = rail.record(sys.executable, str(agent), "1")
    rail.stop_origins()
    more = "print(subprocess.check_output(['expr', '6', '*', '7']), file=sys.stderr)"
    agent.write_text(agent.read_text().replace(PLACE, more))
    replayed = rail.replay(done.tape)
    assert replayed.green, replayed.said
    assert "b'42\\n'" in replayed.said
    assert by_how(replayed.report)["run"] == [["expr", "6", "*", "7"]]
    assert "ran for real: it is not on the tape: expr 6 '*' 7" in replayed.said


@pytest.mark.usefixtures("openai_model")
@pytest.mark.parametrize("language", ["python", "node"])
@pytest.mark.parametrize("kind", ["shell", "its own"])
def test_a_child_that_wrote_where_no_snapshot_looks_runs_for_real(
    rail: Rail, tmp_path_factory: pytest.TempPathFactory, language: str, kind: str
) -> None:
    place = tmp_path_factory.mktemp("beside")
    agent = rail.python("writing_agent.py", kind, str(place))
    if language == "node":
        agent = [node_or_skip(20), str(AGENTS / "writing_agent.mjs"), kind, str(place)]
    done = rail.record(*agent)
    assert done.status == 0, done.said
    (missing,) = (event for event in done.events() if isinstance(event, CaptureMissing))
    assert str(place / "result.txt") in missing.files
    shown = rail.run(*rail.rerail("show", str(done.tape))).text
    assert f"files that a child wrote are in no snapshot: {place}" in shown
    rail.stop_origins()
    (place / "result.txt").unlink()
    replayed = rail.replay(done.tape)
    assert replayed.green, replayed.said
    ran, given = replayed.report["children"]
    assert (ran["how"], given["how"]) == ("run", "given back")
    assert ran["why"].startswith("it wrote ")
    assert "which no snapshot holds" in ran["why"]


@pytest.mark.usefixtures("openai_model")
def test_an_agent_that_another_python_starts_is_run(rail: Rail, agent: Path) -> None:
    """What asks a model is the agent, whoever started it; what it starts is part of it."""
    starter = rail.folder / "starter.py"
    starter.write_text(
        "import subprocess, sys\n"
        "done = subprocess.run([sys.executable, *sys.argv[1:]], stdout=subprocess.PIPE)\n"
        "sys.exit(done.returncode)\n"
    )
    done = rail.record(sys.executable, str(starter), str(agent), "0")
    assert [child.argv[1:] for child in children(done.events())] == [[str(agent), "0"]]
    done = rail.record(sys.executable, str(starter), str(agent), "2", tape="two.tape")
    rail.stop_origins()
    replayed = rail.replay(done.tape)
    assert replayed.green, replayed.said
    agent_itself, *its_own = replayed.report["children"]
    assert agent_itself["how"] == "run"
    assert agent_itself["why"] == "it asked a model itself, and is answered from the tape"
    assert {child["how"] for child in its_own} == {"given back"}
    assert len(its_own) == 4
    listed = rail.run(*rail.rerail("show", str(done.tape))).text
    assert [line[:3] for line in listed.split("\n") if line.startswith("p")][-1:] == ["p2\t"]


def children(events: list[Any]) -> list[ProcessStarted]:
    return [event for event in events if isinstance(event, ProcessStarted) and event.streams]


def test_children_behave_as_without_rerail_and_come_again(rail: Rail, agent: Path) -> None:
    words = rail.python("many_children.py")
    alone = rail.run(*words)
    assert alone.status == 0, alone.said
    done = rail.record(*words)
    assert done.output.split(b"\n") == alone.output.split(b"\n")
    started = children(done.events())
    ended = [event for event in done.events() if isinstance(event, ProcessEnded)]
    assert len(started) > 60
    assert not any(event.unknown for event in ended)
    replayed = rail.replay(done.tape)
    assert replayed.output.split(b"\n") == done.output.split(b"\n")
    ran = by_how(replayed.report)["run"]
    assert ran == [["no-such-program-anywhere"], ["true"]], replayed.report["children"]


@pytest.mark.usefixtures("openai_model")
def test_a_replay_that_is_recorded_can_be_replayed(rail: Rail, agent: Path) -> None:
    done = rail.record(sys.executable, str(agent), "3")
    rail.stop_origins()
    more = "print(subprocess.check_output('echo more', shell=True), file=sys.stderr)"
    agent.write_text(agent.read_text().replace(PLACE, more))
    again = rail.replay(done.tape, options=["-o", "again.tape"])
    assert again.green, again.said
    assert set(by_how(again.report)) == {"given back", "run"}
    replayed = rail.replay(rail.folder / "again.tape")
    assert replayed.green, replayed.said
    assert replayed.output == done.output
    assert set(by_how(replayed.report)) == {"given back"}


def test_recording_a_replay_changes_nothing_for_children(rail: Rail) -> None:
    words = rail.python("many_children.py")
    done = rail.record(*words)
    replayed = rail.replay(done.tape, options=["-o", "again.tape"])
    assert replayed.output.split(b"\n") == done.output.split(b"\n")
    again = rail.replay(rail.folder / "again.tape")
    assert again.output.split(b"\n") == done.output.split(b"\n")


def test_a_thousand_children(rail: Rail) -> None:
    script = (
        "import subprocess\n"
        "print({subprocess.run(['true'], capture_output=True).returncode for _ in range(1000)})"
    )
    done = rail.record(sys.executable, "-c", script)
    assert done.text == "{0}\n"
    assert len(children(done.events())) == 1000
    replayed = rail.replay(done.tape)
    assert replayed.text == "{0}\n"
    assert len(by_how(replayed.report)["given back"]) == 1000


def test_a_child_of_an_agent_whose_folder_is_gone(rail: Rail) -> None:
    script = (
        "import os, subprocess\nos.mkdir('here'); os.chdir('here'); os.rmdir('../here')\n"
        "print(subprocess.run(['date', '+%N'], capture_output=True).stdout)"
    )
    done = rail.record(sys.executable, "-c", script)
    assert len(children(done.events())) == 1
    replayed = rail.replay(done.tape)
    assert replayed.output == done.output
    assert by_how(replayed.report)["given back"] == [["date", "+%N"]]


def test_a_child_that_is_left_out_is_not_there(rail: Rail) -> None:
    script = "import subprocess; print(subprocess.check_output(['date', '+%N']))"
    done = rail.record(sys.executable, "-c", script, options=["--no-children"])
    assert children(done.events()) == []
    replayed = rail.replay(done.tape)
    assert replayed.output != done.output
    assert replayed.report["children"] == []


def test_a_child_is_shown_whole(rail: Rail) -> None:
    script = (
        "import subprocess\n"
        "subprocess.run('cat; echo oops >&2; exit 3', shell=True, input=b'told', "
        "capture_output=True)"
    )
    done = rail.record(sys.executable, "-c", script)
    [child] = children(done.events())
    name = f"p{child.process_id}"
    listed = rail.run(*rail.rerail("show", str(done.tape))).text
    row = next(line for line in listed.split("\n") if line.startswith(name))
    assert row.split("\t")[2:7] == ["cat; echo oops >&2; exit 3", "status 3", "4", "4", "5"]
    whole = rail.run(*rail.rerail("show", str(done.tape), name)).text
    assert "── stdin" in whole
    assert "oops" in whole
    raw = rail.run(*rail.rerail("show", str(done.tape), name, "--raw"))
    assert raw.output == b"told"


@pytest.mark.usefixtures("openai_model")
def test_what_is_told_otherwise_after_an_answer_is_a_divergence(
    rail: Rail, openai_model: SimulatedModel
) -> None:
    agent = rail.folder / "agent.py"
    agent.write_text(
        "import subprocess\n"
        "with subprocess.Popen(['cat'], stdin=-1, stdout=-1, bufsize=0) as child:\n"
        "    child.stdin.write(b'first\\n')\n"
        "    child.stdout.readline()\n"
        "    child.stdin.write(b'second\\n')\n"
        "    child.stdin.close()\n"
        "    print(child.stdout.read())\n"
    )
    done = rail.record(sys.executable, str(agent))
    assert done.text == "b'second\\n'\n"
    assert rail.replay(done.tape).text == done.text
    agent.write_text(agent.read_text().replace("second", "other"))
    replayed = rail.replay(done.tape)
    assert "child_diverged" in [reason["code"] for reason in replayed.report["verdict"]["reasons"]]
    agent.write_text(agent.read_text().replace("first", "another"))
    replayed = rail.replay(done.tape)
    assert replayed.text == "b'other\\n'\n"
    assert by_how(replayed.report) == {"run": [["cat"]]}


@pytest.mark.parametrize("major", MAJORS)
def test_children_of_node_behave_as_without_rerail_and_come_again(rail: Rail, major: int) -> None:
    words = [node_or_skip(major), str(AGENTS / "many_children.cjs")]
    alone = rail.run(*words)
    assert alone.status == 0, alone.said
    done = rail.record(*words)
    assert done.output.split(b"\n") == alone.output.split(b"\n")
    assert len(children(done.events())) == 30
    for tape in (done.tape, rail.folder / "again.tape"):
        replayed = rail.replay(tape, options=["-o", f"{tape.stem}-again.tape", "--force"])
        assert replayed.output.split(b"\n") == done.output.split(b"\n")
        real = [Path(argv[0]).name for argv in by_how(replayed.report)["run"]]
        assert real == ["no-such-program-anywhere", "sh", "no-such-program-anywhere"]
        (rail.folder / f"{tape.stem}-again.tape").rename(rail.folder / "again.tape")


@pytest.mark.usefixtures("openai_model")
@pytest.mark.parametrize("major", MAJORS)
def test_prompts_of_a_node_full_of_what_commands_say_come_again(
    rail: Rail, agent: Path, major: int
) -> None:
    words = [node_or_skip(major), str(AGENTS / "observing_agent.mjs"), str(CALLS)]
    done = rail.record(*words)
    assert done.status == 0, done.said
    rail.stop_origins()
    (rail.folder / "another.txt").touch()
    for _ in range(2):
        replayed = rail.replay(done.tape)
        assert replayed.green, replayed.said
        assert replayed.report["counts"]["exact"] == CALLS
        assert replayed.output == done.output
        assert set(by_how(replayed.report)) == {"given back"}
    assert rail.reached == 0


@pytest.mark.usefixtures("openai_model")
def test_once_a_run_has_gone_live_its_children_run(rail: Rail, agent: Path) -> None:
    done = rail.record(sys.executable, str(agent), "3")
    agent.write_text(agent.read_text().replace(PLACE, "text += ' changed' * (turn == 1)"))
    replayed = rail.replay(done.tape, options=["--on-divergence", "live", *rail.names])
    assert replayed.report["counts"]["live"] > 0
    found = [(child["how"], child["why"]) for child in replayed.report["children"]]
    assert found == [("given back", "")] * 4 + [("run", "the run has gone live")] * 3


FILES = """\
import json, os, subprocess, sys, urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from observing_agent import ask

def run(text):
    return subprocess.run(text, shell=True, capture_output=True, text=True).stdout

Path("notes.txt").write_text("by the agent\\n")
run("date +%N > stamp.txt; mkdir -p out; cp notes.txt out/; rm -f old.txt")
told = Path("stamp.txt").read_text()
print(ask(told + run("date +%N; ls -R; cat out/notes.txt")))
with open("log.txt", "a") as log:
    for turn in range(3):
        print(turn, file=log, flush=True)
        run(f"date +%N >> stamp.txt; sed -i s/agent/child{turn}/ notes.txt")
        files = [Path(name).read_text() for name in ("stamp.txt", "notes.txt")]
        print(ask("".join(files) + run("wc -l *.txt")))
# more is done here
print(os.path.exists("old.txt"), Path("log.txt").read_text())
"""


@pytest.fixture
def writing_agent(rail: Rail, agent: Path) -> Path:
    """An agent whose children change files that it reads."""
    path = agent.with_name("writing_agent.py")
    path.write_text(FILES)
    (rail.folder / "old.txt").write_text("to be removed\n")
    return path


@pytest.mark.usefixtures("openai_model")
def test_the_changes_that_children_made_are_made_again(rail: Rail, writing_agent: Path) -> None:
    done = rail.record(sys.executable, str(writing_agent))
    assert done.status == 0, done.said
    rail.stop_origins()
    for _ in range(2):
        replayed = rail.replay(done.tape)
        assert replayed.green, replayed.said
        assert replayed.output == done.output
        assert set(by_how(replayed.report)) == {"given back"}
        assert replayed.report["workspace"]["differing"] == 0


@pytest.mark.usefixtures("openai_model")
def test_a_child_that_would_find_other_files_runs(rail: Rail, writing_agent: Path) -> None:
    done = rail.record(sys.executable, str(writing_agent))
    rail.stop_origins()
    before, loop, after = writing_agent.read_text().partition('with open("log.txt"')
    more = "Path('notes.txt').write_text('otherwise')\nrun('date +%N; ls -R; cat out/notes.txt')\n"
    writing_agent.write_text(before + more + loop + after)
    replayed = rail.replay(done.tape)
    assert not replayed.green
    why = {child["why"] for child in replayed.report["children"]}
    assert "notes.txt is otherwise than when it was recorded" in why


@pytest.mark.usefixtures("openai_model")
def test_in_the_folder_itself_a_child_that_changed_files_runs(rail: Rail, agent: Path) -> None:
    agent.write_text(
        "import subprocess, sys\n"
        f"sys.path.insert(0, {str(AGENTS)!r})\n"
        "from observing_agent import ask\n"
        "def run(text):\n"
        "    return subprocess.run(text, shell=True, capture_output=True, text=True).stdout\n"
        "print(ask(run('date +%N')))\n"
        "run('echo made > made.txt')\n"
        "print(ask(open('made.txt').read()))\n"
    )
    done = rail.record(sys.executable, str(agent))
    assert done.status == 0, done.said
    rail.stop_origins()
    made = rail.folder / "made.txt"
    made.unlink()
    replayed = rail.replay(done.tape, options=["--workspace", "in-place"])
    assert replayed.green, replayed.said
    assert {child["argv"][-1]: child["why"] for child in replayed.report["children"]} == {
        "date +%N": "",
        "echo made > made.txt": "it changed made.txt, and this is no copy",
    }
    assert made.read_text() == "made\n"
    replayed = rail.replay(done.tape, options=["--workspace", "in-place"])
    assert set(by_how(replayed.report)) == {"given back"}


THREADS = """
import concurrent.futures, subprocess
def said(number):
    return subprocess.run(["echo", str(number)], capture_output=True, text=True).stdout
with concurrent.futures.ThreadPoolExecutor(4) as threads:
    assert list(threads.map(said, range(80))) == [f"{n}\\n" for n in range(80)]
"""


def test_threads_that_start_children_have_their_own_descriptors(rail: Rail) -> None:
    done = rail.record(sys.executable, "-c", THREADS)
    assert done.status == 0, done.said


BY_SHELL = """
said=$(date +%s.%N)
curl -sS -d "{\\"model\\": \\"gpt-4.1-mini\\", \\"messages\\": [{\\"role\\": \\"user\\",
\\"content\\": \\"it is $said\\"}]}" -H 'Content-Type: application/json' \\
-H "Authorization: Bearer $OPENAI_API_KEY" https://api.openai.com/v1/chat/completions
"""


@pytest.mark.usefixtures("openai_model")
def test_an_agent_that_no_probe_reaches_is_named_with_what_differs(
    rail: Rail, need: Callable[[str], str]
) -> None:
    """A shell that asks a model is such a one: it runs `date` without anybody hearing of it."""
    need("curl")
    done = rail.record("sh", "-c", BY_SHELL)
    assert done.status == 0, done.said
    (missing,) = (event for event in done.events() if isinstance(event, CaptureMissing))
    assert (missing.what, missing.detail, missing.process_id) == (CHILDREN_UNSEEN, "sh", 1)
    rail.stop_origins()
    replayed = rail.replay(done.tape)
    assert not replayed.green
    (note,) = (note for note in replayed.report["notes"] if "p1 (sh)" in note)
    assert "what differs may be theirs" in note


PSEUDO_TERMINAL = "import pty, sys; pty.spawn(['sh', '-c', 'echo on a terminal'])"


def test_a_child_on_a_pseudo_terminal_is_named(rail: Rail) -> None:
    done = rail.record(sys.executable, "-c", PSEUDO_TERMINAL)
    assert done.status == 0, done.said
    (missing,) = (event for event in done.events() if isinstance(event, CaptureMissing))
    assert missing.what == "a child that was made by fork and exec is not on the tape"
    assert missing.detail == "sh -c echo on a terminal"
