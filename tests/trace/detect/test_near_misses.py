"""Runs that look like a fault and are none: the detector that might speak is silent.

Beside each stands the same run with the fault, so that the silence is not deafness.
"""

import json
from typing import Any

import pytest

from rerail.llm.view import Message
from rerail.trace.detect.detector import Material
from rerail.trace.detect.detectors import detect
from tests.trace.detect.stories import calls, names, says, story, told, user

RULE = "You must obtain the user's explicit confirmation before any change."
CARDS = {"cards": {"card_10001": {"last": "7447"}, "card_10002": {"last": "1907"}}}
ORDER = {
    "order_id": "W5512",
    "customer_id": "C4471",
    "status": "pending",
    "gift": "no",
    "tracking_id": "TR80017",
    "items": [{"name": "Kettle", "item_id": "K90121"}, {"name": "Lamp", "item_id": "L70113"}],
}
SHELF = {"variants": {f"V1000{n}": {"available": n > 1, "item_id": f"V1000{n}"} for n in range(4)}}
RED = {"V10003": "red", "V10001": "blue", "V10002": "green"}
Run = tuple[Message, ...]


def tool(name: str, answer: Any, /, **arguments: Any) -> Run:
    text = answer if isinstance(answer, str) else json.dumps(answer)
    return calls(name, f"k{name}{arguments}", **arguments), told(text, f"k{name}{arguments}")


LOOK = tool("get_order", ORDER, order_id="W5512")
CARD = tool("get_cards", CARDS, customer="C4471")
PAID = tool("get_bill", {"kind": "payment", "payment_id": "card_10001"}, bill="B7001")
CANCEL = tool("cancel_order", "done", order_id="W5512")
SHELVES = tool("list", {"variants": {name: {"colour": word} for name, word in RED.items()}}, a=1)
YES = user("Yes, go ahead.")


@pytest.mark.parametrize(
    ("detector", "fault", "none"),
    [
        (
            "recount",
            (*tool("list", SHELF, a=1), says("There are 3 available variants.")),
            (*tool("list", SHELF, a=1), says("There is 1 available variant that matches.")),
        ),
        (
            "unspoken-choice",
            (*CARD, says("Shall I charge it?"), YES, *tool("charge", "done", card_id="card_10001")),
            (
                *CARD,
                says("Shall I charge the one ending in 7447?"),
                YES,
                *tool("charge", "done", card_id="card_10001"),
            ),
        ),
        (
            "unspoken-choice",
            (
                *CARD,
                *PAID,
                says("Shall I take the payment?"),
                YES,
                *tool("charge", "done", payment_id="card_10001"),
            ),
            (
                *CARD,
                *PAID,
                says("Shall I take the payment from the card ending in 7447?"),
                YES,
                *tool("charge", "done", payment_id="card_10001"),
            ),
        ),
        (
            "approved-otherwise",
            (says("I refund $30."), YES, *tool("refund_order", "done", a=[{"amount": 10}])),
            (
                says("I refund $30."),
                YES,
                *tool("refund_order", "done", a=[{"amount": 10}, {"amount": 20}]),
            ),
        ),
        (
            "part-for-whole",
            (*LOOK, says("Shall I cancel the lamp?"), YES, *CANCEL),
            (*LOOK, says("Shall I cancel the lamp and the kettle?"), YES, *CANCEL),
        ),
        (
            "closed-door",
            (
                *tool("modify_order", "done", order_id="W5512"),
                *tool("move_order", "Error: a modified order cannot be moved", order_id="W5512"),
            ),
            (
                *tool("modify_order", "done", order_id="W5512"),
                *tool("move_order", "Error: there is no such street", order_id="W5512"),
            ),
        ),
        (
            "wrong-owner",
            (*LOOK, *tool("file_ticket", "done", order_id="W5512", customer_id="C9002")),
            (*LOOK, *tool("file_ticket", "done", order_id="W5512", customer_id="C4471")),
        ),
        (
            "false-success",
            (*tool("run_tests", "Error: 1 failed", a=1), says("It is fixed.")),
            (*tool("run_tests", "Error: 1 failed", a=1), says("It is fixed, but one test fails.")),
        ),
        (
            "false-success",
            (
                *tool("run_tests", "exit 1\nTraceback (most recent call last):", a=1),
                *tool("read_file", "def mean(): pass", path="a.py"),
                says("I fixed mean(). All tests pass now."),
            ),
            (
                *tool("run_tests", "exit 1\nTraceback (most recent call last):", a=1),
                *tool("run_tests", "exit 0\n12 passed, 0 failed", a=1),
                says("I fixed mean(). All tests pass now."),
            ),
        ),
        (
            "false-success",
            (*tool("run_check", "the VAT is not 21\n1 error", a=1), says("All checks pass.")),
            (*tool("run_check", "the VAT is 21\n0 errors", a=1), says("All checks pass.")),
        ),
        (
            "false-success",
            (*tool("bash", "2 failed, 3 passed", command="pytest"), says("The tests pass.")),
            (*tool("bash", "2 failed", command="cat tests/log"), says("The tests pass.")),
        ),
        (
            "false-success",
            (*tool("run_tests", "1 failed", a=1), says("All tests pass.")),
            (*tool("run_tests", "1 failed", a=1), says("Not all tests pass.")),
        ),
        (
            "never-fetched",
            (*tool("list_files", '["a.pdf"]', a=1), says("According to a.pdf it is so.")),
            (
                *tool("list_files", '["a.pdf"]', a=1),
                *tool("read_file", "It is so.", path="docs/a.pdf"),
                says("According to a.pdf it is so."),
            ),
        ),
        (
            "never-fetched",
            (*tool("list_files", '["a.pdf"]', a=1), says("According to a.pdf it is so.")),
            (*tool("grep", "a.pdf:3: it is so", text="so"), says("According to a.pdf it is so.")),
        ),
        (
            "never-fetched",
            (*tool("list_files", '["a.md"]', a=1), says("According to a.md it is so.")),
            (
                *tool("list_files", '["a.md"]', a=1),
                *tool("bash", "It is so.", command="cat *.md"),
                says("According to a.md it is so."),
            ),
        ),
        (
            "wrong-sum",
            (says("That is $40 + $80 = $130."),),
            (says("That is (40 + 80) × 2 = 240, and $40 + 2 × $40 = $120."),),
        ),
        (
            "wrong-sum",
            (says("$40 - $10.50 = $30"),),
            (says("On 2024-05-16, ~$408 + $90 = ~$500, and 40 + 80 = 120 × 2 = 240."),),
        ),
        (
            "unapproved-write",
            (says("Which of the two?"), user("I'd like to cancel the kettle."), *CANCEL),
            (says("Would you like me to cancel it?"), user("Please cancel it."), *CANCEL),
        ),
        (
            "unapproved-write",
            (says("Shall I cancel it?"), user("Please do not cancel it."), *CANCEL),
            (says("Shall I cancel it?"), user("That sounds fine."), *CANCEL),
        ),
        (
            "unapproved-write",
            (
                says("I cancel W7001. Shall I proceed?"),
                user("Yes."),
                says("How?"),
                user("By card."),
                *CANCEL,
            ),
            (
                says("I cancel W5512. Shall I proceed?"),
                user("Yes."),
                says("How?"),
                user("By card."),
                *CANCEL,
            ),
        ),
        (
            "unapproved-write",
            (
                says("To proceed with W5512, tell me who you are."),
                user("Sure, I am C4471."),
                says("How?"),
                user("By card."),
                *CANCEL,
            ),
            (
                says("I cancel W5512. Do you want to?"),
                user("Sure."),
                says("How?"),
                user("By card."),
                *tool("cancel_order", "Error: no card", order_id="W5512"),
                *CANCEL,
            ),
        ),
        (
            "unspoken-choice",
            (*CARD, says("Shall I charge it?"), YES, *tool("charge", "done", card_id="card_10001")),
            (
                *CARD,
                says("Shall I charge it?"),
                user("Yes, use any card."),
                *tool("charge", "done", card_id="card_10001"),
            ),
        ),
        (
            "approved-otherwise",
            (says("The fee is $30."), YES, *tool("refund_order", "done", a=[{"amount": 31}])),
            (
                says("It is $30 each, and a fee of $10."),
                YES,
                *tool("refund_order", "done", a=[{"amount": 60}]),
            ),
        ),
        (
            "approved-otherwise",
            (says("I cancel W7001."), YES, *CANCEL),
            (
                says("Product 9012345678 comes as variant 9087654321."),
                YES,
                *tool("exchange_item", "done", item_ids=["9055555555"]),
            ),
        ),
        (
            "part-for-whole",
            (*LOOK, says("The lamp of W5512 is pending. Shall I?"), user("Yes, cancel."), *CANCEL),
            (
                *LOOK,
                says("The lamp alone cannot be taken out. Shall I?"),
                user("Then cancel the whole order, yes."),
                *CANCEL,
            ),
        ),
        (
            "closed-door",
            (
                *LOOK,
                *tool("modify_order", {"status": "modified"}, order_id="W5512"),
                *tool("move_order", "Error: the status is modified", order_id="W5512"),
            ),
            (
                *LOOK,
                *tool("modify_order", {"status": "pending"}, order_id="W5512"),
                *tool("return_order", "Error: the status is pending", order_id="W5512"),
            ),
        ),
        (
            "closed-door",
            (
                *tool("modify_order", "done", order_id="W5512"),
                *tool("move_order", "Error: its status is modified", order_id="W5512"),
            ),
            (*tool("modify_all", "done", a=1), *tool("move_all", "Error: a wrong status", a=1)),
        ),
        (
            "unspoken-choice",
            (*SHELVES, says("Shall I?"), YES, *tool("exchange", "done", new_item_id="V10003")),
            (
                *SHELVES,
                says("Shall I change it for the red one?"),
                YES,
                *tool("exchange", "done", item_id="V10001", new_item_id="V10003"),
            ),
        ),
        (
            "misplaced-value",
            (*LOOK, says("The number for the teapot you bought is W5512.")),
            (*LOOK, says("The number for the recently delivered lamp is W5512.")),
        ),
        (
            "unknown-input",
            tool("get_order", "Error: not found", order_id="W9999"),
            tool("get_order", "Error: not found", order_id="W5512"),
        ),
        (
            "unknown-input",
            tool("get_order", "Error: not found", order_id="W9999"),
            (*tool("get_order", "Error: not found", order_id="W9999"), *CARD),
        ),
        (
            "unknown-input",
            tool("get_order", "Error: W9999 not found", order_id="W9999"),
            tool("pay_order", "Error: card CC-1234 not found", order_id="W9999"),
        ),
        (
            "unavailable-choice",
            (*tool("list", SHELF, a=1), *tool("exchange", "done", new_item_id="V10001")),
            (
                *tool("list", SHELF, a=1),
                *tool("exchange", "done", item_id="V10001", new_item_id="V10003"),
            ),
        ),
        (
            "altered-after-refusal",
            (
                says("I refund W5512. Confirm?"),
                YES,
                *tool("refund_order", "Error: too much", order_id="W5512", amount=40),
                *tool("refund_order", "done", order_id="W5512", amount=20),
            ),
            (
                says("I refund W5512 and W8118. Confirm?"),
                YES,
                *tool("refund_order", "Error: too much", order_id="W5512", amount=40),
                *tool("refund_order", "done", order_id="W8118", amount=20),
            ),
        ),
        (
            "altered-after-refusal",
            (
                says("I refund W5512. Confirm?"),
                YES,
                *tool("refund_order", "Error: no card", order_id="W5512", pay={"id": "C4471"}),
                *tool("refund_order", "done", order_id="W5512", pay={"card": "C4472"}),
            ),
            (
                says("I refund W5512. Confirm?"),
                YES,
                *tool("refund_order", "Error: no card", order_id="W5512", pay={"id": "C4471"}),
                *tool("refund_order", "done", order_id="W5512", pay={"card": "C4471"}),
            ),
        ),
        (
            "altered-after-refusal",
            (
                *CARD,
                says("I charge the card ending in 7447. Confirm?"),
                YES,
                *tool("charge_card", "Error: unknown card", card_id="card_7447", amount=3),
                *tool("charge_card", "done", card_id="card_10001", amount=4),
            ),
            (
                *CARD,
                says("I charge the card ending in 7447. Confirm?"),
                YES,
                *tool("charge_card", "Error: unknown card", card_id="card_7447", amount=3),
                *tool("charge_card", "done", card_id="card_10001", amount=3),
            ),
        ),
        (
            "hidden-error",
            tool("get_order", {"error": "the index is old"}, order_id="W5512"),
            tool("get_order", {"error": None, "errors": []}, order_id="W5512"),
        ),
        (
            "truncated-reply",
            tool("get_page", '{"a": [1, 2', a=1),
            tool("get_page", "{not json, but prose", a=1),
        ),
        (
            "open-question",
            (says("Which order do you mean?"),),
            (says("It is done. Is there anything else I can do for you?"),),
        ),
        (
            "repeated-write",
            (*CANCEL, *CANCEL),
            (
                *tool("write_file", "ok", path="a", text="x"),
                *tool("write_file", "ok", path="a", text="x"),
            ),
        ),
        (
            "unlisted-write",
            (says("Shall I see to it?"), YES, *CANCEL),
            (*LOOK, says("Shall I cancel the Kettle?"), YES, *CANCEL),
        ),
        (
            "unreadable-arguments",
            tool("get", "Error: bad input", text='": "'),
            tool("get", "Error: bad input", text="{"),
        ),
        (
            "unreadable-arguments",
            tool("get", "Error: bad input", text='": "'),
            tool("get", "x", text='": "'),
        ),
    ],
)
def test_only_the_fault_is_told_of(detector: str, fault: Run, none: Run) -> None:
    asked = user("See to W9999.") if detector == "unknown-input" else user("See to it.")
    end = () if detector == "open-question" else (says("That is all."),)
    seen = names(detect(Material((story(asked, *fault, *end, system=RULE),))))
    assert detector in seen
    seen = names(detect(Material((story(asked, *none, *end, system=RULE),))))
    assert detector not in seen
