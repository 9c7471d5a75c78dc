"""Layers add up to a level; what is missing is named."""

import pytest

from rerail.sandbox.levels import (
    NETWORK_NAMESPACE,
    SOCKET_FILTER,
    TCP_RULES,
    UNIX_SOCKET_FILTER,
    WRITE_RULES,
    Containment,
    Layer,
    MissingLayer,
)


@pytest.mark.parametrize(
    ("layers", "level"),
    [
        ((), "not contained"),
        ((TCP_RULES,), "not contained"),
        ((SOCKET_FILTER, UNIX_SOCKET_FILTER, WRITE_RULES), "not contained"),
        ((TCP_RULES, SOCKET_FILTER), "no network"),
        ((NETWORK_NAMESPACE,), "no network"),
        ((NETWORK_NAMESPACE, UNIX_SOCKET_FILTER), "no network"),
        ((NETWORK_NAMESPACE, UNIX_SOCKET_FILTER, WRITE_RULES), "contained"),
    ],
)
def test_the_layers_add_up(layers: tuple[Layer, ...], level: str) -> None:
    assert Containment(layers).level == level


def test_a_report_names_what_a_missing_layer_lets_through() -> None:
    gap = MissingLayer(WRITE_RULES, "too old a kernel")
    assert Containment((NETWORK_NAMESPACE,), (gap,)).as_data() == {
        "level": "no network",
        "layers": ["network namespace"],
        "missing": [
            {
                "layer": "write rules",
                "lets_through": WRITE_RULES.stops,
                "why": "too old a kernel",
            }
        ],
    }
