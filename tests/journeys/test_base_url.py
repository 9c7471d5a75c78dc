"""A client that is given a base URL on this machine, recorded and then replayed offline."""

from collections.abc import Callable

import pytest

from rerail.testing.origin import Origin
from tests.journeys.rail import Rail

pytestmark = pytest.mark.journey

HOST = "api.example.com"


def test_a_base_url_with_proxy_variables_beside_it_is_recorded_once(
    rail: Rail, start_playground: Callable[..., Origin], free_port: int
) -> None:
    rail.resolve(HOST, start_playground(HOST))
    reverse = (f"--listen={free_port}", f"--upstream=https://{HOST}")
    command = rail.python("urllib_agent.py", f"http://127.0.0.1:{free_port}")
    recorded = rail.there_and_back(*command, options=reverse)
    requests = [exchange.request for exchange in recorded.exchanges()]
    assert {(asked.scheme, asked.host) for asked in requests if asked} == {("https", HOST)}
    assert len(requests) == recorded.text.count("\n") + 1
