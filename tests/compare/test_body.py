"""Bodies read by their type."""

import gzip

from hypothesis import given
from hypothesis import strategies as st

from rerail.compare.body import form_of, parameter, read_body


def multipart(boundary: str, *parts: tuple[str, bytes]) -> bytes:
    delimiter = b"--" + boundary.encode()
    pieces = [
        delimiter + b'\r\nContent-Disposition: form-data; name="%b"\r\n\r\n' % name.encode()
        + content + b"\r\n"
        for name, content in parts
    ]  # fmt: skip
    return b"".join(pieces) + delimiter + b"--\r\n"


def test_a_type_says_the_form() -> None:
    assert form_of("application/json; charset=utf-8") == "json"
    assert form_of("application/vnd.api+JSON") == "json"
    assert form_of("application/x-www-form-urlencoded") == "form"
    assert form_of("multipart/form-data; boundary=x") == "multipart"
    assert form_of("application/x-ndjson") == "bytes"
    assert form_of("") == "bytes"


def test_a_coded_body_is_read_decoded() -> None:
    reading = read_body(gzip.compress(b'{"a": 1}'), "application/json", "gzip")
    assert (reading.form, reading.coding, reading.value) == ("json", "gzip", {"a": b"1"})


def test_a_body_that_is_not_what_its_type_says_is_bytes() -> None:
    assert read_body(b"{not json", "application/json", "").form == "bytes"
    assert read_body(b"no parts", "multipart/form-data; boundary=x", "").form == "bytes"
    assert read_body(b"--x\r\n", "multipart/form-data", "").form == "bytes"
    damaged = read_body(b"not gzip", "application/json", "gzip")
    assert (damaged.form, damaged.content, damaged.coding) == ("bytes", b"not gzip", "")


def test_no_body_has_no_form() -> None:
    assert read_body(b"", "application/json", "gzip").form == "none"


def test_form_fields_are_names_with_their_values_in_order() -> None:
    reading = read_body(b"b=2&a=1&b=3&c", "application/x-www-form-urlencoded", "")
    assert reading.value == {"b": ["2", "3"], "a": ["1"], "c": [""]}


def test_parts_are_read_without_their_boundary() -> None:
    one = multipart("AaB", ("file", b"line\r\n--not-it\r\n"), ("note", b"\xff\x00"))
    other = multipart('x"y', ("file", b"line\r\n--not-it\r\n"), ("note", b"\xff\x00"))
    first = read_body(one, "multipart/form-data; boundary=AaB", "")
    second = read_body(other, 'multipart/form-data; boundary=x"y', "")
    assert first.form == "multipart"
    assert first.value == second.value
    assert isinstance(first.value, list)
    assert len(first.value) == 2


def test_a_parameter_is_found_with_and_without_quotes() -> None:
    value = 'multipart/form-data; charset=utf-8; Boundary="a b"'
    assert parameter(value, "boundary") == "a b"
    assert parameter(value, "charset") == "utf-8"
    assert parameter(value, "missing") == ""


@given(
    st.binary(max_size=80),
    st.sampled_from(
        ["", "application/json", "application/x-www-form-urlencoded", "multipart/x; boundary=a"]
    ),
    st.sampled_from(["", "gzip", "br", "zstd", "deflate", "magic"]),
)
def test_nothing_makes_it_raise(content: bytes, content_type: str, coding: str) -> None:
    read_body(content, content_type, coding)
