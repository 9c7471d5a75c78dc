"""`rerail record` where it cannot begin: a status of its own, and nothing left behind."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Rerail = Callable[..., Any]


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["--bogus", "--", "true"], "--bogus"),
        (["--client-cert", "nowhere.pem", "--", "true"], "nowhere.pem"),
        (["--on-record-failure", "perhaps", "--", "true"], "perhaps"),
        ([], "COMMAND"),
        (["--listen", "8080", "--", "true"], "--upstream"),
        (["--resolve", "api.example.com", "--", "true"], "api.example.com"),
        (["--upstream-proxy", "socks5://127.0.0.1", "--", "true"], "socks5"),
    ],
)
def test_wrong_options_are_told_apart_from_an_end_of_the_command(
    rerail: Rerail, words: list[str], what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rerail("record", "-o", "run.tape", *words).assert_complaint(125, what)
    assert not list(tmp_path.iterdir())
