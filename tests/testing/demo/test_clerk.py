import json
import random
from collections import Counter

from rerail.testing.demo.clerk import Clerk
from rerail.testing.demo.desk import CUSTOMERS, RIGHT, TICKETS
from rerail.testing.model import Asked, Message, Tool, ToolCall

TOOLS = tuple(Tool(name, "", {}) for name in ("search_tickets", "get_customer", "file_ticket"))
TASK = Message("user", "File ticket 1841 under the right customer.")


def history(rule: str) -> tuple[Message, ...]:
    search, look = ToolCall("search_tickets", {}, "c1"), ToolCall("get_customer", {}, "c2")
    return (
        TASK,
        Message("assistant", "", (search,)),
        Message("tool", json.dumps(TICKETS[:1]), (), "c1"),
        Message("assistant", "", (look,)),
        Message("tool", json.dumps(CUSTOMERS[:2]), (), "c2"),
        Message("user", rule),
    )


def ask(*messages: Message, seed: int = 1) -> Asked:
    return Asked("chat", "m", messages, tools=TOOLS, chance=random.Random(seed))


def choices(rule: str) -> Counter[str]:
    replies = [Clerk()(ask(*history(rule), seed=seed)) for seed in range(200)]
    return Counter(reply.tool_calls[0].arguments["customer_id"] for reply in replies)


def test_the_first_step_is_a_search_for_the_number() -> None:
    (call,) = Clerk()(ask(TASK)).tool_calls
    assert call.name == "search_tickets"
    assert "1841" in call.arguments["query"]


def test_now_and_then_the_wrong_customer_is_taken() -> None:
    taken = choices("File it now.")
    assert taken[RIGHT] > taken["CUST-4417"] > 40


def test_told_to_look_at_the_domain_it_never_is() -> None:
    assert choices("File it under the customer whose mail domain is the sender's.") == {RIGHT: 200}


def test_the_report_names_the_customer_and_its_wording_varies() -> None:
    filed = ToolCall("file_ticket", {}, "c3")
    done = json.dumps({"filed_under": RIGHT, "name": "Acme Robotics"})
    end = (
        *history("Now."),
        Message("assistant", "", (filed,)),
        Message("tool", done, (), "c3"),
        Message("user", "Write."),
    )
    reports = {Clerk()(ask(*end, seed=seed)).text for seed in range(20)}
    assert all("Acme Robotics (CUST-4471)" in report for report in reports)
    assert len(reports) > 3


def test_another_task_is_improvised() -> None:
    assert Clerk()(Asked("chat", "m", (Message("user", "Hello"),))).text


def test_it_slips_where_it_is_made_to() -> None:
    certain = Clerk()
    certain.slips = True
    rule = "File it now."
    chosen = {
        certain(ask(*history(rule), seed=seed)).tool_calls[0].arguments["customer_id"]
        for seed in range(20)
    }
    assert RIGHT not in chosen
