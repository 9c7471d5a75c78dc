"""The simulated model's part in the demo: it does the task, and now and then gets it wrong.

Like a real model it is random where that matters: its wording, and which customer it takes. It is
a policy of the simulated model and knows no server.
"""

import json
from typing import Any, Final

from rerail.testing.model import Asked, Reply, ToolCall, improvise

WRONG_IN_TEN: Final = 4
"""How often the wrong customer is taken; told the stricter rule, it never is."""


class Clerk:
    """The policy; `slips` says whether it will get it wrong this time, None leaves it to chance."""

    def __init__(self) -> None:
        self.slips: bool | None = None

    def __call__(self, asked: Asked) -> Reply:
        """Search, look the customer up, file, report; anything but this task is improvised."""
        offered = {tool.name for tool in asked.tools}
        if not {"search_tickets", "get_customer", "file_ticket"} <= offered:
            return improvise(asked)
        if filed := asked.results("file_ticket"):
            return Reply(_report(asked, filed[-1]))
        if found := asked.results("get_customer"):
            return _call("file_ticket", customer_id=self._choose(asked, json.loads(found[-1])))
        if tickets := asked.results("search_tickets"):
            return _call("get_customer", name=_ticket(tickets)["company"])
        number = "".join(filter(str.isdigit, asked.last.text))
        query = asked.chance.choice((number, f"ticket {number}", f"#{number}"))
        return _call("search_tickets", query=query)

    def _choose(self, asked: Asked, customers: list[dict[str, Any]]) -> str:
        domain = _ticket(asked.results("search_tickets"))["sender"].partition("@")[2]
        right = [entry["customer_id"] for entry in customers if entry["domain"] == domain]
        wrong = [entry["customer_id"] for entry in customers if entry["domain"] != domain]
        told = any("domain" in message.text for message in asked.messages if message.role == "user")
        slips = asked.chance.randrange(10) < WRONG_IN_TEN if self.slips is None else self.slips
        return str((wrong if slips and wrong and not told else right or wrong)[0])


def _ticket(results: list[str]) -> dict[str, Any]:
    ticket: dict[str, Any] = json.loads(results[-1])[0]
    return ticket


def _report(asked: Asked, filed: str) -> str:
    ticket, done = _ticket(asked.results("search_tickets")), json.loads(filed)
    problem = asked.chance.choice(("reports", "writes", "says", "complains"))
    verb = asked.chance.choice(("filed under", "now with", "assigned to", "booked under"))
    place = f"{done.get('name')} ({done.get('filed_under')})"
    closing = asked.chance.choice(("Nothing else to do.", "That is all.", "Done.", "Please check."))
    subject = f"{ticket['company']} {problem}: {ticket['subject'].lower()}."
    return f"{subject} Ticket {ticket['ticket']} is {verb} {place}. {closing}"


def _call(name: str, /, **arguments: str) -> Reply:
    return Reply(tool_calls=(ToolCall(name, arguments),))
