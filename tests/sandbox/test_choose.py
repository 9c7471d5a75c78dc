"""The strongest sandbox that can be entered is taken."""

import signal
import socket
import time
from collections.abc import Sequence

import pytest

from rerail.sandbox import choose, network, ports
from rerail.sandbox.choose import Unconfined, choose_sandbox, refusal
from rerail.sandbox.handshake import Handshake, SandboxFailed
from rerail.sandbox.levels import UNIX_SOCKET_FILTER, Containment
from rerail.sandbox.network import NetworkNamespace
from rerail.sandbox.ports import PortRules


class Broken:
    """A sandbox that fails in the child."""

    containment = Containment()
    listens_inside = False
    refused = ()

    def enter(self, parent: Handshake, ports: Sequence[int]) -> None:
        with parent.step("do anything"):
            raise PermissionError(1, "no")

    def admit(self, child: Handshake, pid: int) -> list[socket.socket]:
        return []


class NotAdmitted(Broken):
    """A sandbox whose users cannot be named, as where AppArmor restricts user namespaces."""

    def enter(self, parent: Handshake, ports: Sequence[int]) -> None:
        signal.alarm(20)  # A child that waits for ever would keep the test waiting.
        parent.say(b"u")
        parent.expect(b"m")

    def admit(self, child: Handshake, pid: int) -> list[socket.socket]:
        child.expect(b"u")
        raise SandboxFailed("cannot name the users", hint="none")


def test_a_child_that_is_not_admitted_does_not_wait_for_ever() -> None:
    begun = time.monotonic()
    assert refusal(NotAdmitted()) == "cannot name the users"
    assert time.monotonic() - begun < 10


def refusing(monkeypatch: pytest.MonkeyPatch, *kinds: type) -> None:
    def refuse(sandbox: choose.Sandbox) -> str | None:
        return "not here" if isinstance(sandbox, kinds) else None

    monkeypatch.setattr(choose, "refusal", refuse)


def test_a_watched_namespace_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    refusing(monkeypatch)
    chosen = choose_sandbox()
    assert isinstance(chosen, NetworkNamespace)
    assert chosen.listens_inside
    assert chosen.containment.level == "no network"


def test_a_namespace_that_cannot_be_watched_comes_next(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter(["cannot have connections looked at", None])
    monkeypatch.setattr(choose, "refusal", lambda sandbox: next(answers))
    chosen = choose_sandbox()
    assert isinstance(chosen, NetworkNamespace)
    assert chosen.containment.level == "no network"
    assert chosen.containment.missing[0].layer == UNIX_SOCKET_FILTER
    assert chosen.containment.missing[0].why == "cannot have connections looked at"


def test_rules_come_next_and_say_why_there_is_no_namespace(monkeypatch: pytest.MonkeyPatch) -> None:
    refusing(monkeypatch, NetworkNamespace)
    monkeypatch.setattr(ports.landlock, "version", lambda: 7)
    chosen = choose_sandbox()
    assert isinstance(chosen, PortRules)
    assert not chosen.listens_inside
    assert chosen.containment.missing[0].why == "not here"


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
    assert refusal(Broken()) == "cannot do anything: Operation not permitted (EPERM)"


def test_a_trial_that_works_leaves_nothing_behind() -> None:
    from rerail.launch.family import own_children

    before = own_children()
    assert refusal(Unconfined("a test")) is None
    assert own_children() == before


def test_the_tried_namespace_is_the_real_one() -> None:
    why = refusal(NetworkNamespace())
    assert why is None or why.startswith("cannot ")
    assert network.NetworkNamespace.listens_inside
