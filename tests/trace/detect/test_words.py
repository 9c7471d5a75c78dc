from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rerail.trace.detect.words import (
    amounts,
    consents,
    figures,
    holds,
    identifier,
    identifiers,
    kind_of,
    names_a_thing,
    plain,
    sentences,
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("order #W5512 of C4471", {"w5512", "c4471"}),
        ("gift_card_30011, credit_card_70012", {"gift_card_30011", "credit_card_70012"}),
        ("on 2026-01-02 at 10:30, 20px, 3rd, 500ms", set()),
        ("1234 and 12345", {"12345"}),
        ("hello-world, kettle", set()),
    ],
)
def test_identifiers_are_words_with_a_digit(text: str, found: set[str]) -> None:
    assert identifiers(text) == found


def test_a_value_is_an_identifier_only_whole() -> None:
    assert identifier("#W5512") == "w5512"
    assert identifier(9012345) == "9012345"
    assert identifier("order W5512") == ""
    assert identifier(True) == ""
    assert identifier(None) == ""


def test_kinds() -> None:
    assert kind_of("credit_card_70011") == kind_of("credit_card_99") == "credit_card"
    assert kind_of("nq1u5r") == kind_of("ab2c3d")
    assert kind_of("12345") != kind_of("123456")


def test_names_of_fields() -> None:
    assert names_a_thing("order_id")
    assert names_a_thing("id")
    assert not names_a_thing("paid")


def test_figures_and_amounts() -> None:
    assert figures("1,234.50 and 7, not v2 or 3x") == [1234.5, 7]
    assert amounts("$ 12.50, 13 and €4") == [12.5, 4]
    assert figures("9" * 400) == []


def test_plain_words_are_held_whole() -> None:
    assert holds(plain("My Gift_Card, please"), "gift card")
    assert not holds("2012", "12")


@pytest.mark.parametrize("yes", ["Yes.", "please go ahead", "I confirm", "That works for me"])
def test_consent(yes: str) -> None:
    assert consents(yes)


@pytest.mark.parametrize("no", ["Which one?", "I would like the second.", "no, thanks"])
def test_no_consent(no: str) -> None:
    assert not consents(no)


def test_sentences_lose_their_bullets() -> None:
    assert list(sentences("- One thing.\n* Two? Three")) == ["One thing.", "Two?", "Three"]


@pytest.mark.parametrize("text", ["-" * 200_000, "a" * 200_000, "ab-" * 70_000, "$" * 200_000])
def test_long_texts_without_identifiers_are_read_in_good_time(text: str) -> None:
    began = process_time()
    assert identifiers(text) == set()
    assert figures(text) == amounts(text) == []
    assert not consents(text)
    assert process_time() - began < 5


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    identifiers(text)
    figures(text)
    amounts(text)
    list(sentences(text))
