"""One rewind: the tape up to the step, the live model from there, a tape of its own."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rerail.errors import RerailError, TapeExists
from rerail.playback.live import LiveOrigins
from rerail.playback.session import ReplaySettings
from rerail.proxy.reach import UpstreamSettings
from rerail.rewind.report import RewindReport
from rerail.rewind.scores import Check, Checking
from rerail.rewind.session import RewindSettings, rewind
from rerail.tape.plane_records import HoldMet
from rerail.tape.reader import Tape
from rerail.tape.records import Edit, HttpRequestEdited
from rerail.testing.model import Asked, Reply, SimulatedModel
from rerail.testing.tapes import CHAT, Recording

HOST = "api.openai.com"
# It asks `turn 1`, `turn 2` …, and ends well where the last answer is `well`.
AGENT = """
import json, sys, urllib.request
said = []
for number in range(1, int(sys.argv[1]) + 1):
    messages = [{"role": "user", "content": f"turn {number}"}]
    body = json.dumps({"model": "m", "messages": messages}).encode()
    headers = {"Content-Type": "application/json", "Authorization": "Bearer sk-abcdefgh12345678"}
    request = urllib.request.Request("http://api.openai.com/v1/chat/completions", body, headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as reply:
            said.append(json.load(reply)["choices"][0]["message"]["content"])
    except OSError as error:
        said.append(str(error))
open("said", "w").write(" ".join(said))
sys.exit(said[-1] != "well")
"""
Rewound = Callable[..., RewindReport]


HEADERS = "Content-Type: application/json\r\nAuthorization: Bearer sk-abcdefgh12345678\r\n"


def question(number: int) -> bytes:
    messages = [{"role": "user", "content": f"turn {number}"}]
    return json.dumps({"model": "m", "messages": messages}).encode()


def answer(number: int) -> bytes:
    message = {"role": "assistant", "content": f"recorded {number}"}
    choices = [{"index": 0, "message": message}]
    return json.dumps({"id": "c", "object": "chat.completion", "choices": choices}).encode()


@pytest.fixture
def tape(tmp_path: Path) -> Iterator[Tape]:
    """A run of three model calls that failed."""
    recording = Recording.begin(tmp_path / "run.tape")
    for number in (1, 2, 3):
        recording.request(
            number, question(number), method="POST", target=CHAT, headers=HEADERS,
            scheme="http", host=HOST, port=80,
        )  # fmt: skip
        recording.reply(number, [answer(number)], headers="Content-Type: application/json\r\n")
    recording.end(status=1)
    with Tape.open(recording.path) as opened:
        yield opened


@pytest.fixture
def asked() -> list[str]:
    """What the live model was asked."""
    return []


@pytest.fixture
def rewound(
    tape: Tape, tmp_path: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Rewound]:
    """`rewound(calls=3, step=2)`: an agent that makes so many calls, rewound."""
    environment = {"PATH": os.environ["PATH"], "XDG_DATA_HOME": str(tmp_path / "data")}
    monkeypatch.chdir(tmp_path)

    def policy(request: Asked) -> Reply:
        asked.append(request.messages[-1].text)
        return Reply("well")

    with SimulatedModel(policy) as model:
        upstream = UpstreamSettings(overrides={(HOST, 80): model.address})

        def go(*, calls: int, step: int, **fields: Any) -> RewindReport:
            way = ReplaySettings(
                environment=environment,
                command=[sys.executable, "-c", AGENT, str(calls)],
                live=LiveOrigins(upstream),
            )
            settings = RewindSettings(step=step, replay=way, output=tmp_path / "fork.tape")
            return rewind(tape, replace(settings, **fields))

        yield go


def test_up_to_the_step_it_is_the_tape_and_from_there_the_live_model(
    rewound: Rewound, tape: Tape, tmp_path: Path, asked: list[str]
) -> None:
    report = rewound(calls=3, step=3)
    assert asked == ["turn 3"]
    assert (tmp_path / "said").read_text() == "recorded 1 recorded 2 well"
    assert (report.reached, report.ended_well, report.live.turns) == (True, True, 1)
    with Tape.open(tmp_path / "fork.tape") as fork:
        parent = fork.run.parent
        assert fork.id == report.fork.id
    assert parent is not None
    assert (parent.tape_id, parent.step, parent.relation) == (tape.id, 3, "fork")


def test_a_hint_stands_in_what_the_live_model_is_asked_and_on_the_tape(
    rewound: Rewound, tmp_path: Path, asked: list[str]
) -> None:
    report = rewound(calls=2, step=2, edits=[Edit(step=2, kind="hint", text="look at a.txt")])
    assert "look at a.txt" in asked[0]
    assert report.hint == "look at a.txt"
    with Tape.open(tmp_path / "fork.tape") as fork:
        assert sum(isinstance(event, HttpRequestEdited) for event in fork.events()) == 1


def test_no_more_turns_than_were_allowed(rewound: Rewound, asked: list[str]) -> None:
    report = rewound(calls=3, step=1, turns=2)
    assert asked == ["turn 1", "turn 2"]
    assert report.reached
    assert not report.ended_well


def test_a_run_that_does_not_come_to_the_step_asks_nobody(
    rewound: Rewound, asked: list[str], tmp_path: Path
) -> None:
    report = rewound(calls=1, step=3)
    assert (report.reached, report.ended_well, report.check) == (False, False, None)
    assert asked == []
    assert (tmp_path / "fork.tape").exists()


def test_a_fork_does_not_take_its_tapes_place(
    rewound: Rewound, tape: Tape, tmp_path: Path, asked: list[str]
) -> None:
    before = tape.path.read_bytes()
    (tmp_path / "link.tape").symlink_to(tape.path)
    with pytest.raises(TapeExists):
        rewound(calls=3, step=2, output=tmp_path / "link.tape", overwrite=True)
    assert tape.path.read_bytes() == before
    assert asked == []


def test_what_cannot_be_done_is_said_before_a_tape_is_begun(
    rewound: Rewound, tmp_path: Path, asked: list[str]
) -> None:
    """Its files were not recorded: they can neither be checked nor put back."""
    trusting = Checking(os.environ, 1, trusted=True)
    for wanted in ({"check": Check.parse("true", None), "checking": trusting}, {"restore": True}):
        with pytest.raises(RerailError):
            rewound(calls=3, step=2, **wanted)
    assert not (tmp_path / "fork.tape").exists()
    assert asked == []


def test_who_went_on_past_a_hold_is_on_the_forks_tape(rewound: Rewound, tmp_path: Path) -> None:
    rewound(calls=2, step=2, went_on=[("H-1", "look first", "I have looked")])
    with Tape.open(tmp_path / "fork.tape") as fork:
        met = [event for event in fork.events() if isinstance(event, HoldMet)]
    assert [(one.hold_id, one.reason, one.why) for one in met] == [
        ("H-1", "look first", "I have looked")
    ]
