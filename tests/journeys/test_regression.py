"""A failed run is kept as a test: it fails on the code that failed, and passes on the repair."""

import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rerail.testing.ca import CertificateAuthority
from rerail.testing.model import SimulatedModel
from rerail.testing.model.conversation import Asked, Reply
from tests.journeys.rail import Rail, Ran, Recorded

pytestmark = pytest.mark.journey

AGENT = """
import pathlib, sys, openai
with openai.OpenAI() as client:
    def ask(text):
        messages = [{"role": "user", "content": text}]
        reply = client.chat.completions.create(model="gpt-4.1-mini", messages=messages)
        return reply.choices[0].message.content
    amount = ask("How much does the order come to?")
    WHAT_TO_DO
    ask(f"Pay {amount}.")
"""
GUARD = 'sys.exit("more than 100: not without asking") if float(amount) > 100 else None'


def policy(asked: Asked) -> Reply:
    return Reply("190.50" if "How much" in asked.messages[-1].text else "Paid.")


@pytest.fixture
def project(
    rail: Rail, start_model: Callable[..., SimulatedModel], authority: CertificateAuthority
) -> Path:
    """A project whose agent has paid too much, and the tape of that."""
    model = start_model(policy, tls=authority.leaf("api.openai.com"))
    rail.resolve("api.openai.com", model.origin)
    record(rail, AGENT.replace("WHAT_TO_DO", "pass"))
    return rail.folder


def record(rail: Rail, agent: str, tape: str = "run.tape") -> Recorded:
    (rail.folder / "agent.py").write_text(agent)
    (rail.folder / tape).parent.mkdir(exist_ok=True)
    recorded = rail.record(sys.executable, "agent.py", tape=tape)
    assert recorded.status == 0, recorded.said
    rail.stop_origins()
    return recorded


def make(rail: Rail, *options: str) -> None:
    made = rail.run(*rail.rerail("test", "run.tape", "--name", "overpaid", *options))
    assert made.status == 0, made.said


def run_tests(rail: Rail) -> Ran:
    return rail.run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests")


def test_the_code_that_failed_fails_and_the_repair_passes(rail: Rail, project: Path) -> None:
    make(rail, "--at", "s2")
    before = run_tests(rail)
    assert before.status == 1, before.text
    assert "s2 was asked again as recorded" in before.text
    (project / "agent.py").write_text(AGENT.replace("WHAT_TO_DO", GUARD))
    after = run_tests(rail)
    assert after.status == 0, after.text
    assert rail.reached == 0


def test_a_run_with_children_is_followed_beside_the_new_folder_of_its_test(
    rail: Rail, start_model: Callable[..., SimulatedModel], authority: CertificateAuthority
) -> None:
    model = start_model(policy, tls=authority.leaf("api.openai.com"))
    rail.resolve("api.openai.com", model.origin)
    time = 'import subprocess; ask(str(subprocess.check_output(["date", "+%N"])))'
    recorded = record(rail, AGENT.replace("WHAT_TO_DO", time), "runs/timed.tape")
    made = rail.run(*rail.rerail("test", "runs/timed.tape"))
    assert made.status == 0, made.said
    assert (rail.folder / "tests").is_dir()
    tested = run_tests(rail)
    assert tested.status == 0, tested.text
    replayed = rail.replay(recorded.tape)
    assert replayed.green, replayed.said


def test_a_change_before_the_failure_shows_nothing(rail: Rail, project: Path) -> None:
    make(rail, "--at", "s2")
    (project / "agent.py").write_text(AGENT.replace("How much", "What"))
    early = run_tests(rail)
    assert early.status == 1, early.text
    assert "the replay left the tape before that, at r1" in early.text


@pytest.mark.parametrize(
    ("place", "code", "says"),
    [
        (
            "s1",
            "def broken(:",
            "the command ended with 1 before s1, and nothing recorded was asked",
        ),
        ("r99", AGENT.replace("WHAT_TO_DO", "pass"), "there is no r99 on the tape"),
    ],
)
def test_code_that_asks_nothing_and_places_of_no_request_show_nothing(
    rail: Rail, project: Path, place: str, code: str, says: str
) -> None:
    make(rail, "--at", "s1")
    (project / "agent.py").write_text(code)
    (kept,) = (project / "tests").glob("test_*.py")
    for verb in ("avoids", "reproduces"):
        text = kept.read_text()
        kept.write_text(re.sub(r"replayed_run\.\w+\(.*\)", f'replayed_run.{verb}("{place}")', text))
        told = run_tests(rail)
        assert told.status == 1, told.text
        assert says in told.text


def test_the_test_goes_with_the_project_to_another_folder(rail: Rail, project: Path) -> None:
    make(rail, "--at", "s2")
    elsewhere = project.parent / "clone"
    shutil.copytree(project, elsewhere)
    (elsewhere / "agent.py").write_text(AGENT.replace("WHAT_TO_DO", GUARD))
    rail.folder = elsewhere
    there = run_tests(rail)
    assert there.status == 0, there.text


def test_a_good_run_is_followed(rail: Rail, project: Path) -> None:
    make(rail)
    assert run_tests(rail).status == 0
    (project / "agent.py").write_text(AGENT.replace("WHAT_TO_DO", GUARD))
    changed = run_tests(rail)
    assert changed.status == 1
    assert "recorded model call never came: s2" in changed.text


def test_a_case_says_where_and_runs_its_test(rail: Rail, project: Path) -> None:
    def trace(*words: str) -> Ran:
        return rail.run(*rail.rerail("trace", *words))

    opened = trace("open", "run.tape", "--question", "Why so much?", "-o", "case", "--no-hold")
    assert opened.status == 0, opened.said
    make(rail, "--at", "s2", "--case", "case")
    records = sorted(path.name for path in (project / "case").glob("*.json"))
    assert records[-1].endswith("-test.json")
    failed = trace("check", "case").text
    assert "reproduces the failure" in failed
    (project / "agent.py").write_text(AGENT.replace("WHAT_TO_DO", GUARD))
    mended = trace("check", "case").text
    assert "proves that today the recorded failure is avoided" in mended
    (project / "agent.py").write_text("def broken(:")
    assert "shows nothing about the failure" in trace("check", "case").text
    (project / "tests" / "tapes" / "overpaid.tape").write_bytes(b"no tape")
    assert "was not run, or could not be" in trace("check", "case").text
