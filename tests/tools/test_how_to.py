"""The examples of the page on kept tools, run as they stand there."""

import re
from pathlib import Path

import pytest

from rerail.tools.programs import TYPESCRIPT_VARIABLE
from tests.typescript import tools_or_skip

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "kept-tools.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)


def test_the_examples_do_what_they_say(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tools = tools_or_skip()
    monkeypatch.setenv(TYPESCRIPT_VARIABLE, str(tools.typescript.program.path))
    names: dict[str, object] = {}
    for example in EXAMPLES:
        exec(example, names)
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("a.ts(1,14): error TS2322: Type 'number' is not")
    assert printed[-1] == "True () ()"
