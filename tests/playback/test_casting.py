"""Which recorded child one of the replay is."""

from collections.abc import Callable
from typing import Any

import pytest

from rerail.playback.casting import Cast, Moment, RecordedChild, key
from rerail.playback.script import Script
from rerail.tape.chunks import encode_chunks
from rerail.tape.records import Body, ProcessEnded, ProcessOutput, ProcessSignalled, ProcessStarted

MS = 1_000_000
PIPES = {"stdin": "pipe", "stdout": "pipe", "stderr": "pipe"}


def key_for(*argv: str, cwd: str = "/somewhere", inside: int = 0, **streams: Any) -> Any:
    return key(False, argv, cwd, PIPES | streams, "/somewhere", inside)  # type: ignore[arg-type]


class Children:
    """Writes children onto a tape."""

    def __init__(self, maker: Any) -> None:
        self.maker = maker

    def start(self, number: int, *argv: str, **fields: Any) -> None:
        fields = {"cwd": "/somewhere", "streams": PIPES, "parent_process_id": 1, **fields}
        self.maker.add(ProcessStarted, process_id=number, argv=list(argv), **fields)

    def said(
        self, number: int, stream: str, *pieces: tuple[int, bytes], ended: str = "complete"
    ) -> None:
        content = b"".join(piece for _, piece in pieces)
        body = None
        if pieces:
            digest = self.maker.writer.blob(self.maker.redactor.body(content))
            table = encode_chunks((len(piece), at * MS) for at, piece in pieces)
            body = Body(digest=digest, size=len(content), framing="close", chunks=table)
        self.maker.add(ProcessOutput, process_id=number, stream=stream, body=body, ended=ended)

    def end(self, number: int, status: int = 0, **fields: Any) -> None:
        self.maker.add(ProcessEnded, process_id=number, status=status, **fields)

    def cast(self) -> Cast:
        return Cast(Script(self.maker.leave()))


@pytest.fixture
def children(tape_maker: Callable[[], Any]) -> Children:
    return Children(tape_maker())


def numbers(found: list[RecordedChild]) -> list[int]:
    return [child.number for child in found]


def test_arguments_folder_and_streams_make_two_equal(children: Children) -> None:
    children.start(2, "ls", "-la")
    children.start(3, "ls", "-la", cwd="/somewhere/else")
    children.start(4, "ls", "-la", streams=PIPES | {"stderr": "null"})
    children.start(5, "ls", "-la")
    children.start(6, "ls", "-la", failed="ENOENT")
    cast = children.cast()
    assert numbers(cast.likely(key_for("ls", "-la"))) == [2, 5]
    assert numbers(cast.likely(key_for("ls", "-la", cwd="/somewhere/else"))) == [3]
    assert numbers(cast.likely(key_for("ls", "-la", stderr="null"))) == [4]
    assert numbers(cast.likely(key_for("ls"))) == []


def test_the_folder_counts_from_that_of_the_run(children: Children) -> None:
    children.start(2, "ls", cwd="/somewhere/deep")
    cast = children.cast()
    moved = key(False, ["ls"], "/moved/deep", PIPES, "/moved", 0)  # type: ignore[arg-type]
    assert numbers(cast.likely(moved)) == [2]


def test_one_that_has_come_is_not_there_again(children: Children) -> None:
    children.start(2, "date")
    children.start(3, "date")
    cast = children.cast()
    wanted = key_for("date")
    first = cast.likely(wanted)[0]
    cast.take(wanted, first)
    assert numbers(cast.likely(wanted)) == [3]
    cast.put_back(wanted, first)
    assert numbers(cast.likely(wanted)) == [2, 3]
    for child in cast.likely(wanted):
        cast.take(wanted, child)
    assert cast.why_not(wanted) == "it was started fewer times in the recording"
    assert cast.why_not(key_for("ls")) == "it is not on the tape"


def test_parts_of_a_child_are_equal_only_within_it(children: Children) -> None:
    children.start(2, "make")
    children.start(3, "python", parent_process_id=2, streams={})
    children.start(4, "date", parent_process_id=3)
    children.start(5, "date")
    cast = children.cast()
    assert numbers(cast.likely(key_for("date"))) == [5]
    assert numbers(cast.likely(key_for("date", inside=2))) == [4]


def test_pieces_come_in_order_each_after_what_had_happened(children: Children) -> None:
    children.start(2, "cat")
    children.maker.request({"messages": [1]})
    asked_at = children.maker.at // MS
    children.maker.at += 10 * MS
    children.said(2, "stderr", (asked_at - 1, b"early"), (asked_at + 3, b"late"))
    children.said(2, "stdout", (asked_at + 2, b"middle"))
    children.said(2, "stdin", (asked_at + 1, b"told"))
    children.end(2)
    cast = children.cast()
    [child] = cast.likely(key_for("cat"))
    assert cast.told(child) == b"told"
    pieces = [(piece.stream, piece.content, piece.after) for piece in cast.pieces(child)]
    assert pieces[:3] == [
        ("stderr", b"early", Moment(0, 0, 0)),
        ("stdout", b"middle", Moment(1, 4, 0)),
        ("stderr", b"late", Moment(1, 4, 0)),
    ]
    assert [(stream, content) for stream, content, _ in pieces[3:]] == [
        ("stderr", b""), ("stdout", b""),
    ]  # fmt: skip


def test_what_follows_a_signal_waits_for_it(children: Children) -> None:
    children.start(2, "server")
    children.maker.add(ProcessSignalled, process_id=2, signal=15)
    children.said(2, "stdout", (children.maker.at // MS + 1, b"bye"))
    children.end(2)
    cast = children.cast()
    [child] = cast.likely(key_for("server"))
    assert cast.pieces(child)[0].after == Moment(0, 0, 1)
    assert not Moment(0, 0, 1).is_reached_by(Moment(5, 5, 0))
    assert Moment(0, 0, 1).is_reached_by(Moment(0, 0, 1))


def test_what_a_signal_ends_ends_its_streams_with_it(children: Children) -> None:
    children.start(2, "sleep")
    children.said(2, "stdout", (3, b"begun"))
    children.end(2, 137, signal=9)
    cast = children.cast()
    [child] = cast.likely(key_for("sleep"))
    assert [piece.content for piece in cast.pieces(child)] == [b"begun"]


@pytest.mark.parametrize(
    ("streams", "why"),
    [
        (PIPES | {"stdout": "passed"}, "its stdout is not on the tape"),
        (PIPES | {"stderr": "file"}, "its stderr is not on the tape"),
        ({"stdin": "null", "stdout": "pipe", "stderr": "inherited"}, ""),
        ({"stdin": "null", "stdout": "pipe", "stderr": "stdout"}, ""),
    ],
)
def test_what_is_not_on_the_tape_cannot_be_given_back(
    children: Children, streams: dict[str, str], why: str
) -> None:
    children.start(2, "ls", streams=streams)
    children.said(2, "stdout", (3, b"x"))
    children.end(2)
    [child] = children.cast().likely(key(False, ["ls"], "/somewhere", streams, "/somewhere", 0))  # type: ignore[arg-type]
    assert child.not_given_back == why


def test_a_child_that_asks_a_model_is_the_agent(children: Children) -> None:
    children.start(2, "agent")
    children.start(3, "python", parent_process_id=2, streams={})
    children.start(4, "curl")
    children.maker.request({"messages": [1]}, process_id=3)
    children.maker.request(method="GET", target="/page", process_id=4)
    cast = children.cast()
    [agent] = cast.likely(key_for("agent"))
    [curl] = cast.likely(key_for("curl"))
    assert agent.not_given_back == "it asked a model itself, and is answered from the tape"
    assert not curl.talked
    assert cast.requests_of({4}) == {2}
    assert cast.requests_of({2}) == {1}
