import json

import pytest

from rerail.trace.detect.call import Call
from rerail.trace.detect.outcome import error_inside, is_error, timed_out
from tests.trace.detect.stories import calls, reading, told


def answered(words: str, *, is_error: bool = False) -> Call:
    (call,) = reading(calls("get"), told(words, is_error=is_error)).calls
    return call


@pytest.mark.parametrize(
    "words",
    [
        "Error: no such order",
        "Traceback (most recent call last)",
        '{"error": {"message": "gone"}}',
        '{"success": false, "message": "no"}',
        '{"status": 404, "message": "not there"}',
        '{"status": "failed", "message": "no"}',
        '{"isError": true, "content": "no"}',
        "<tool_use_error>no</tool_use_error>",
    ],
)
def test_an_error_in_words(words: str) -> None:
    assert is_error(answered(words))


@pytest.mark.parametrize(
    "words",
    [
        "12 errors were fixed",
        '{"status": "pending", "message": "hello"}',
        '{"errors": [], "status": 200}',
        "[1, 2]",
        "",
    ],
)
def test_no_error(words: str) -> None:
    assert not is_error(answered(words))


def test_what_is_marked_is_an_error_whatever_it_says() -> None:
    assert is_error(answered("fine", is_error=True))


def test_the_error_inside_is_quoted() -> None:
    inside = json.dumps({"error": {"code": 7, "message": "the index is old"}})
    assert error_inside(answered(inside)) == "the index is old"


def test_a_time_that_is_over() -> None:
    assert timed_out(answered("Error: timed out after 30 s"))
    assert not timed_out(answered("the timeout is 30 s"))


def test_no_answer_is_no_error() -> None:
    (call,) = reading(calls("get")).calls
    assert not is_error(call)
