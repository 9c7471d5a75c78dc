"""What kept a check in its copy, in words."""

from rerail.rewind.told import keeping
from rerail.sandbox.levels import (
    NETWORK_NAMESPACE,
    UNIX_SOCKET_FILTER,
    WRITE_RULES,
    Containment,
    Refused,
)

WANTED = [NETWORK_NAMESPACE, UNIX_SOCKET_FILTER, WRITE_RULES]


def test_the_level_and_what_lacks_of_it() -> None:
    assert list(keeping(Containment.of(WANTED, {}), [])) == ["the check was contained"]
    lacking = Containment.of(WANTED, {WRITE_RULES: "no Landlock here"})
    assert list(keeping(lacking, [])) == [
        "the check was kept off the network (missing: write rules)"
    ]
    assert list(keeping(None, [])) == ["the check was not contained, as was asked"]


def test_what_it_tried_in_vain_and_how_to_let_it() -> None:
    tried = [Refused("tcp", f"127.0.0.1:{port}", "psql", 7) for port in range(5)]
    said = list(keeping(Containment.of(WANTED, {}), tried))
    assert said[1] == "  it was refused: tcp 127.0.0.1:0 (psql)"
    assert said[-2:] == ["  and 2 more", "  --uncontained lets it, if the score needs that"]
