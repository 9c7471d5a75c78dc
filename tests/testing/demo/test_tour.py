import sys
from pathlib import Path

import pytest

from rerail.errors import UsageProblem
from rerail.testing.demo.tour import Tour

STAND_IN = """
import os, pathlib, subprocess, sys
from rerail.testing.forward_proxy import forward_proxy
from rerail.testing.origin import Origin

def run(command):
    resolve = {}
    for item in arguments:
        if item.startswith("--resolve="):
            name, _, place = item.removeprefix("--resolve=").partition("=")
            host, _, port = place.partition(":")
            resolve[name.partition(":")[0], 443] = (host, int(port))
    with Origin(forward_proxy(resolve=resolve)) as proxy:
        subprocess.run(command, env={**os.environ, "HTTPS_PROXY": proxy.url}, check=True)

verb, arguments = sys.argv[1], sys.argv[2:]
pathlib.Path("log").open("a").write(f"{verb} {' '.join(arguments)}\\n")
if verb == "trace":
    sys.exit(int(os.environ["STAND_IN_TRACE"]))
if verb == "rewind":
    run([sys.executable, "agent.py", "--rule", "rule-strict.txt"])
    sys.exit(0)
if verb == "test":
    pathlib.Path("tests").mkdir(exist_ok=True)
    pathlib.Path("tests/test_it.py").write_text("def test_it():\\n    pass\\n")
    sys.exit(0)
if verb == "replay":
    if "--" in arguments:
        report = '{"divergence": {"step": 3}}'
        pathlib.Path("runs/changed.json").write_text(os.environ.get("STAND_IN_REPORT", report))
        sys.exit(int(os.environ["STAND_IN_CHANGED"]))
    pathlib.Path("report.md").write_text(pathlib.Path("kept.md").read_text())
    sys.exit(int(os.environ["STAND_IN_REPLAY"]))
if os.environ["STAND_IN_RECORD"] != "0":
    sys.exit(int(os.environ["STAND_IN_RECORD"]))
tape, command = arguments[1], arguments[arguments.index("--") + 1 :]
if os.environ["STAND_IN_AGENT"] == "0":
    pathlib.Path("report.md").write_text("no agent ran")
else:
    run(command)
pathlib.Path(tape).write_text("a tape")
pathlib.Path("kept.md").write_text(pathlib.Path("report.md").read_text())
"""


def walk(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    record: int = 0,
    replay: int = 0,
    changed: int = 1,
    agent: int = 0,
    trace: int = 0,
) -> tuple[bool, str]:
    script = folder.parent / "stand_in.py"
    script.write_text(STAND_IN)
    for name, value in (
        ("RECORD", record),
        ("REPLAY", replay),
        ("CHANGED", changed),
        ("AGENT", agent),
        ("TRACE", trace),
    ):
        monkeypatch.setenv(f"STAND_IN_{name}", str(value))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    said: list[str] = []
    program = [sys.executable, str(script)]
    tour = Tour(folder, "simulated", said.append, program=program, attempts=1)
    return tour.walk(), "\n".join(said)


def test_the_story_is_told_from_end_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "demo"
    well, said = walk(folder, monkeypatch, agent=1)
    assert well, said
    assert "simulated model" in said.splitlines()[0]
    log = (folder / "log").read_text().splitlines()
    recorded = [line for line in log if line.startswith("record")]
    after = log[len(recorded) :]
    tape = f"runs/night-{len(recorded)}.tape"
    assert recorded[-1].startswith(f"record -o {tape} --task=1841 -e AGENT_MODEL=")
    assert "--resolve=api.openai.com:443=127.0.0.1:" in recorded[-1]
    assert after[0] == f"replay {tape}"
    assert after[1].startswith(f"replay --report runs/changed.json {tape} -- ")
    assert after[1].endswith("agent.py --rule rule-strict.txt")
    assert [line.split()[:2] for line in after[2:5]] == [
        ["trace", "open"], ["trace", "diagnose"], ["trace", "safety"],
    ]  # fmt: skip
    assert after[5].startswith(f"rewind {tape} --to s3 --hint ")
    assert after[6].startswith(f"test {tape} --at s3 --case runs/case-")
    assert "filed under CUST-4471, rightly" in said
    assert f"rerail replay {tape}" in said
    assert (folder / "runs").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("statuses", "complaint"),
    [
        ({"record": 125}, "recording ended with status 125"),
        ({"record": 1}, "recording ended with status 1"),
        ({"replay": 1}, "replaying ended with status 1, not 0"),
        ({"trace": 2}, "`rerail trace` ended with status 2"),
        ({"changed": 0}, "the changed agent's replay diverged at turn 3 (status 0)"),
    ],
)
def test_a_step_that_goes_wrong_is_said(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    statuses: dict[str, int],
    complaint: str,
) -> None:
    well, said = walk(tmp_path / "demo", monkeypatch, **statuses)
    assert not well
    assert complaint in said


def test_a_divergence_elsewhere_or_nowhere_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STAND_IN_REPORT", '{"divergence": {"step": 1}}')
    assert "diverged at turn 1" in walk(tmp_path / "demo", monkeypatch)[1]
    monkeypatch.setenv("STAND_IN_REPORT", '{"divergence": null}')
    assert "did not diverge" in walk(tmp_path / "demo", monkeypatch)[1]


def test_a_ticket_that_nobody_got_is_the_odd_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    well, said = walk(tmp_path / "demo", monkeypatch)
    assert well
    assert "filed under nobody" in said


def test_a_second_demo_keeps_the_users_changes_and_the_first_tapes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "demo"
    walk(folder, monkeypatch, replay=0)
    first = sorted((folder / "runs").iterdir())
    (folder / "rule.txt").write_text("File it, please.\n")
    well, _ = walk(folder, monkeypatch)
    assert well
    assert (folder / "rule.txt").read_text() == "File it, please.\n"
    assert sorted((folder / "runs").iterdir())[: len(first)] == first
    assert len(list((folder / "runs").iterdir())) > len(first)


def test_a_folder_with_something_else_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(UsageProblem, match="something else"):
        Tour(tmp_path, "simulated", lambda line: None).walk()
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_folder_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageProblem, match="cannot write the demo"):
        Tour(tmp_path / "file" / "demo", "simulated", lambda line: None).walk()
