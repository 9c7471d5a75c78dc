"""Detectors that are never blamed: what they show, and where they are silent."""

import json
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from rerail.llm.view import Message
from rerail.trace.detect.detector import Material, OverStory, Record, place
from rerail.trace.detect.detectors import detect, detectors
from rerail.trace.detect.reading import Reading
from rerail.trace.finding import Finding
from rerail.trace.story import Story
from tests.trace.detect.stories import calls, names, says, story, told, user

CANCEL = calls("cancel_order", order_id="W5512")
LOOK = calls("get_order", order_id="W5512")


def found(one: Story) -> list[str]:
    return names(detect(Material((one,))))


@pytest.mark.parametrize(
    ("detector", "messages", "without"),
    [
        ("tool-error", (LOOK, told("Error: no")), (LOOK, told("here"))),
        ("empty-answer", (LOOK, told("[]")), (LOOK, told("[1]"))),
        (
            "repeated-call",
            (LOOK, told("x"), LOOK, told("x")),
            (LOOK, told("x"), CANCEL, told("done"), LOOK, told("x")),
        ),
        ("changed-mind", (user("Do it."), user("Actually, do not.")), (says("Done, actually."),)),
        (
            "handed-over",
            (calls("transfer_to_human_agents", why="x"), told("done")),
            (calls("list_agents", why="x"), told("none")),
        ),
        (
            "accepted-otherwise",
            (calls("update_order", order_id="W5512", cabin="gold"), told('{"cabin": "iron"}')),
            (calls("update_order", order_id="W5512", cabin="gold"), told('{"cabin": "gold"}')),
        ),
        (
            "invented-and-refused",
            (calls("cancel_order", order_id="W9999"), told("Error: no such order")),
            (user("Cancel W9999."), calls("cancel_order", order_id="W9999"), told("Error: no")),
        ),
        (
            "never-together",
            (user("W5512"), user("C4471"), calls("move_order", a="W5512", b="C4471"), told("done")),
            (user("W5512 of C4471"), calls("move_order", a="W5512", b="C4471"), told("done")),
        ),
    ],
)
def test_a_thing_is_shown(
    detector: str, messages: tuple[Message, ...], without: tuple[Message, ...]
) -> None:
    end = says("That is all.")
    assert detector in found(story(user("Look at W5512."), *messages, end))
    assert detector not in found(story(user("Look at W5512."), *without, end))
    assert {one.tier for one in detectors() if one.name == detector} == {"context"}


def test_findings_come_in_the_order_of_the_run() -> None:
    one = story(user("x"), LOOK, told("Error: no"), LOOK, told("Error: no"), says("Done."))
    orders = [finding.order for finding in detect(Material((one,)))]
    assert orders == sorted(orders)


def test_only_those_that_are_asked_look() -> None:
    errors = [one for one in detectors() if one.name == "tool-error"]
    one = story(user("x"), LOOK, told("Error: no"))
    assert names(detect(Material((one,)), using=errors)) == ["tool-error"]


def test_a_record_without_events_says_nothing() -> None:
    assert detect(Material((), (Record("A", lambda: ()),))) == []


def test_the_names_of_detectors_are_their_own() -> None:
    every = [one.name for one in detectors(plugins=True)]
    assert len(every) == len(set(every))


def test_plug_ins_look_where_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def find(reading: Reading) -> Iterator[Finding]:
        said = reading.said[0]
        yield mine.finding("it was read", [place(reading.story, said)], said.order)

    mine = OverStory("mine", "task", "context", "the first message", find)
    entry = SimpleNamespace(load=lambda: [mine])
    monkeypatch.setattr("rerail.trace.plug_ins.entry_points", lambda group: [entry])
    material = Material((story(user("x"), says("Done.")),))
    assert names(detect(material)) == []
    assert names(detect(material, plugins=True)) == ["mine"]


def test_a_tool_that_the_provider_runs_needs_no_answer() -> None:
    asked = calls("web_search", query="kettle")
    assert found(story(user("x"), asked, says("Here."))) == []
    assert "unanswered-call" in found(story(user("x"), calls("search", query="x"), says("Here.")))


def test_a_story_without_words_says_nothing() -> None:
    assert detect(Material((Story("x", False, ()),))) == []


def test_a_long_run_is_read_in_good_time() -> None:
    shelf = told(json.dumps({"items": [{"item_id": f"K{n}", "price": n} for n in range(100, 140)]}))
    messages = [
        one
        for number in range(300)
        for one in (
            calls("get_items", page=number),
            shelf,
            calls("add_item", item_id=f"K{number}"),
            told("ok"),
        )
    ]
    assert isinstance(detect(Material((story(user("Add all."), *messages),))), list)
