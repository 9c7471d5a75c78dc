"""JSON of anybody's: read, or nothing; never an error."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rerail.wire.any_json import loaded


@pytest.mark.parametrize("text", ['{"a": [1]}', b'{"a": [1]}', b'\xef\xbb\xbf{"a": [1]}'])
def test_what_is_json_is_read(text: str | bytes) -> None:
    assert loaded(text) == {"a": [1]}


@pytest.mark.parametrize("text", ["", "{", "nothing", b"\xff\xfe\x00", b"\x80", "[" * 200_000])
def test_what_is_none_is_nothing(text: str | bytes) -> None:
    assert loaded(text) is None


@given(st.one_of(st.text(), st.binary()))
def test_nothing_that_is_read_raises(text: str | bytes) -> None:
    loaded(text)
