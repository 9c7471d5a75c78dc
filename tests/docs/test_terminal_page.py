"""The judge of pages can say no: what it forgives, and what it does not."""

from pathlib import Path

import pytest

from tests.docs.terminal_page import Shell, Typed, agree, learn, plain, translated, typed

PAGE = """
```console
$ rerail show T \\
    r5
one
…
last
$ true
```
```python
$ no command
```
"""


def test_commands_and_what_they_print() -> None:
    assert list(typed(PAGE)) == [
        Typed("rerail show T r5", ("one", "…", "last")),
        Typed("true", ()),
    ]


@pytest.mark.parametrize(
    ("shown", "printed", "agrees"),
    [
        (["a", "b"], ["a", "", "b"], True),
        (["a"], ["a", "b"], False),
        (["a", "…", "c"], ["a", "b", "b", "c"], True),
        (["a", "…", "c"], ["a", "c"], True),
        (["a", "…", "c"], ["a", "c", "d"], False),
        (["…", "b", "…"], ["a", "b", "c"], True),
        (["…", "x", "…"], ["a", "b", "c"], False),
        (["…"], [], True),
        (["a", "…", "a"], ["a"], False),
        (["took 5 ms, 2.1 kB"], ["took  17.25 s, 900 B"], True),
        (["2 errors"], ["3 errors"], False),
    ],
)
def test_what_agrees(shown: list[str], printed: list[str], agrees: bool) -> None:
    assert agree(shown, printed) is agrees


def test_what_is_another_one_each_time() -> None:
    assert plain("  hold: H-86a978bcd9   +1.2 s at 127.0.0.1:8123") == (
        "hold: H-ID TIME at 127.0.0.1:PORT"
    )


def test_folder_and_variables_stay(tmp_path: Path) -> None:
    with Shell(tmp_path, {"PATH": "/usr/bin:/bin"}, tmp_path) as shell:
        assert shell.type("mkdir below && cd below && export WORD='two words'") == []
        assert shell.type('pwd; echo "$WORD" >&2; test -t 1 && echo terminal') == [
            str(tmp_path / "below"), "two words", "terminal",
        ]  # fmt: skip
        assert shell.type("sh -c 'echo $WORD; exec sleep 60' &") == ["two words"]


def test_ids_of_the_page_are_known_again() -> None:
    shown = ["hold: H-86a978bcd9", "…", "T-ac910a28c6 is A-47d8ed6a8d", "e2 read", "e20 told"]
    printed = ["hold: H-0000000000", "else", "T-1111111111 is A-2222222222", "e3 read", "e21 told"]
    known = dict(learn(shown, printed))
    assert known == {
        "H-86a978bcd9": "H-0000000000",
        "T-ac910a28c6": "T-1111111111",
        "A-47d8ed6a8d": "A-2222222222",
        "e2": "e3",
        "e20": "e21",
    }
    assert translated("show e20 e2 e5 H-86a978bcd9", known) == "show e21 e3 e5 H-0000000000"


def test_a_question_is_answered(tmp_path: Path) -> None:
    asks = "read -p 'apply it? [y/N] ' word; echo said $word"
    shown = ("apply it? [y/N] y", "said y")
    assert Typed(asks, shown).answer == "y"
    with Shell(tmp_path, {"PATH": "/usr/bin:/bin"}, tmp_path) as shell:
        assert agree(shown, shell.type(asks, "y"))
