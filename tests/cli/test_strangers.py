"""A tape that was not recorded here decides nothing of what runs."""

import stat
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from rerail.tape.clean import CleanBytes, CleanRecord
from rerail.tape.reader import Tape
from rerail.tape.records import WorkspaceSnapshot
from rerail.tape.seal import verify
from rerail.tape.trees import Entry, decode_tree, encode_tree
from rerail.tape.writer import TapeWriter

Rerail = Callable[..., Any]
Make = Callable[..., Any]


@pytest.fixture(autouse=True)
def private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to be in, and a certificate authority of one's own."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    place = tmp_path / "place"
    place.mkdir()
    monkeypatch.chdir(place)
    return place


@pytest.fixture
def strangers(make_tape: Make, tmp_path: Path) -> Callable[..., Path]:
    """`strangers(**fields)` makes a tape whose command leaves a trace."""

    def make(**fields: Any) -> Path:
        trace = ["sh", "-c", f"pwd > {tmp_path}/ran; echo $NAMED >> {tmp_path}/ran"]
        recording = make_tape(argv=trace, cwd=str(tmp_path), **fields)
        recording.end()
        return Path(recording.path)

    return make


def test_the_command_of_a_strangers_tape_is_not_run(
    rerail: Rerail, strangers: Callable[..., Path], tmp_path: Path
) -> None:
    result = rerail("replay", strangers(), "-o", tmp_path / "out.tape")
    result.assert_complaint(2, "would run `sh -c", "--trust")
    assert "not recorded by you on this machine" in result.err
    assert not (tmp_path / "ran").exists() and not (tmp_path / "out.tape").exists()


def test_nor_are_its_variables_set_or_its_folder_entered(
    rerail: Rerail, strangers: Callable[..., Path], tmp_path: Path, private: Path
) -> None:
    tape = strangers(environment={"NAMED": "by a stranger"})
    own = ["sh", "-c", f"pwd > {tmp_path}/ran; echo $NAMED >> {tmp_path}/ran"]
    rerail("replay", tape, "--", *own).assert_complaint(2, "would set NAMED", "-e NAME=VALUE")
    assert not (tmp_path / "ran").exists()
    said = rerail("replay", tape, "-e", "NAMED=by me", "--", *own).err
    assert (tmp_path / "ran").read_text() == f"{private}\nby me\n"
    assert f"the recorded folder {tmp_path} was not entered" in said


def test_with_trust_it_is_replayed_as_ones_own(
    rerail: Rerail, strangers: Callable[..., Path], tmp_path: Path
) -> None:
    rerail("replay", strangers(environment={"NAMED": "value"}), "--trust")
    assert (tmp_path / "ran").read_text() == f"{tmp_path}\nvalue\n"


def test_ones_own_tape_needs_no_trust(rerail: Rerail, tmp_path: Path) -> None:
    program = ["sh", "-c", f"echo $NAMED >> {tmp_path}/ran"]
    tape = tmp_path / "own.tape"
    assert (
        rerail("record", "-q", "--no-workspace", "-o", tape, "-e", "NAMED=x", "--", *program).status
        == 0
    )
    rerail("replay", tape, "-o", tmp_path / "again.tape")
    rerail("replay", tmp_path / "again.tape")
    assert (tmp_path / "ran").read_text() == "x\nx\nx\n"


def test_a_credential_in_its_words_makes_it_no_strangers(rerail: Rerail, tmp_path: Path) -> None:
    """What stands on the tape is what was witnessed: the arguments as they were cleaned."""
    tape = tmp_path / "own.tape"
    words = ["true", "--api-key", "sk-proj-a1B2c3D4e5F6g7H8i9J0"]
    assert rerail("record", "-q", "--no-workspace", "-o", tape, "--", *words).status == 0
    assert rerail("replay", tape).status == 1


def test_a_replay_that_cannot_start_says_so_on_its_own_tape(rerail: Rerail, tmp_path: Path) -> None:
    tape, out = tmp_path / "own.tape", tmp_path / "out.tape"
    assert rerail("record", "-q", "--no-workspace", "-o", tape, "--", "true").status == 0
    assert rerail("replay", tape, "-o", out, "--", "./no-such-program").status != 0
    with Tape.open(out) as opened:
        assert opened.ended is not None
        assert opened.ended.reason.startswith("it did not start: ")


def with_a_file(source: Path, target: Path, name: bytes, content: bytes) -> None:
    """The same tape, but that a file more was in its folder."""
    writer = TapeWriter.create(target)
    added = Entry(name, "file", stat.S_IFREG | 0o644, len(content), 0, sha256(content).digest())
    writer.blob(CleanBytes(content))
    with Tape.open(source) as tape:
        for digest in tape.evidence.digests():
            writer.blob(CleanBytes(tape.blob(digest)))
        for event in tape.events():
            if isinstance(event, WorkspaceSnapshot):
                held = (*decode_tree(tape.blob(event.tree)), added)
                tree = encode_tree(tuple(sorted(held, key=lambda entry: entry.path)))
                digest = writer.blob(CleanBytes(tree))
                event = replace(event, tree=digest, tree_size=len(tree))
            writer.append(CleanRecord(event))
    writer.close()


def test_a_file_that_was_put_onto_ones_own_tape_is_not_run(rerail: Rerail, private: Path) -> None:
    tape, other = private.parent / "own.tape", private.parent / "other.tape"
    (private / "agent.py").write_text("import helper_of_a_stranger", "utf-8")
    program = [sys.executable, "agent.py"]
    assert rerail("record", "-q", "-o", tape, "--", *program).status == 1
    with_a_file(tape, other, b"helper_of_a_stranger.py", b"print('a stranger runs')")
    rerail("replay", tape)
    for files in ("present", "recorded"):
        result = rerail("replay", other, "--workspace", files)
        assert "not as you recorded them on this machine" in result.err
        assert "a stranger runs" not in result.out
    rerail("steps", other, "--check", "true").assert_complaint(2, "a check would run", "--trust")
    with Tape.open(tape) as own, Tape.open(other) as changed:
        assert verify(changed).intact
        assert own.run == changed.run
    trusted = rerail("replay", other, "--workspace", "recorded", "--trust")
    assert "a stranger runs" in trusted.out
