"""`rerail doctor` tries things for real, and says the mend for what does not work."""

import json
from pathlib import Path

import pytest

from rerail.cli.main import run
from rerail.script.engine import EngineMissing


@pytest.fixture(autouse=True)
def own_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A certificate authority of the test's own."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def test_what_works_is_said_line_by_line(capfd: pytest.CaptureFixture[str]) -> None:
    status = run(["doctor"])
    said = capfd.readouterr().out
    assert "certificate authority" in said and "offline replay" in said and "probes" in said
    assert status == int("missing " in said)


def test_machines_get_the_same_as_json(capfd: pytest.CaptureFixture[str]) -> None:
    run(["doctor", "--json"])
    checks = json.loads(capfd.readouterr().out)
    assert {"name", "state", "detail", "mend"} == set(checks[0])
    assert {check["state"] for check in checks} <= {"ok", "limited", "missing"}


def test_a_broken_trust_setting_is_named_with_its_mend(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere/roots.pem")
    assert run(["doctor"]) == 1
    said = capfd.readouterr().out
    assert "SSL_CERT_FILE names `/nowhere/roots.pem`" in said
    assert "mend: unset SSL_CERT_FILE" in said


def test_a_key_that_others_can_read_is_named_with_its_mend(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run(["doctor"])
    key = next((tmp_path / "data" / "rerail" / "ca").glob("*.pem"))
    key.chmod(0o644)
    capfd.readouterr()
    assert run(["doctor"]) == 1
    assert "others can read" in capfd.readouterr().out


def checks(capfd: pytest.CaptureFixture[str]) -> dict[str, dict[str, str]]:
    """What is said, by name."""
    run(["doctor", "--json"])
    said = json.loads(capfd.readouterr().out)
    return {check["name"].strip(): check for check in said}


def test_each_layer_is_tried_and_what_is_missing_has_a_mend(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from rerail.sandbox import choose
    from rerail.sandbox.handshake import SandboxFailed

    layers = {"network namespace", "unix socket filter", "write rules", "private mounts"}
    assert layers <= set(checks(capfd))
    failed = SandboxFailed("namespaces are refused", hint="")
    monkeypatch.setattr(choose, "refusal", lambda sandbox: failed)
    found = checks(capfd)
    assert found["offline replay"]["state"] == "missing"
    for layer in layers:
        assert found[layer]["state"] == "limited"
        assert found[layer]["detail"].startswith("namespaces are refused")
        assert found[layer]["mend"]


def test_what_goes_past_a_recording_is_told_or_why_it_is_not(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from rerail.sandbox import lookout

    monkeypatch.setattr(lookout, "here", lambda: None)
    found = checks(capfd)["what goes past a recording"]
    assert (found["state"], found["detail"]) == ("limited", "not noticed: this kernel cannot tell")


def test_whether_a_durable_script_runs_is_tried(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert checks(capfd)["durable scripts"]["state"] == "ok"

    def missing() -> object:
        raise EngineMissing("it is not installed", hint="pip install it")

    monkeypatch.setattr("rerail.script.engine._monty", missing)
    monkeypatch.setattr("rerail.script.engine._pools", {})
    found = checks(capfd)["durable scripts"]
    assert (found["state"], found["mend"]) == ("limited", "pip install it")
