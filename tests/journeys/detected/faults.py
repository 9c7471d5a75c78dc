"""Every fault of the lab, by the detector that must see it, with a clean run beside it.

Each is made by running it: a tool that cuts its reply, a disk that is full, a model that says the
wrong thing. The clean run differs in as little as can be.
"""

import json
from dataclasses import dataclass, replace

from rerail.testing.replies import Reply, after, broken, content, document, head, in_turn, text
from rerail.trace.finding import Category
from tests.journeys.detected.lab import RULE, Run, call, raw_call, say, tool


@dataclass(frozen=True)
class Fault:
    """A fault: the detector that must speak, whose fault it is, the run that has it, a clean one.

    `besides` are detectors that may rightly speak of the same fault.
    """

    detector: str
    category: Category
    made: Run
    clean: Run
    besides: tuple[str, ...] = ()


def _json(value: object) -> Reply:
    return document(value)


ORDER = {
    "order_id": "W5512",
    "customer_id": "C4471",
    "status": "pending",
    "total": 120.5,
    "items": [
        {"name": "Kettle", "item_id": "K90121", "price": 40.5},
        {"name": "Lamp", "item_id": "L70113", "price": 80.0},
    ],
}
CARDS = {
    "customer_id": "C4471",
    "payment": {
        "credit_card_70011": {"source": "credit card", "last_four": "7447"},
        "credit_card_70012": {"source": "credit card", "last_four": "1907"},
    },
}
DONE = say("That is all there is to say.")
SEEN = say("I have looked at it: the order is pending. What would you like?")
LIST = say("I will cancel order W5512 as you asked. Please confirm (yes).")
CANCEL = call("cancel_order", order_id="W5512")
LOOK = call("get_order", order_id="W5512")
TOOLS = {
    "get_order": _json(ORDER),
    "get_customer": _json(CARDS),
    "cancel_order": _json({"status": "cancelled"}),
}
ASKED = ("Please look at order W5512.", "Cancel it, please.", "Yes, go ahead.", "Thank you.")
APPROVED = Run(model=[LOOK, SEEN, LIST, CANCEL, DONE, DONE], tools=TOOLS, users=ASKED, system=RULE)
READ = Run(model=[LOOK, DONE], tools=TOOLS, users=("Look at order W5512.",))


def _tools(**changed: Reply) -> dict[str, Reply]:
    return {**TOOLS, **changed}


def _answers(name: str, fault: Reply, well: Reply, *, users: str = "Do it.") -> tuple[Run, Run]:
    """A run whose one tool answers wrongly, and the same with a good answer."""
    made = Run(model=[call(name, name="kettle"), DONE], tools={name: fault}, users=(users,))
    return made, replace(made, tools={name: well})


def _said(*model: Reply, clean: tuple[Reply, ...], base: Run = APPROVED) -> tuple[Run, Run]:
    """A run in which the model says the wrong thing, and one in which it does not."""
    return replace(base, model=model), replace(base, model=clean)


def _of_models() -> list[Fault]:
    plain = Run(model=[say("Here is the whole answer.")])
    limited = document({"error": {"message": "Rate limit reached"}}, status=429)
    cut = say("Here is", reason="length")
    return [
        Fault("reply-cut", "runtime", replace(plain, model=[cut]), plain),
        Fault(
            "reply-filtered",
            "runtime",
            replace(plain, model=[say("", reason="content_filter")]),
            plain,
        ),
        Fault("rate-limited", "runtime", replace(plain, model=[limited]), plain),
        Fault(
            "key-refused",
            "runtime",
            replace(plain, model=[document({"error": "invalid api key"}, status=401)]),
            plain,
        ),
        Fault(
            "model-failed",
            "runtime",
            replace(plain, model=[document({"error": "overturned"}, status=500)]),
            plain,
        ),
        Fault(
            "broken-model-reply",
            "runtime",
            replace(plain, model=[broken(_half(b'{"choices": ['), "cut")]),
            plain,
            ("model-failed",),
        ),
    ]


def _half(body: bytes) -> bytes:
    return head(200, [("Content-Type", "application/json"), ("Content-Length", "500")]) + body


def _of_calls() -> list[Fault]:
    find = tool("find_item", "name", name="string", count="integer")
    offered = replace(READ, offered=[find], model=[call("find_item", name="kettle"), DONE])
    offered = replace(offered, tools={"find_item": _json({"found": 3})})
    twice = _json({"error": "there is no shelf of that name"})
    search = Run(
        model=[call("find_item", name="kettle"), call("find_item", name="lamp"), DONE],
        tools={"find_item": in_turn(twice, _json({"found": 1}))},
    )
    search = replace(search, tools={"find_item": in_turn(text("Error: bad shelf"), text("found"))})
    failing = {"find_item": text("Error: bad shelf")}
    return [
        Fault("unanswered-call", "runtime", replace(READ, drops=["get_order"]), READ),
        Fault(
            "unreadable-arguments",
            "runtime",
            replace(READ, model=[raw_call("get_order", '{"order_id": "W55'), DONE]),
            READ,
            ("tool-error",),
        ),
        Fault(
            "broken-schema",
            "agent",
            replace(offered, model=[call("find_item", count="many"), DONE]),
            offered,
        ),
        Fault(
            "error-repeated",
            "agent",
            replace(search, model=[call("find_item", name="kettle")] * 2 + [DONE], tools=failing),
            search,
        ),
        Fault(
            "cut-off",
            "runtime",
            replace(READ, turns=1, imported=True),
            replace(READ, imported=True),
            ("limit-reached",),
        ),
        Fault(
            "limit-reached",
            "runtime",
            replace(READ, turns=1, imported=True),
            replace(READ, imported=True),
            ("cut-off",),
        ),
    ]


def _of_tools() -> list[Fault]:
    page = json.dumps({"name": "kettle", "pages": ["one", "two"]}).encode()
    cut = content(page[:30], kind="application/json")
    odd = content(b'{"name": kettle, "pages": ["one", "two"], "more": 1}', kind="application/json")
    well = content(page, kind="application/json")
    refused = document({"message": "token expired"}, status=401)
    inside = _json({"error": {"message": "the index is being rebuilt"}, "name": "kettle"})
    slow = after(2, well)
    timed_out, quick = _answers("get_page", slow, well)
    gone, there = _answers("get_page", well, well)
    writes = Run(
        model=[call("send_note", to="ada", text="hello"), DONE],
        tools={"send_note": _json({"sent": True})},
    )
    return [
        Fault("truncated-reply", "tool", *_answers("get_page", cut, well)),
        Fault("malformed-reply", "tool", *_answers("get_page", odd, well)),
        Fault("hidden-error", "tool", *_answers("get_page", inside, well)),
        Fault(
            "tool-timed-out",
            "tool",
            replace(timed_out, patience=0.3),
            quick,
            ("broken-transfer",),
        ),
        Fault(
            "broken-transfer",
            "tool",
            *_answers("get_page", broken(_half(page), "cut"), well),
            ("tool-error",),
        ),
        Fault(
            "unknown-outcome",
            "tool",
            replace(writes, tools={"send_note": document({"message": "gateway"}, status=504)}),
            writes,
            ("tool-timed-out",),
        ),
        Fault(
            "wrong-answer",
            "tool",
            replace(READ, tools=_tools(get_order=_json({**ORDER, "order_id": "W9981"}))),
            READ,
        ),
        Fault("credential-refused", "runtime", *_answers("get_page", refused, well)),
        Fault(
            "turned-away",
            "runtime",
            *_answers("get_page", text("slow down", status=429), well),
        ),
        Fault("origin-unreached", "runtime", replace(gone, gone=["get_page"]), there),
    ]


def _of_the_machine() -> list[Fault]:
    saves = Run(model=[call("save_file", path="note.txt", text="hello"), DONE])
    works = Run(model=[call("run_worker", code="print(1)"), DONE])
    killed = "import os; os.kill(os.getpid(), 9)"
    return [
        Fault(
            "machine-trouble",
            "runtime",
            replace(saves, model=[call("save_file", path="/dev/full", text="hello"), DONE]),
            saves,
        ),
        Fault(
            "process-killed",
            "runtime",
            replace(works, model=[call("run_worker", code=killed), DONE]),
            works,
        ),
    ]


def _of_tasks() -> list[Fault]:
    unknown = _tools(get_order=text("Error: order not found"))
    asks = say("Which of the two orders do you mean, and what should be done with it?")
    return [
        Fault("unknown-input", "task", replace(READ, tools=unknown), READ),
        Fault("open-question", "task", replace(READ, model=[LOOK, asks]), READ),
    ]


def _of_checks() -> list[Fault]:
    check, edit = call("run_tests", suite="unit"), call("find_file", name="a.py")
    passed, failed = text("12 passed"), text("1 failed, 11 passed")
    runs = Run(model=[check, DONE], tools={"run_tests": passed, "find_file": text("a.py")})
    twice = replace(runs, model=[check, edit, check, DONE])
    fixed = say("The fault is fixed and all tests pass.")
    broke = text("Error: 1 failed, 11 passed")
    return [
        Fault(
            "nothing-checked",
            "check",
            replace(runs, tools={"run_tests": text("collected 0 items")}),
            runs,
        ),
        Fault(
            "unstable-check",
            "check",
            replace(twice, tools={**runs.tools, "run_tests": in_turn(passed, failed)}),
            twice,
        ),
        Fault(
            "false-success",
            "agent",
            replace(runs, model=[check, fixed], tools={"run_tests": broke}),
            replace(runs, model=[check, fixed]),
            ("tool-error",),
        ),
    ]


def _of_approvals() -> list[Fault]:
    no_yes = replace(APPROVED, users=(*ASKED[:2], "I wonder how long that takes.", "Thank you."))
    other = say("I will cancel order W7001 as you asked. Please confirm (yes).")
    rule = f"{RULE} If you call a tool, you must not respond to the user at the same time."
    ruled = replace(APPROVED, system=rule)
    at_once = call("cancel_order", "I am cancelling W5512 now.", order_id="W5512")
    announced = [LOOK, SEEN, LIST, at_once, DONE]
    vague = say("Shall I see to it now? Please confirm.")
    pay, paid = say("I will refund W5512. Please confirm (yes)."), _json({"refunded": True})
    refund = Run(
        model=[
            LOOK,
            SEEN,
            pay,
            call("refund_order", order_id="W5512", amount=40.5),
            call("refund_order", order_id="W5512", amount=20.5),
            DONE,
        ],
        tools=_tools(refund_order=in_turn(text("Error: too much, refunds are 20 at most"), paid)),
        users=ASKED,
        system=RULE,
    )
    asks_again = say("That was refused. I would refund W5512 with 20.5. Please confirm (yes).")
    again = replace(
        refund,
        model=[*refund.model[:4], asks_again, refund.model[4], DONE],
        users=(*ASKED[:3], "Yes, do."),
    )
    return [
        Fault("unapproved-write", "boundary", no_yes, APPROVED),
        Fault("altered-after-refusal", "boundary", refund, again, ("tool-error",)),
        Fault(
            "announced-write",
            "agent",
            replace(ruled, model=announced),
            ruled,
        ),
        Fault(
            "approved-otherwise",
            "boundary",
            *_said(LOOK, SEEN, other, CANCEL, DONE, clean=tuple(APPROVED.model)),
            ("unlisted-write",),
        ),
        Fault(
            "unlisted-write",
            "boundary",
            *_said(LOOK, SEEN, vague, CANCEL, DONE, clean=tuple(APPROVED.model)),
        ),
    ]


def _of_writes() -> list[Fault]:
    customer = call("get_customer", customer_id="C4471")
    charge = call("charge_card", customer_id="C4471", card_id="credit_card_70011")
    which = say("I will charge the card ending in 7447. Please confirm (yes).")
    unsaid = say("I will charge customer C4471. Please confirm (yes).")
    charged = replace(
        APPROVED,
        model=[customer, which, charge, DONE],
        tools=_tools(charge_card=_json({"charged": True})),
        users=("Charge customer C4471.", "Yes, please proceed."),
    )
    ticket = {"ticket_id": "T1841", "customer_id": "C4471", "text": "The kettle drips."}
    file_it = call("file_ticket", ticket_id="T1841", customer_id="C4471")
    wrongly = call("file_ticket", ticket_id="T1841", customer_id="C9002")
    files = Run(
        model=[call("get_ticket", ticket_id="T1841"), file_it, DONE],
        tools={"get_ticket": _json(ticket), "file_ticket": _json({"filed": True})},
        users=("File ticket T1841 of customer C4471, and look at C9002.",),
    )
    two = [{"customer_id": "C4471", "name": "Ada"}, {"customer_id": "C9002", "name": "Bob"}]
    found = {**files.tools, "find_customer": _json(two)}
    sought = replace(
        files,
        model=[call("find_customer", name="Ada"), call("file_ticket", customer_id="C4471"), DONE],
        tools=found,
    )
    another = [sought.model[0], call("file_ticket", customer_id="C9002"), DONE]
    limit = "An order holds at most two gift cards."
    cards = [f"gift_card_{number}" for number in (30011, 30012, 30013)]
    gifts = Run(
        model=[call("book_order", cards=cards[:2]), DONE],
        tools={"book_order": _json({"booked": True})},
        users=(f"Order with {', '.join(cards)}.",),
        system=limit,
    )
    only = "An order can only be returned if its status is 'delivered'."
    delivered = _tools(
        get_order=_json({**ORDER, "status": "delivered", "wrap": "no"}),
        return_order=_json({"done": True}),
    )
    returns = Run(
        model=[LOOK, call("return_order", order_id="W5512"), DONE],
        tools=delivered,
        users=("Return order W5512.",),
        system=only,
    )
    wrapped = "Delivered orders can be returned only if the gift wrap is kept."
    change = call("modify_order", order_id="W5512", lamp="L70113")
    moves = Run(
        model=[LOOK, call("move_order", order_id="W5512"), change, DONE],
        tools=_tools(modify_order=_json({"modified": True}), move_order=_json({"moved": True})),
        users=("Move order W5512, and change its lamp to L70113.",),
    )
    closed = _tools(
        modify_order=_json({"modified": True}),
        move_order=text("Error: an order that was modified cannot be moved"),
    )
    return [
        Fault(
            "unspoken-choice",
            "agent",
            replace(charged, model=[customer, unsaid, charge, DONE]),
            charged,
        ),
        Fault("another-than-sought", "agent", replace(sought, model=another), sought),
        Fault("wrong-owner", "agent", replace(files, model=[files.model[0], wrongly, DONE]), files),
        Fault(
            "over-limit",
            "agent",
            replace(gifts, model=[call("book_order", cards=cards), DONE]),
            gifts,
        ),
        Fault("unmet-condition", "agent", replace(returns, system=wrapped), returns),
        Fault(
            "forbidden-state", "agent", replace(returns, tools={**delivered, **_pending()}), returns
        ),
        Fault(
            "closed-door",
            "agent",
            replace(moves, model=[LOOK, change, moves.model[1], DONE], tools=closed),
            moves,
            ("tool-error",),
        ),
        Fault(
            "repeated-write",
            "agent",
            replace(files, model=[files.model[0], file_it, file_it, DONE]),
            files,
            ("request-twice",),
        ),
        Fault(
            "request-twice",
            "agent",
            replace(files, model=[files.model[0], file_it, file_it, DONE]),
            files,
            ("repeated-write",),
        ),
        Fault(
            "invented-value",
            "agent",
            replace(files, model=[files.model[0], call("file_ticket", ticket_id="T7777"), DONE]),
            files,
        ),
        Fault(
            "refused-figure",
            "target",
            replace(gifts, tools={"book_order": text("Error: the amount does not add up to 90")}),
            gifts,
            ("tool-error",),
        ),
    ]


def _pending() -> dict[str, Reply]:
    return {"get_order": _json(ORDER)}


def _of_words() -> list[Fault]:
    variants = {
        str(number): {"item_id": str(number), "available": number % 3 != 0, "price": number / 1000}
        for number in range(50011, 50017)
    }
    shelf = _json({"name": "Kettle", "variants": variants})
    counted = sum(bool(one["available"]) for one in variants.values())
    kettles, miscounted = (
        call("list_variants", name="kettle"),
        say("There are 6 available kettles."),
    )
    counts = Run(
        model=[
            call("list_variants", name="kettle"),
            say(f"There are {counted} available kettles."),
        ],
        tools={"list_variants": shelf},
    )
    tracked = _tools(get_order=_json({**ORDER, "tracking_id": "TR80017"}))
    gone = next(number for number, one in variants.items() if not one["available"])
    there = next(number for number, one in variants.items() if one["available"])
    takes = Run(
        model=[call("list_variants", name="kettle"), call("order_item", item_id=there), DONE],
        tools={"list_variants": shelf, "order_item": _json({"ordered": True})},
    )
    part = say("The Lamp of order W5512 costs 80. Shall I cancel it? Please confirm (yes).")
    whole = say("Order W5512 has a Kettle and a Lamp. I will cancel all of it. Confirm (yes).")
    drop = ("Drop the lamp of W5512.", "Yes.")
    sums = Run(
        model=[call("calculate", expression="40.5 + 80"), say("That is $120.50 altogether.")],
        tools={"calculate": text("120.5")},
    )
    listed = _json(["handbook.pdf", "prices.csv"])
    reads = Run(
        model=[
            call("list_documents", folder="docs"),
            call("read_document", name="handbook.pdf"),
            say("According to handbook.pdf a kettle is returned within 30 days."),
        ],
        tools={"list_documents": listed, "read_document": text("Returns: within 30 days.")},
    )
    number = say("The tracking number for the kettle you bought is TR80017.")
    other = say("The tracking number for the teapot you bought is TR80017.")
    untracked = say("Order W5512 does not have a tracking number.")
    unwrapped = say("Order W5512 does not have a gift wrap.")
    return [
        Fault(
            "denied-value",
            "agent",
            replace(READ, tools=tracked, model=[LOOK, untracked]),
            replace(READ, tools=tracked, model=[LOOK, unwrapped]),
        ),
        Fault(
            "recount",
            "agent",
            replace(counts, model=[kettles, miscounted]),
            counts,
        ),
        Fault(
            "misplaced-value",
            "agent",
            replace(READ, tools=tracked, model=[LOOK, other]),
            replace(READ, tools=tracked, model=[LOOK, number]),
        ),
        Fault(
            "unavailable-choice",
            "agent",
            replace(takes, model=[takes.model[0], call("order_item", item_id=gone), DONE]),
            takes,
        ),
        Fault(
            "part-for-whole",
            "agent",
            replace(APPROVED, model=[LOOK, part, CANCEL, DONE], users=drop),
            replace(APPROVED, model=[LOOK, whole, CANCEL, DONE], users=("Cancel W5512.", "Yes.")),
        ),
        Fault(
            "unused-result",
            "agent",
            replace(sums, model=[sums.model[0], say("That is $118.50 altogether.")]),
            sums,
        ),
        Fault(
            "wrong-sum",
            "agent",
            replace(sums, model=[say("A kettle and a lamp are $40.50 + $80 = $131.")]),
            replace(sums, model=[say("A kettle and a lamp are $40.50 + $80 = $120.50.")]),
        ),
        Fault(
            "never-fetched",
            "agent",
            replace(reads, model=[reads.model[0], reads.model[2]]),
            reads,
        ),
    ]


def _of_context() -> list[Fault]:
    """What is shown and never blamed."""
    errs = _tools(get_order=text("Error: the desk is busy"))
    talks = replace(READ, model=[LOOK, SEEN, DONE], users=("Look at order W5512.", "Now wait."))
    hands = call("transfer_to_human_agents", why="I cannot do this")
    away = replace(READ, model=[hands, DONE], tools={"transfer_to_human_agents": text("done")})
    update = call("update_order", order_id="W5512", lamp="red")
    updates = Run(
        model=[update, DONE],
        tools={"update_order": _json({"lamp": "red"})},
        users=("Make the lamp of W5512 red.",),
    )
    unknown = call("cancel_order", order_id="W9999")
    refused = _tools(cancel_order=text("Error: that is no order of ours"))
    cancels = replace(READ, model=[LOOK, CANCEL, DONE])
    joins = Run(
        model=[
            LOOK,
            call("get_ticket", name="T1841"),
            call("link_order", a="W5512", b="T1841"),
            DONE,
        ],
        tools=_tools(get_ticket=_json({"ticket": "T1841"}), link_order=text("linked")),
        users=("Link the order to the ticket.",),
    )
    known = replace(joins, users=("Link order W5512 to ticket T1841.",))
    return [
        Fault("tool-error", "tool", replace(READ, tools=errs), READ),
        Fault("empty-answer", "tool", replace(READ, tools=_tools(get_order=text("[]"))), READ),
        Fault("repeated-call", "agent", replace(READ, model=[LOOK, LOOK, DONE]), READ),
        Fault("never-together", "agent", joins, known),
        Fault("handed-over", "agent", away, READ),
        Fault(
            "invented-and-refused",
            "agent",
            replace(READ, model=[unknown, DONE], tools=refused),
            cancels,
        ),
        Fault(
            "accepted-otherwise",
            "target",
            replace(updates, tools={"update_order": _json({"lamp": "blue"})}),
            updates,
        ),
        Fault(
            "changed-mind",
            "task",
            replace(talks, users=("Look at order W5512.", "Actually, leave it.")),
            talks,
        ),
    ]


SHOWN = _of_context()

FAULTS = [
    *_of_models(),
    *_of_calls(),
    *_of_tools(),
    *_of_the_machine(),
    *_of_tasks(),
    *_of_checks(),
    *_of_approvals(),
    *_of_writes(),
    *_of_words(),
]
