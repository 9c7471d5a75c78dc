"""A client that is given a base URL on this machine, recorded and then replayed offline."""

from collections.abc import Callable

import pytest

from rerail.testing.model import SimulatedModel
from rerail.testing.origin import Origin
from tests.journeys.rail import Rail

pytestmark = pytest.mark.journey

HOST = "api.example.com"
Start = Callable[..., Origin]


@pytest.mark.parametrize("by_proxy", [True, False], ids=["proxy variables beside it", "no proxy"])
def test_a_base_url_is_the_origin_that_it_stands_for(
    rail: Rail, start_playground: Start, free_port: int, by_proxy: bool
) -> None:
    rail.resolve(HOST, start_playground(HOST))
    reverse = (f"--listen={free_port}", f"--upstream=https://{HOST}")
    command = rail.python("urllib_agent.py", f"http://127.0.0.1:{free_port}")
    deaf = [] if by_proxy else ["env", "-u", "http_proxy", "-u", "HTTP_PROXY", "-u", "all_proxy"]
    recorded = rail.there_and_back(*deaf, *command, options=reverse)
    requests = [exchange.request for exchange in recorded.exchanges()]
    assert {(asked.scheme, asked.host) for asked in requests if asked} == {("https", HOST)}
    assert {asked.process_id for asked in requests if asked} == {int(by_proxy)}
    assert len(requests) == recorded.text.count("\n") + 1


def test_an_sdk_with_a_base_url_of_its_own(
    rail: Rail, openai_model: SimulatedModel, free_port: int
) -> None:
    reverse = (f"--listen={free_port}", "--upstream=https://api.openai.com")
    keep = (f"-eOPENAI_BASE_URL=http://127.0.0.1:{free_port}/v1",)
    recorded = rail.there_and_back(*rail.python("openai_agent.py", "sync"), options=reverse + keep)
    asked = [exchange.request for exchange in recorded.exchanges()]
    assert {(request.scheme, request.host, request.port) for request in asked if request} == {
        ("https", "api.openai.com", 443)
    }
    assert all(b"Host: api.openai.com\r\n" in request.head for request in asked if request)
