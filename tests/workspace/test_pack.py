"""Files on a tape: each content once, none with a secret in it, none larger than allowed."""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest

from rerail.redact.apply import Redactor
from rerail.tape.clean import CleanRecord
from rerail.tape.reader import Tape
from rerail.tape.records import RunEnded, RunStarted
from rerail.tape.trees import Tree
from rerail.tape.writer import TapeWriter
from rerail.workspace import pack
from rerail.workspace.pack import Packer, digest_of
from rerail.workspace.scan import NotKept

SECRET = "sk-proj-AbC-123-xyz-0009"
Packed = tuple[Packer, Callable[[], Tape]]


@pytest.fixture
def packed(tmp_path: Path) -> Iterator[Packed]:
    """A packer, and the tape once it is finished."""
    writer = TapeWriter.create(tmp_path / "kept.tape")
    writer.append(
        CleanRecord(RunStarted(at=0, wall=0, run_id="r", task_id="t", writer="w", argv=[], cwd="/"))
    )
    opened: list[Tape] = []

    def finish() -> Tape:
        writer.append(CleanRecord(RunEnded(at=1, wall=1, status=0)))
        writer.close()
        opened.append(Tape.open(writer.path))
        return opened[0]

    yield Packer(writer, Redactor.create(key=b"k", secrets=[SECRET])), finish
    for tape in opened:
        tape.close()


def keep(packer: Packer, path: Path, *, asked_for: bool = False) -> tuple[bytes, int]:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return packer.keep(descriptor, os.fstat(descriptor), asked_for)
    finally:
        os.close(descriptor)


SIZES = [0, 1, 5000, 1 << 20, (1 << 20) + 1, 9 << 20]


@pytest.mark.parametrize("size", SIZES)
def test_a_file_is_kept_whatever_its_size(packed: Packed, tmp_path: Path, size: int) -> None:
    packer, finish = packed
    content = os.urandom(size // 2) + bytes(size - size // 2)
    (tmp_path / "file").write_bytes(content)
    digest, kept = keep(packer, tmp_path / "file")
    assert (digest, kept) == (sha256(content).digest(), size)
    assert finish().blob(digest) == content


@pytest.mark.parametrize("size", [5000, 9 << 20])
def test_the_same_content_is_kept_once(packed: Packed, tmp_path: Path, size: int) -> None:
    packer, finish = packed
    for name in ("one", "two"):
        (tmp_path / name).write_bytes(b"x" * size)
        keep(packer, tmp_path / name)
    tape = finish()
    assert len(tape.evidence.digests()) == 1
    assert tape.unfinished() == []


@pytest.mark.parametrize("size", [100, (3 << 20) - 10, 9 << 20])
def test_a_file_with_a_secret_is_not_kept(packed: Packed, tmp_path: Path, size: int) -> None:
    packer, finish = packed
    content = os.urandom(size) + SECRET.encode()
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(NotKept, match="secret"):
        keep(packer, tmp_path / "file")
    tape = finish()
    assert tape.evidence.digests() == []
    assert tape.unfinished() == []
    assert SECRET.encode() not in tape.path.read_bytes()


def parts_of(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        [count] = connection.execute("SELECT count(*) FROM part").fetchone()
    return int(count)


def test_nothing_is_left_of_a_file_in_which_a_secret_lies_across_two_pieces(
    packed: Packed, tmp_path: Path
) -> None:
    packer, finish = packed
    (tmp_path / "file").write_bytes(os.urandom((3 << 20) - 20) + SECRET.encode() + b"more")
    with pytest.raises(NotKept, match="secret"):
        keep(packer, tmp_path / "file")
    tape = finish()
    assert SECRET[:8].encode() not in tape.path.read_bytes()
    assert parts_of(tape.path) == 0


def test_a_secret_that_comes_into_a_file_while_it_is_read_is_not_kept_either(
    packed: Packed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packer, finish = packed
    path = tmp_path / "file"
    path.write_bytes(os.urandom(9 << 20))
    read = pack._pieces

    def pieces(descriptor: int) -> Iterator[bytes]:
        yield from read(descriptor)
        with path.open("r+b") as file:
            file.seek((5 << 20) - 20)
            file.write(SECRET.encode())

    monkeypatch.setattr(pack, "_pieces", pieces)
    with pytest.raises(NotKept, match="secret"):
        keep(packer, path)
    tape = finish()
    assert SECRET[:8].encode() not in tape.path.read_bytes()
    assert parts_of(tape.path) == 0


def test_a_file_that_is_too_large_is_kept_only_if_it_is_asked_for(
    packed: Packed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packer, _ = packed
    monkeypatch.setattr(pack, "FILE_SIZE", 10)
    (tmp_path / "file").write_bytes(b"x" * 11)
    with pytest.raises(NotKept, match="larger than"):
        keep(packer, tmp_path / "file")
    assert keep(packer, tmp_path / "file", asked_for=True)[1] == 11


def test_a_run_keeps_no_more_than_so_much(
    packed: Packed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packer, _ = packed
    monkeypatch.setattr(pack, "TOTAL_SIZE", 10)
    for name, content in (("one", b"123456"), ("two", b"1234567"), ("three", b"123")):
        (tmp_path / name).write_bytes(content)
    keep(packer, tmp_path / "one")
    with pytest.raises(NotKept, match="together"):
        keep(packer, tmp_path / "two")
    keep(packer, tmp_path / "three")
    keep(packer, tmp_path / "one")


def test_a_tree_whose_names_hold_a_secret_is_not_kept(
    packed: Packed, tmp_path: Path, scanned: Callable[[Path], Tree]
) -> None:
    packer, _ = packed
    (tmp_path / "in").mkdir()
    assert packer.tree(scanned(tmp_path / "in")) is not None
    (tmp_path / "in" / SECRET).touch()
    assert packer.tree(scanned(tmp_path / "in")) is None


def test_a_comparison_reads_the_same(packed: Packed, tmp_path: Path) -> None:
    packer, _ = packed
    (tmp_path / "file").write_bytes(os.urandom(3 << 20))
    descriptor = os.open(tmp_path / "file", os.O_RDONLY)
    facts = os.fstat(descriptor)
    assert digest_of(descriptor, facts, False) == packer.keep(descriptor, facts, False)
    os.close(descriptor)
