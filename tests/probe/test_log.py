"""The lines of a probe's log, read."""

import os
import time

import pytest

from rerail.probe.log import Hello, hello_line, jobs_in, read_hello, read_missing, read_wrote

KEY = "0123456789abcdef"
JOB = "@fedcba9876543210"


def test_a_hello_comes_back() -> None:
    hello = Hello(pid=7, argv=["a\tb\n", "é"], key=KEY, n=2, kind="fork")
    line = hello_line(hello)
    assert line.count(b"\n") == 1
    assert read_hello(line.rstrip()) == hello
    assert hello.name == f"{KEY}.2"


@pytest.mark.parametrize(
    "line",
    [
        b'hello\t{"pid":18446744073709551616}',
        b'hello\t{"inside":-1}',
        b"",
        b"hello",
        b"hello\t",
        b"hello\t[]",
        b'hello\t{"pid":"x"}',
        b"t\t0\t1\t5",
        b"\xff",
    ],
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


def test_a_hello_whose_words_are_no_unicode_is_understood_and_spelled_out() -> None:
    line = b'hello\t{"pid":7,"argv":["caf\\udce9","\\ud83d\\ude00","a\\ud800b"],"cwd":"/\\udcff"}'
    hello = read_hello(line)
    assert hello == Hello(pid=7, argv=["caf\udce9", "\U0001f600", "a\ufffdb"], cwd="/\udcff")
    again = read_hello(hello_line(hello).rstrip())
    assert again == Hello(pid=7, argv=["caf\\udce9", "\U0001f600", "a\ufffdb"], cwd="/\\udcff")


def test_a_path_of_stray_bytes_is_that_path() -> None:
    path = read_wrote(b'wrote\t"/tmp/caf\\udce9"')
    assert path is not None
    assert os.fsencode(path) == b"/tmp/caf\xe9"


def test_a_job_with_many_lines_is_joined_at_once() -> None:
    site = b"s\t0\tsite\t" + JOB.encode() + b"\n"
    lines = b"".join(b"t\t0\t%d\t5\n" % number for number in range(200_000))
    began = time.process_time()
    jobs = jobs_in(site + lines.replace(b"t\t0\t", b"t\t1\t0\t"), KEY.encode())
    assert time.process_time() - began < 5
    assert jobs[JOB].count(b"\n") > 1
