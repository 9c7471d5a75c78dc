"""A yes that was given holds for the change that it was given to, and for no other."""

from rerail.llm.view import Message
from rerail.trace.detect.agreement import agreed_before, asks_for_a_yes
from tests.trace.detect.stories import calls, reading, says, told, user

ASKED = says("I will cancel W5512. Do you confirm?")
HOW = (says("How shall I refund it?"), user("By card, please."))
CANCEL = calls("cancel_order", "a", order_id="W5512")
REFUSED = told("Error: no card", "a")


def agreed(*messages: Message) -> bool:
    read = reading(user("x"), *messages)
    return agreed_before(read, read.calls[-1])


def test_a_yes_holds_while_a_detail_is_asked_for() -> None:
    assert agreed(ASKED, user("Yes."), *HOW, CANCEL)
    assert agreed(ASKED, user("Yes."), *HOW, CANCEL, REFUSED, *HOW, CANCEL)


def test_it_holds_no_longer_than_to_the_change() -> None:
    assert not agreed(ASKED, user("Yes."), CANCEL, told("done", "a"), *HOW, CANCEL)


def test_it_is_for_what_was_proposed() -> None:
    assert not agreed(says("I will cancel W7001. Do you confirm?"), user("Yes."), *HOW, CANCEL)
    assert not agreed(says("W5512 is pending."), user("Yes."), *HOW, CANCEL)
    assert not agreed(ASKED, user("Sure, I am C4471."), *HOW, CANCEL)
    assert not agreed(ASKED, user("Not now."), *HOW, CANCEL)


def test_what_asks_for_a_yes() -> None:
    assert asks_for_a_yes("Shall I?")
    assert asks_for_a_yes("Would you like me to cancel it?")
    assert not asks_for_a_yes("Which of the two?")
