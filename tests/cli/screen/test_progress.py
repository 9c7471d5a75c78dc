"""A progress bar, for a person: it says no number that nobody knows."""

import pytest

from rerail.cli.screen.progress import progress


@pytest.fixture(autouse=True)
def person(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rerail.cli.screen.progress.for_person", lambda *, err: err)
    monkeypatch.setenv("TTY_COMPATIBLE", "1")


def test_nothing_is_shown_before_it_is_known_how_much_there_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with progress("checking") as told:
        pass
    told(1, 3)
    assert capsys.readouterr().err == ""


def test_how_far_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("checking") as told:
        told(0, 3)
        told(2, 3)
    said = capsys.readouterr().err
    assert "checking" in said
    assert "2/3" in said
    assert "/100" not in said
