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
Run = tuple[Message, ...]


def tool(name: str, answer: Any, /, **arguments: Any) -> Run:
    text = answer if isinstance(answer, str) else json.dumps(answer)
    return calls(name, f"k{name}{arguments}", **arguments), told(text, f"k{name}{arguments}")


LOOK = tool("get_order", ORDER, order_id="W5512")
CARD = tool("get_cards", CARDS, customer="C4471")
CANCEL = tool("cancel_order", "done", order_id="W5512")
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
            "denied-record",
            (*LOOK, says("Order W5512 has no tracking.")),
            (*LOOK, says("Order W5512 has no gift.")),
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
            "wrong-total",
            (says("A kettle is $40, a lamp $80, in total $130."),),
            (says("A kettle is $40, a lamp $80, so two of each are in total $240."),),
        ),
        (
            "unknown-input",
            tool("get_order", "Error: not found", order_id="W9999"),
            tool("get_order", "Error: not found", order_id="W5512"),
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
            "carried-approval",
            (
                says("I cancel W5512. Confirm?"),
                YES,
                *CANCEL,
                *tool("cancel_order", "done", order_id="W8118"),
            ),
            (
                says("I cancel W5512 and W8118. Confirm?"),
                YES,
                *CANCEL,
                *tool("cancel_order", "done", order_id="W8118"),
            ),
        ),
        (
            "unlisted-write",
            (says("Shall I see to it?"), YES, *CANCEL),
            (*LOOK, says("Shall I cancel the Kettle?"), YES, *CANCEL),
        ),
        (
            "unreadable-arguments",
            tool("get", "x", text='": "'),
            tool("get", "x", text="{"),
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
