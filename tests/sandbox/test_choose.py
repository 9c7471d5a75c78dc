"""The strongest sandbox that can be entered is taken."""

import signal
import socket
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from rerail.sandbox import choose, network, ports, watch
from rerail.sandbox.choose import Unconfined, choose_sandbox, refusal
from rerail.sandbox.handshake import Handshake, SandboxFailed
from rerail.sandbox.levels import NETWORK_NAMESPACE, PRIVATE_PATHS, UNIX_SOCKET_FILTER, Containment
from rerail.sandbox.network import NetworkNamespace
from rerail.sandbox.ports import PortRules
from rerail.sandbox.view import Bind, View


class Broken:
    """A sandbox that fails in the child."""

    containment = Containment()
    listens_inside = False
    refused = ()
    view = View()

    def enter(self, parent: Handshake, ports: Sequence[int]) -> None:
        with parent.step("do anything"):
            raise PermissionError(1, "no")

    def admit(self, child: Handshake, pid: int, ports: Sequence[int]) -> list[socket.socket]:
        return []


class NotAdmitted(Broken):
    """A sandbox whose users cannot be named, as where AppArmor restricts user namespaces."""

    def enter(self, parent: Handshake, ports: Sequence[int]) -> None:
        signal.alarm(20)  # A child that waits for ever would keep the test waiting.
        parent.say(b"u")
        parent.expect(b"m")

    def admit(self, child: Handshake, pid: int, ports: Sequence[int]) -> list[socket.socket]:
        child.expect(b"u")
        raise SandboxFailed("cannot name the users", hint="none")


def test_a_child_that_is_not_admitted_does_not_wait_for_ever() -> None:
    begun = time.monotonic()
    assert told(NotAdmitted()) == "cannot name the users"
    assert time.monotonic() - begun < 10


def failure(what: str, step: str = "") -> SandboxFailed:
    failed = SandboxFailed(what, hint="none")
    failed.step = step
    return failed


def refusing(monkeypatch: pytest.MonkeyPatch, *kinds: type, step: str = "") -> None:
    def refuse(sandbox: choose.Sandbox) -> SandboxFailed | None:
        return failure("not here", step) if isinstance(sandbox, kinds) else None

    monkeypatch.setattr(choose, "refusal", refuse)


def told(sandbox: choose.Sandbox) -> str | None:
    """Why a sandbox could not be entered, as a person is told."""
    failed = refusal(sandbox)
    return None if failed is None else failed.what


def test_a_watched_namespace_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    refusing(monkeypatch)
    chosen = choose_sandbox()
    assert isinstance(chosen, NetworkNamespace)
    assert chosen.listens_inside
    assert chosen.containment.level == "no network"


@pytest.mark.parametrize("step", network.OF_STEP)
def test_a_namespace_that_lacks_one_layer_comes_next(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, step: str
) -> None:
    answers = iter([failure("cannot do this", step), None])
    monkeypatch.setattr(choose, "refusal", lambda sandbox: next(answers))
    chosen = choose_sandbox(binds=[Bind(tmp_path, Path("/there"))], writable=[tmp_path])
    assert isinstance(chosen, NetworkNamespace)
    (gap,) = chosen.containment.missing
    assert (gap.layer, gap.why) == (network.OF_STEP[step], "cannot do this")
    assert chosen.containment.level == ("contained" if gap.layer == PRIVATE_PATHS else "no network")


def test_several_layers_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([*(failure("no", step) for step in network.OF_STEP), None])
    monkeypatch.setattr(choose, "refusal", lambda sandbox: next(answers))
    chosen = choose_sandbox(binds=[Bind(Path("/a"), Path("/b"))], writable=[Path("/b")])
    assert chosen.containment.layers == (NETWORK_NAMESPACE,)
    assert chosen.view == View()


def test_a_step_that_fails_again_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    refusing(monkeypatch, NetworkNamespace, step=watch.WATCHING)
    assert not isinstance(choose_sandbox(), NetworkNamespace)


def test_rules_come_next_and_say_why_there_is_no_namespace(monkeypatch: pytest.MonkeyPatch) -> None:
    refusing(monkeypatch, NetworkNamespace)
    monkeypatch.setattr(ports.landlock, "version", lambda: 7)
    chosen = choose_sandbox()
    assert isinstance(chosen, PortRules)
    assert not chosen.listens_inside
    assert chosen.containment.missing[0].why == "not here"


def test_rules_that_cannot_be_watched_are_better_than_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(sandbox: choose.Sandbox) -> SandboxFailed | None:
        if isinstance(sandbox, NetworkNamespace):
            return failure("not here")
        return failure("no such thing", watch.WATCHING) if next(asked) == 0 else None

    asked = iter(range(2))
    monkeypatch.setattr(choose, "refusal", refuse)
    monkeypatch.setattr(ports.landlock, "version", lambda: 7)
    chosen = choose_sandbox()
    assert isinstance(chosen, PortRules)
    assert {gap.layer: gap.why for gap in chosen.containment.missing}[UNIX_SOCKET_FILTER] == (
        "no such thing"
    )


def test_where_nothing_works_the_command_is_unconfined(monkeypatch: pytest.MonkeyPatch) -> None:
    refusing(monkeypatch, NetworkNamespace, PortRules)
    chosen = choose_sandbox()
    assert isinstance(chosen, Unconfined)
    assert chosen.containment.level == "not contained"
    assert {gap.why for gap in chosen.containment.missing} == {"not here"}


def test_a_system_with_no_layer_at_all_is_unconfined(monkeypatch: pytest.MonkeyPatch) -> None:
    refusing(monkeypatch, NetworkNamespace)
    monkeypatch.setattr("platform.system", lambda: "Darwin")
    assert isinstance(choose_sandbox(), Unconfined)


def test_a_trial_that_fails_tells_its_step() -> None:
    assert told(Broken()) == "cannot do anything: Operation not permitted (EPERM)"


def test_a_trial_that_works_leaves_nothing_behind() -> None:
    from rerail.launch.family import own_children

    before = own_children()
    assert told(Unconfined("a test")) is None
    assert own_children() == before


def test_the_tried_namespace_is_the_real_one() -> None:
    why = told(NetworkNamespace())
    assert why is None or why.startswith("cannot ")
    assert network.NetworkNamespace.listens_inside
