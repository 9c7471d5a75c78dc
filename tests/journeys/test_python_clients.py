"""Python's HTTP clients, recorded and then replayed offline: the same to the byte, twice."""

import importlib.util
from collections.abc import Callable

import pytest

from rerail.tape.records import HttpRequest, WsClosed, WsMessage, WsOpened
from rerail.testing.origin import Origin
from tests.journeys.rail import Rail

pytestmark = pytest.mark.journey

HOST = "api.example.com"
Start = Callable[..., Origin]


@pytest.mark.parametrize("client", ["httpx", "httpx2"])
def test_httpx_sync_and_async(rail: Rail, start_playground: Start, client: str) -> None:
    if importlib.util.find_spec(client) is None:
        pytest.skip(f"{client} is not installed here")
    rail.resolve(HOST, start_playground(HOST))
    recorded = rail.there_and_back(*rail.python("httpx_agent.py", client, f"https://{HOST}"))
    assert len(recorded.exchanges()) == 18


def test_httpx_over_plain_http(rail: Rail, start_playground: Start) -> None:
    rail.resolve(HOST, start_playground())
    recorded = rail.there_and_back(*rail.python("httpx_agent.py", "httpx", f"http://{HOST}"))
    requests = [event for event in recorded.events() if isinstance(event, HttpRequest)]
    assert {request.scheme for request in requests} == {"http"}
    assert all(request.head.split()[1].startswith(b"/") for request in requests)


def test_requests(rail: Rail, start_playground: Start) -> None:
    rail.resolve(HOST, start_playground(HOST))
    rail.there_and_back(*rail.python("requests_agent.py", f"https://{HOST}"))


def test_aiohttp_which_ignores_proxy_variables(rail: Rail, start_playground: Start) -> None:
    rail.resolve(HOST, start_playground(HOST))
    recorded = rail.there_and_back(*rail.python("aiohttp_agent.py", f"https://{HOST}"))
    assert len(recorded.exchanges()) == 14


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_urllib(rail: Rail, start_playground: Start, scheme: str) -> None:
    rail.resolve(HOST, start_playground(HOST) if scheme == "https" else start_playground())
    rail.there_and_back(*rail.python("urllib_agent.py", f"{scheme}://{HOST}"))


@pytest.mark.parametrize("scheme", ["ws", "wss"])
def test_websockets_with_deflate_pings_and_a_close_code(
    rail: Rail, start_playground: Start, scheme: str
) -> None:
    rail.resolve(HOST, start_playground(HOST) if scheme == "wss" else start_playground())
    recorded = rail.there_and_back(*rail.python("websocket_agent.py", f"{scheme}://{HOST}"))
    assert "compressed" in recorded.text
    assert "closed 4001 enough" in recorded.text
    events = recorded.events()
    assert [event.extensions != "" for event in events if isinstance(event, WsOpened)] == [
        True,
        False,
        True,
    ]
    pings = [event for event in events if isinstance(event, WsMessage) and event.opcode == "ping"]
    assert {event.sender for event in pings} == {"agent", "origin"}
    assert (4001, "enough") in [
        (event.code, event.reason) for event in events if isinstance(event, WsClosed)
    ]
