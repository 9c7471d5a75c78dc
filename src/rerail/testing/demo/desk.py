"""The demo's tool servers: a ticket desk and a customer register, two names on one HTTPS origin.

Two customers have nearly the same name, and only the sender's mail domain tells them apart: the
mistake that the demo is about is there to be made.
"""

import difflib
import json
import re
import ssl
from typing import Any, Final
from urllib.parse import parse_qs

from rerail.testing.ca import Leaf
from rerail.testing.connection import Connection, Request
from rerail.testing.origin import Origin
from rerail.testing.replies import document, serve

TICKET: Final = "1841"
RIGHT: Final = "CUST-4471"
"""The customer that ticket 1841 came from."""
WRONG: Final = "CUST-4417"
"""The one with nearly its name."""

HOSTS: Final = ("tickets.example.com", "crm.example.com")

TICKETS: Final[list[dict[str, Any]]] = [
    {
        "ticket": "1841",
        "company": "Acme Robotics",
        "sender": "jordan.lee@acme-robotics.example",
        "subject": "Arm 3 stops after an hour",
    },
    {
        "ticket": "1842",
        "company": "Borealis Foods",
        "sender": "ines@borealis.example",
        "subject": "Invoice sent twice",
    },
]
CUSTOMERS: Final[list[dict[str, Any]]] = [
    {"customer_id": WRONG, "name": "Acme Robots", "domain": "acme-robots.example"},
    {"customer_id": RIGHT, "name": "Acme Robotics", "domain": "acme-robotics.example"},
    {"customer_id": "CUST-2093", "name": "Borealis Foods", "domain": "borealis.example"},
]


class Desk:
    """Both servers; `filed` is where each ticket was filed last."""

    def __init__(self, tls: Leaf | ssl.SSLContext | None = None) -> None:
        self.filed: dict[str, str] = {}
        self.origin = Origin(serve(self._reply), tls=tls)

    def _reply(self, connection: Connection, request: Request) -> None:
        status, value = self._decide(request)
        document(value, status=status)(connection, request)

    def _decide(self, request: Request) -> tuple[int, Any]:
        asked = {key: values[0] for key, values in parse_qs(request.query).items()}
        if request.method == "POST":
            return self._file(request)
        if request.path == "/tickets":
            return 200, search_tickets(asked.get("query", ""))
        if request.path == "/customers":
            return 200, find_customers(asked.get("name", ""))
        return 404, {"error": f"there is no {request.path}"}

    def _file(self, request: Request) -> tuple[int, Any]:
        place = re.fullmatch(r"/tickets/(\w+)/customer", request.path)
        if place is None:
            return 404, {"error": f"there is no {request.path}"}
        try:
            customer_id = json.loads(request.read())["customer_id"]
        except (ValueError, KeyError, TypeError):
            return 400, {"error": "the body names no customer_id"}
        ticket = place[1]
        if all(entry["ticket"] != ticket for entry in TICKETS):
            return 404, {"error": f"there is no ticket {ticket}"}
        for customer in CUSTOMERS:
            if customer["customer_id"] == customer_id:
                self.filed[ticket] = customer_id
                return 200, {"ticket": ticket, "filed_under": customer_id, "name": customer["name"]}
        return 404, {"error": f"there is no customer {customer_id}"}


def search_tickets(query: str) -> list[dict[str, Any]]:
    """Tickets with one of the words; the whole open queue where there is none."""
    words = re.findall(r"\w+", query.lower())
    found = [entry for entry in TICKETS if _mentions(entry, words)]
    return found or TICKETS


def _mentions(entry: dict[str, Any], words: list[str]) -> bool:
    text = " ".join(entry.values()).lower()
    return any(word in text for word in words)


def find_customers(name: str) -> list[dict[str, Any]]:
    """The two customers whose names are most like it."""

    def likeness(customer: dict[str, Any]) -> float:
        return difflib.SequenceMatcher(None, customer["name"].lower(), name.lower()).ratio()

    nearest = sorted(CUSTOMERS, key=likeness, reverse=True)[:2]
    return [entry for entry in CUSTOMERS if entry in nearest]
