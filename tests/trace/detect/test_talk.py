import pytest

from rerail.trace.detect.talk import named
from tests.trace.detect.stories import calls, reading, says, told, user

AMONG = {
    "credit_card_10001": frozenset({"7447", "visa"}),
    "credit_card_10002": frozenset({"1907", "visa"}),
    "gift_card_10003": frozenset({"50"}),
}


@pytest.mark.parametrize(
    ("thing", "text"),
    [
        ("credit_card_10001", "use credit card 10001"),
        ("credit_card_10001", "the one that ends in 7447"),
        ("gift_card_10003", "my gift card"),
    ],
)
def test_a_thing_is_named(thing: str, text: str) -> None:
    assert named(thing, text, AMONG, AMONG[thing])


@pytest.mark.parametrize(
    ("thing", "text"),
    [
        ("credit_card_10001", "my credit card"),
        ("credit_card_10001", "the visa"),
        ("credit_card_10001", "the one that ends in 1907"),
        ("gift_card_10003", "my credit card"),
    ],
)
def test_a_thing_is_not_named(thing: str, text: str) -> None:
    assert not named(thing, text, AMONG, AMONG[thing])


def test_a_kind_is_named_by_its_last_word_where_no_other_has_it() -> None:
    among = {"credit_card_10001": frozenset[str](), "voucher_10002": frozenset[str]()}
    assert named("credit_card_10001", "put it on the card", among, frozenset())


def test_the_rule_that_wants_a_word_first() -> None:
    rule = "You must obtain explicit confirmation before any change."
    assert reading(user("x"), system=f"Be brief. {rule} Be kind.").talk.rule == rule
    assert reading(user("x"), system="Confirm nothing.").talk.rule == ""
    assert reading(user(rule)).talk.rule == ""


def test_an_approval_is_what_was_said_last() -> None:
    talk = reading(says("Shall I cancel W5512?"), user("Yes."), calls("get"), told("x")).talk
    approval = talk.approval(3)
    assert (approval.proposed, approval.replied, approval.reply) == (0, 1, "Yes.")
    assert approval.named == {"w": {"w5512"}}
    assert talk.approval(0).replied is None
