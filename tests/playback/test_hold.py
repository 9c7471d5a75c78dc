"""A held reply waits for Enter; the others do not."""

import asyncio
import os
from pathlib import Path

import pytest

from rerail.errors import UsageProblem
from rerail.playback import hold
from rerail.playback.hold import Hold


def test_only_the_request_that_was_named_is_held_and_only_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    keyboard = tmp_path / "keyboard"
    os.mkfifo(keyboard)
    pressing = os.open(keyboard, os.O_RDWR)
    monkeypatch.setattr(hold, "TERMINAL", keyboard)
    said: list[str] = []

    async def replay() -> None:
        held = Hold(2, said.append)
        let_go = asyncio.Event()
        assert not held.holds(1, "GET /a", let_go.set)
        assert held.holds(2, "GET /b", let_go.set)
        await asyncio.sleep(0)
        assert not let_go.is_set()
        os.write(pressing, b"\n")
        await asyncio.wait_for(let_go.wait(), 5)
        assert not held.holds(2, "GET /b", let_go.set)

    asyncio.run(replay())
    os.close(pressing)
    assert said == ["r2 is held: GET /b; press Enter to let its reply go"]


def test_without_a_terminal_nothing_can_be_held(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(hold, "TERMINAL", tmp_path / "none")
    with pytest.raises(UsageProblem, match="no terminal"):
        Hold(1, print)
