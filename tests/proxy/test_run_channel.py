"""What probes say over the run's socket: lines, descriptors, and few answers."""

import asyncio
import json
import os
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from rerail.proxy.run_channel import RunChannel
from rerail.proxy.said import Descriptors, Ended, Runs, Started, understood


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "channel"


class Ear:
    def __init__(self, answer: dict[str, Any] | None = None) -> None:
        self.heard: list[tuple[dict[str, Any], list[bytes]]] = []
        self._answer = answer

    def __call__(self, said: dict[str, Any], descriptors: Sequence[int]) -> dict[str, Any] | None:
        contents = []
        for descriptor in descriptors:
            contents.append(os.pread(descriptor, 100, 0))
            os.close(descriptor)
        self.heard.append((said, contents))
        return self._answer


def connected(place: Path) -> socket.socket:
    probe = socket.socket(socket.AF_UNIX)
    probe.connect(str(place))
    return probe


async def until(ear: Ear, count: int) -> None:
    async with asyncio.timeout(10):
        while len(ear.heard) < count:
            await asyncio.sleep(0)


def test_lines_are_heard_in_order_with_the_descriptors_of_the_first(place: Path) -> None:
    (place.parent / "file").write_bytes(b"content")

    async def test() -> None:
        ear = Ear()
        with RunChannel(place) as channel, connected(place) as probe:
            with (place.parent / "file").open("rb") as file:
                socket.send_fds(probe, [b'{"n":1}\n{"n"'], [file.fileno()])
            channel.attend(ear)
            probe.sendall(b":2}\n")
            await until(ear, 2)
            channel.finish()
        assert ear.heard == [({"n": 1}, [b"content"]), ({"n": 2}, [])]

    asyncio.run(test())


def test_what_was_said_on_an_earlier_connection_is_heard_first(place: Path) -> None:
    async def test() -> None:
        ear = Ear()
        with RunChannel(place) as channel, connected(place) as one:
            channel.attend(ear)
            one.sendall(b'{"n":0}\n')
            await until(ear, 1)
            one.sendall(b'{"n":1}\n')
            with connected(place) as other:
                other.sendall(b'{"n":2}\n')
                await until(ear, 3)
            channel.finish()
        assert [said["n"] for said, _ in ear.heard] == [0, 1, 2]

    asyncio.run(test())


def test_an_answer_comes_on_the_same_connection(place: Path) -> None:
    async def test() -> None:
        with RunChannel(place) as channel, connected(place) as probe:
            channel.attend(Ear({"plain": True}))
            probe.sendall(b"{}\n")
            probe.setblocking(False)
            answer = await asyncio.get_running_loop().sock_recv(probe, 100)
            assert answer == b'{"plain":true}\n'
            channel.finish()

    asyncio.run(test())


def test_what_was_said_before_the_end_is_heard(place: Path) -> None:
    async def test() -> None:
        ear = Ear()
        with RunChannel(place) as channel:
            channel.attend(ear)
            with connected(place) as probe:
                probe.sendall(b'{"last":true}\n')
            channel.finish()
        assert ear.heard == [({"last": True}, [])]

    asyncio.run(test())


def test_nonsense_is_passed_over_and_its_descriptors_are_closed(place: Path) -> None:
    async def test() -> None:
        ear = Ear()
        read, write = os.pipe()
        with RunChannel(place) as channel, connected(place) as probe:
            channel.attend(ear)
            socket.send_fds(probe, [b"no json\n"], [write])
            os.close(write)
            probe.sendall(b'{"n":1}\n')
            await until(ear, 1)
            assert os.read(read, 1) == b""
            channel.finish()
        os.close(read)

    asyncio.run(test())


STARTED = {
    "do": "start", "child": 2, "parent": 1, "argv": ["cat"], "cwd": "/", "shell": False,
    "streams": {"stdout": "file"}, "descriptors": ["stdout.file"], "starts": {"stdout": 3},
}  # fmt: skip


def test_a_file_is_read_from_where_the_child_began(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"mybegun")
    descriptor = os.open(path, os.O_WRONLY)
    started = understood(STARTED | {"starts": {"stdout": 2}}, [descriptor])
    assert isinstance(started, Started)
    held = Descriptors(started, [descriptor])
    assert held.file("stdout") == b"begun"
    assert held.file("stdout") is None


def test_another_number_of_descriptors_than_named_is_not_understood() -> None:
    read, write = os.pipe()
    assert understood(STARTED, [read, write]) is None
    with pytest.raises(OSError, match="descriptor"):
        os.close(read)


@pytest.mark.parametrize(
    "said",
    [
        STARTED | {"child": 1 << 70, "descriptors": []},
        STARTED | {"parent": -1, "descriptors": []},
        STARTED | {"starts": {"stdout": -5}, "descriptors": []},
        STARTED | {"starts": {"stdout": 1 << 64}, "descriptors": []},
        {"do": "pid", "child": 2, "pid": 1 << 64},
        {"do": "end", "child": 2, "status": 1 << 64},
        {"do": "signal", "child": 2, "signal": 1 << 64},
    ],
)
def test_a_number_that_no_system_gives_is_not_understood(said: dict[str, Any]) -> None:
    assert understood(said, []) is None


def test_a_child_whose_own_number_nobody_is_told_has_a_negative_one() -> None:
    assert understood({"do": "pid", "child": 2, "pid": -2}, []) == Runs(2, -2)


def test_an_end_is_understood_and_what_is_not_known_is_not() -> None:
    assert understood({"do": "end", "child": 2, "status": -9}, []) == Ended(2, -9)
    assert understood({"do": "dance"}, []) is None
    assert understood({"do": "end", "child": "two"}, []) is None


@pytest.mark.skipif(not hasattr(os, "O_PATH"), reason="the system has no O_PATH")
def test_a_file_that_is_only_named_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "hidden"
    path.write_bytes(b"a secret")
    descriptor = os.open(path, os.O_PATH)
    started = understood(STARTED | {"starts": {}}, [descriptor])
    assert isinstance(started, Started)
    assert Descriptors(started, [descriptor]).file("stdout") == b""


def test_a_pipe_is_not_waited_for_as_a_file() -> None:
    read, write = os.pipe()
    started = understood(STARTED | {"starts": {}}, [write])
    assert isinstance(started, Started)
    assert Descriptors(started, [write]).file("stdout") == b""
    os.close(read)


def poke(place: Path, said: dict[str, Any]) -> None:
    with place.with_name("pokes").open("wb") as pipe:
        pipe.write(json.dumps(said).encode() + b"\n")


def test_no_link_is_followed_from_the_files_beside_the_pipe(place: Path) -> None:
    outside = place.parent / "outside"
    outside.write_bytes(b'{"a": "stranger"}')
    beside = place.with_name("c")

    async def test() -> None:
        ear = Ear({"the": "answer"})
        with RunChannel(place) as channel:
            (beside / "long").symlink_to(outside)
            (beside / "1.new").symlink_to(outside)
            channel.attend(ear)
            poke(place, {"file": "long"})
            poke(place, {"n": 1, "answer": "1"})
            await until(ear, 1)
            channel.finish()
        assert [said for said, _ in ear.heard] == [{"n": 1}]
        assert json.loads((beside / "1").read_bytes()) == {"the": "answer"}

    asyncio.run(test())
    assert outside.read_bytes() == b'{"a": "stranger"}'


def test_the_folder_beside_the_pipe_is_the_one_that_was_made(place: Path) -> None:
    elsewhere = place.parent / "elsewhere"
    elsewhere.mkdir()

    async def test() -> None:
        ear = Ear({"the": "answer"})
        with RunChannel(place) as channel:
            place.with_name("c").rename(place.with_name("moved"))
            place.with_name("c").symlink_to(elsewhere)
            channel.attend(ear)
            poke(place, {"n": 1, "answer": "1"})
            await until(ear, 1)
            channel.finish()

    asyncio.run(test())
    assert not list(elsewhere.iterdir())


def test_words_that_are_no_unicode_are_heard(place: Path) -> None:
    async def test() -> None:
        ear = Ear()
        with RunChannel(place) as channel, connected(place) as probe:
            channel.attend(ear)
            probe.sendall(b'{"argv":["caf\\udce9","a\\ud800b"],"in":{"k":"\\ud800"}}\n')
            await until(ear, 1)
            channel.finish()
        said = {"argv": ["caf\udce9", "a\ufffdb"], "in": {"k": "\ufffd"}}
        assert ear.heard == [(said, [])]

    asyncio.run(test())
