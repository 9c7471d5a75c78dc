"""Node's model SDKs, asked with times and ids: recorded, replayed with the model stopped."""

from collections.abc import Callable

import pytest

from rerail.testing.ca import CertificateAuthority
from rerail.testing.model import SimulatedModel
from tests.journeys.rail import AGENTS, Rail
from tests.node import MAJORS, node_or_skip, packages_or_skip

pytestmark = pytest.mark.journey


@pytest.mark.parametrize("major", MAJORS)
@pytest.mark.parametrize(
    ("package", "way", "host"),
    [
        ("openai", "openai", "api.openai.com"),
        ("@anthropic-ai/sdk", "anthropic", "api.anthropic.com"),
    ],
)
def test_an_agent_with_an_sdk(
    rail: Rail,
    start_model: Callable[..., SimulatedModel],
    authority: CertificateAuthority,
    major: int,
    package: str,
    way: str,
    host: str,
) -> None:
    model = start_model(tls=authority.leaf(host))
    rail.resolve(host, model.origin)
    rail.environment["NODE_PATH"] = str(packages_or_skip(package))
    recorded = rail.there_and_back(node_or_skip(major), str(AGENTS / "sdk_agent.cjs"), way)
    assert len(recorded.exchanges()) == 6
