"""`rerail why` on a tape whose story is known."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rerail.testing.tapes import Recording


@pytest.fixture
def tape(make_tape: Callable[..., Recording]) -> Path:
    made = make_tape()
    made.request(1, target="/tickets?query=1841")
    made.reply(1, [b"customer CUST-4471"])
    made.chat(2, "The ticket names CUST-4471.")
    made.end()
    return made.path


def test_places_then_their_reading(tape: Path, rerail: Callable[..., Any]) -> None:
    assert rerail("why", tape, "CUST-4471").lines == [
        "e4 r1  +5 ms  reply  GET api.example.com/tickets  body, inside a longer text",
        "e5 r2  +7 ms  agent sent  POST api.openai.com/v1/chat/completions  "
        "$.messages[0].content, inside a longer text",
        "",
        "reading: the agent was told it by this reply; nothing recorded before holds it",
    ]


def test_nowhere_is_a_finding(tape: Path, rerail: Callable[..., Any]) -> None:
    told = rerail("why", tape, "CUST-0000")
    assert (told.status, told.lines) == (1, ["reading: it stands nowhere on this tape"])


def test_as_json_facts_and_their_meaning_are_apart(tape: Path, rerail: Callable[..., Any]) -> None:
    document = rerail("why", tape, "CUST-4471", "--json").json
    assert [place["event"] for place in document["places"]] == [4, 5]
    assert document["origin"] == "told"


def test_what_cannot_be_looked_for(tape: Path, rerail: Callable[..., Any], tmp_path: Path) -> None:
    rerail("why", tape, " ").assert_complaint(2, "no value to look for", "CUST-4471")
    rerail("why", tmp_path / "no.tape", "x").assert_complaint(2, "cannot open tape")
