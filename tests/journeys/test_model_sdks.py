"""Real model SDKs on an unseeded model, recorded, then replayed with the model stopped."""

from collections.abc import Callable

import pytest

from rerail.testing.ca import CertificateAuthority
from rerail.testing.model import SimulatedModel
from tests.journeys.rail import Rail

pytestmark = pytest.mark.journey


@pytest.mark.usefixtures("openai_model")
@pytest.mark.parametrize(("way", "calls"), [("sync", 6), ("async", 12)])
def test_an_openai_agent(rail: Rail, way: str, calls: int) -> None:
    recorded = rail.there_and_back(*rail.python("openai_agent.py", way))
    assert len(recorded.exchanges()) == calls
    assert "weighs" in recorded.text


@pytest.mark.parametrize(("way", "calls"), [("sync", 4), ("async", 8)])
def test_an_anthropic_agent(
    rail: Rail,
    start_model: Callable[..., SimulatedModel],
    authority: CertificateAuthority,
    way: str,
    calls: int,
) -> None:
    model = start_model(tls=authority.leaf("api.anthropic.com"))
    rail.resolve("api.anthropic.com", model.origin)
    recorded = rail.there_and_back(*rail.python("anthropic_agent.py", way))
    assert len(recorded.exchanges()) == calls


@pytest.mark.usefixtures("openai_model")
def test_two_recordings_of_one_agent_differ_so_its_replays_prove_something(rail: Rail) -> None:
    command = rail.python("openai_agent.py", "sync")
    first = rail.record(*command, tape="first.tape")
    second = rail.record(*command, tape="second.tape")
    assert first.output != second.output
    rail.stop_origins()
    for recorded in (first, second):
        assert rail.replay(recorded.tape).output == recorded.output
