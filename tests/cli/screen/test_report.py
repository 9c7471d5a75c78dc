"""A report on standard error: in colour for a person, and nobody else's escapes."""

import pytest

from rerail.cli.screen import texts
from rerail.cli.screen.report import tell

REPORT = """not green:
  - 1 request was refused: r5

    messages[6].content: changed
      recorded  under [-that-].
      now       under {+this+}.
  refused: green: \x1b[32m

next:
  rerail show T r5
"""


def test_what_is_coloured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(texts, "for_person", lambda *, err=False: err)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    # click takes colours out where its output is no terminal.
    monkeypatch.setattr("click.utils.should_strip_ansi", lambda *_: False)
    tell(REPORT)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "\x1b[31m\x1b[1mrerail: not green:\x1b[0m"
    assert lines[4] == "      recorded  under \x1b[31m[-that-]\x1b[0m."
    assert lines[5] == "      now       under \x1b[32m{+this+}\x1b[0m."
    assert lines[6] == r"  refused: green: \x1b[32m"
    assert lines[9] == "  \x1b[36mrerail show T r5\x1b[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    tell(REPORT)
    assert "\x1b" not in capsys.readouterr().err


def test_a_pipe_gets_the_words_alone(capsys: pytest.CaptureFixture[str]) -> None:
    tell("green: followed to the end\n")
    assert capsys.readouterr().err == "rerail: green: followed to the end\n"
