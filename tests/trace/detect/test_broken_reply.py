"""When an answer is JSON that breaks off, and when nobody can say."""

import pytest

from rerail.trace.detect.broken_reply import _broken


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        ('{"a": 1}', ""),
        ('{"a": [1, 2', "breaks off"),
        ('{"a" 1, "b": 2, "c": 3}', "is broken inside"),
        ('{"a": ' + "7" * 5000 + "}", ""),
        ("[\n" * 100_000, ""),
    ],
)
def test_what_is_said_of_an_answer(answer: str, what: str) -> None:
    assert _broken(answer) == what
