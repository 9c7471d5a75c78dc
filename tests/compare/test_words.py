"""Which words of a text changed."""

import time

from hypothesis import given
from hypothesis import strategies as st

from rerail.compare.words import CUT, WordChange, common_prefix, shorten, word_changes


def test_one_changed_word_is_shown_between_its_neighbours() -> None:
    assert word_changes("read the file api.ts and fix it", "read the file web.ts and fix it") == (
        WordChange(before="read the file ", recorded="api", now="web", after=".ts and fix it"),
    )


def test_an_added_and_a_removed_word_have_one_empty_side() -> None:
    added = word_changes("be brief", "be very brief")
    assert [(change.recorded, change.now) for change in added] == [("", "very ")]
    removed = word_changes("be very brief", "be brief")
    assert [(change.recorded, change.now) for change in removed] == [("very ", "")]
    assert added[0].marked == ("be brief", "be {+very +}brief")
    assert removed[0].marked == ("be [-very -]brief", "be brief")


def test_changes_far_apart_are_two_and_neighbours_are_one() -> None:
    text = "one two three four five six seven eight"
    apart = word_changes(text, text.replace("one", "1").replace("eight", "8"))
    assert [(change.recorded, change.now) for change in apart] == [("one", "1"), ("eight", "8")]
    together = word_changes(text, text.replace("three four", "3 4"))
    assert [(change.recorded, change.now) for change in together] == [("three four", "3 4")]


def test_each_text_is_shown_with_its_own_neighbours() -> None:
    recorded, now = "the red dog and the big cat", "the blue dog and the small cat"
    first, second = word_changes(recorded, now)
    assert first.old == ("the ", "red", " dog and the big cat")
    assert (first.before, first.now, first.after) == ("the ", "blue", " dog and the small cat")
    assert second.old == ("the red dog and the ", "big", " cat")
    assert second.before == "the blue dog and the "


@given(st.text(max_size=60), st.text(max_size=60))
def test_what_is_shown_stands_in_its_text(recorded: str, now: str) -> None:
    for change in word_changes(recorded, now):
        assert "".join(change.old).strip("…") in recorded
        assert (change.before + change.now + change.after).strip("…") in now


def test_equal_texts_have_no_changes_but_one_empty_run() -> None:
    assert all(change.recorded == change.now == "" for change in word_changes("same", "same"))


def test_a_script_without_blanks_is_narrowed_to_the_characters() -> None:
    text = "語" * 300 + "旧" + "言" * 300
    (change,) = word_changes(text, text.replace("旧", "新"))
    assert (change.recorded, change.now) == ("旧", "新")
    assert change.before.endswith("語")
    assert change.after.startswith("言")


@given(st.text(max_size=400), st.text(max_size=400))
def test_what_is_shown_is_never_long(recorded: str, now: str) -> None:
    for change in word_changes(recorded, now):
        assert max(len(change.recorded), len(change.now)) <= CUT + 40
        assert max(len(change.before), len(change.after)) <= 41


def test_two_long_texts_with_nothing_in_common_are_compared_fast() -> None:
    began = time.process_time()
    word_changes("alpha beta " * 20_000, "gamma delta " * 20_000)
    assert time.process_time() - began < 2


def test_a_long_text_is_shortened_in_its_middle_and_counted() -> None:
    text = shorten("a" * 1000 + "z" * 1000, 120)
    assert text.startswith("a" * 80 + "… (")
    assert text.endswith("z" * 30)
    assert "1 890 characters" in text
    assert shorten("short", 120) == "short"


@given(st.binary(max_size=30), st.binary(max_size=30), st.binary(max_size=30))
def test_the_common_beginning_is_as_long_as_it_is(start: bytes, one: bytes, other: bytes) -> None:
    length = common_prefix(start + one, start + other)
    assert length >= len(start)
    assert (start + one)[:length] == (start + other)[:length]
    assert (start + one)[length : length + 1] != (start + other)[length : length + 1] or (
        length == min(len(start + one), len(start + other))
    )
