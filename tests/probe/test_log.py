"""The lines of a probe's log, read."""

import pytest

from rerail.probe.log import Hello, hello_line, jobs_in, read_hello, read_missing

KEY = "0123456789abcdef"
JOB = "@fedcba9876543210"


def test_a_hello_comes_back() -> None:
    hello = Hello(pid=7, argv=["a\tb\n", "é"], key=KEY, n=2, kind="fork")
    line = hello_line(hello)
    assert line.count(b"\n") == 1
    assert read_hello(line.rstrip()) == hello
    assert hello.name == f"{KEY}.2"


@pytest.mark.parametrize(
    "line", [b"", b"hello", b"hello\t", b"hello\t[]", b'hello\t{"pid":"x"}', b"t\t0\t1\t5", b"\xff"]
)
def test_what_is_no_hello_is_none(line: bytes) -> None:
    assert read_hello(line) is None


def test_a_hello_of_a_later_probe_may_say_more() -> None:
    assert read_hello(b'hello\t{"pid":7,"more":{}}') == Hello(pid=7)


def test_what_passed_by() -> None:
    assert read_missing(b"missing\twhat\tdetail\n") == ("what", "detail")
    assert read_missing(b"missing\twhat") == ("what", "")
    assert read_missing(b"t\t0\t1\t5\n") is None


def test_a_job_of_a_pool_has_a_log_of_its_own() -> None:
    lines = [
        b"s\t1\ta.py:f:-",
        f"s\t2\ta.py:f:-\t{JOB}".encode(),
        b"t\t0\t1\t5",
        b"t\t0\t2\t6",
        b"r\t0\t2\tab",
        b"s\t3\ta.py:f:-\t0123456789abcdef",
        b"t\t0\t3\t7",
        b"s\t4\ta.py:f:-\t@../../escaped",
        b"t\t0\t4\t8",
        b"torn",
        b"",
    ]
    found = jobs_in(b"\n".join(lines), b"p")
    assert found == {JOB: f"s\tp.2\ta.py:f:-\t{JOB}\nt\t0\tp.2\t6\nr\t0\tp.2\tab\n".encode()}
