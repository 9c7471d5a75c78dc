import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from rerail.testing.demo.desk import RIGHT, Desk, find_customers, search_tickets


@pytest.fixture
def desk() -> Iterator[Desk]:
    made = Desk()
    with made.origin:
        yield made


def ask(desk: Desk, path: str, body: bytes | None = None) -> tuple[int, Any]:
    try:
        with urllib.request.urlopen(desk.origin.url + path, body, 5) as reply:
            return reply.status, json.loads(reply.read())
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, json.loads(refused.read())


def test_a_ticket_is_found_filed_and_filed_anew(desk: Desk) -> None:
    assert ask(desk, "/tickets?query=1841")[1][0]["company"] == "Acme Robotics"
    status, told = ask(desk, "/tickets/1841/customer", b'{"customer_id": "CUST-4417"}')
    assert (status, told["name"]) == (200, "Acme Robots")
    ask(desk, "/tickets/1841/customer", b'{"customer_id": "CUST-4471"}')
    assert desk.filed == {"1841": RIGHT}


@pytest.mark.parametrize("name", ["Acme", "Acme Robotics", "acme robots inc."])
def test_both_customers_of_nearly_the_same_name_are_found(name: str) -> None:
    assert {entry["customer_id"] for entry in find_customers(name)} == {"CUST-4417", RIGHT}


def test_a_search_without_a_hit_is_the_whole_queue() -> None:
    assert len(search_tickets("nothing like it")) == 2
    assert len(search_tickets("invoice")) == 1


@pytest.mark.parametrize(
    ("path", "body", "status", "says"),
    [
        ("/nowhere", None, 404, "/nowhere"),
        ("/tickets", b"{}", 404, "/tickets"),
        ("/tickets/1841/customer", b"{", 400, "customer_id"),
        ("/tickets/1841/customer", b"{}", 400, "customer_id"),
        ("/tickets/9/customer", b'{"customer_id": "CUST-4471"}', 404, "ticket 9"),
        ("/tickets/1841/customer", b'{"customer_id": "CUST-1"}', 404, "CUST-1"),
    ],
)
def test_what_is_not_there_is_said(
    desk: Desk, path: str, body: bytes | None, status: int, says: str
) -> None:
    found, told = ask(desk, path, body)
    assert found == status
    assert says in told["error"]
