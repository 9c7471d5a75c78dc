"""What is said of a file that cannot be opened as a tape, and of one whose recorder died."""

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from rerail.errors import TapeUnreadable
from rerail.tape import form
from rerail.tape.reader import Tape


def refusal(path: Path) -> TapeUnreadable:
    with pytest.raises(TapeUnreadable) as caught:
        Tape.open(path)
    error = caught.value
    assert str(path) in error.what
    assert "\n" not in error.what
    assert not error.what.endswith(".")
    assert error.hint
    return error


def test_a_missing_file(tmp_path: Path) -> None:
    assert "no such file" in refusal(tmp_path / "no.tape").what


def test_a_path_through_a_file(finished) -> None:
    assert "no such file" in refusal(finished.path / "x.tape").what


def test_a_folder(tmp_path: Path) -> None:
    assert "it is a folder" in refusal(tmp_path).what


def test_what_is_no_file_at_all(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "it is not a file" in refusal(tmp_path / "pipe").what


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_no_permission(finished) -> None:
    finished.path.chmod(0)
    assert "permission denied" in refusal(finished.path).what


def test_no_permission_as_another_user(finished, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, to become another user")
    code = (
        "import os, sys; from pathlib import Path; from rerail.tape.reader import Tape\n"
        "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "try: Tape.open(Path(sys.argv[1]))\n"
        "except Exception as error: print(error.what); print(error.hint)"
    )
    folder = Path(tempfile.mkdtemp())
    try:
        folder.chmod(0o755)
        shutil.copy(finished.path, folder / "x.tape")
        command = [sys.executable, "-c", code, str(folder / "x.tape")]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    finally:
        shutil.rmtree(folder)
    assert "permission denied" in said
    assert "owner" in said


def test_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "x.tape").write_bytes(b"")
    assert "the file is empty" in refusal(tmp_path / "x.tape").what


@pytest.mark.parametrize("content", [b"#!/bin/sh\n" * 50, b"x", b"PK\x03\x04" + bytes(500)])
def test_a_file_of_another_kind(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.tape").write_bytes(content)
    assert "it is not a tape" in refusal(tmp_path / "x.tape").what


def test_a_database_of_something_else(tmp_path: Path) -> None:
    for application in (0, 77):
        path = tmp_path / f"{application}.tape"
        connection = sqlite3.connect(path)
        connection.execute(f"PRAGMA application_id = {application}")
        connection.execute("CREATE TABLE cookies(name, value)")
        connection.close()
        assert "an SQLite database, but not a tape" in refusal(path).what


def test_a_tape_of_a_later_version(finished) -> None:
    connection = sqlite3.connect(finished.path)
    connection.execute(f"PRAGMA user_version = {form.VERSION + 1}")
    connection.close()
    error = refusal(finished.path)
    assert f"version {form.VERSION + 1}" in error.what
    assert error.hint == "update rerail"


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE extra(x)",
        "CREATE INDEX by_size ON event(size)",
        "CREATE VIEW everything AS SELECT * FROM event",
        "CREATE TRIGGER gone AFTER INSERT ON event BEGIN DELETE FROM seal; END",
        "ALTER TABLE event ADD COLUMN kind TEXT",
        "DROP TABLE seal",
        "PRAGMA user_version = 0",
    ],
)
def test_other_tables_than_those_of_a_tape(finished, sql: str) -> None:
    connection = sqlite3.connect(finished.path)
    connection.execute(sql)
    connection.close()
    error = refusal(finished.path)
    assert "its tables are not those of a tape" in error.what
    assert "--repair" in (error.hint or "")


def test_a_tape_whose_end_is_missing(finished, tmp_path: Path) -> None:
    data = finished.path.read_bytes()
    (tmp_path / "cut.tape").write_bytes(data[:-100])
    error = refusal(tmp_path / "cut.tape")
    assert "its last 100 bytes are missing" in error.what
    assert f"rerail verify --repair NEW.tape {tmp_path / 'cut.tape'}" in (error.hint or "")


def test_a_tape_of_which_only_a_few_bytes_are_left(finished, tmp_path: Path) -> None:
    (tmp_path / "cut.tape").write_bytes(finished.path.read_bytes()[:60])
    assert "only 60 bytes of it are left" in refusal(tmp_path / "cut.tape").what


def test_a_tape_cut_anywhere_is_said_to_be(finished, tmp_path: Path) -> None:
    data = finished.path.read_bytes()
    cut = tmp_path / "cut.tape"
    for length in range(len(data)):
        if length < 200 or length % 41 == 0:
            cut.write_bytes(data[:length])
            refusal(cut)


def test_a_recorder_that_died_at_once_has_recorded_nothing(start_run, tmp_path: Path) -> None:
    run = start_run()
    left = run.left_behind(tmp_path / "dead")
    Path(f"{left}-wal").unlink()
    assert "nothing has been recorded on it" in refusal(left).what


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_a_lost_tape_is_put_together_elsewhere(
    lost: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    aside = tmp_path / "aside"
    aside.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(aside))
    before = names(lost.parent)
    with Tape.open(lost) as tape:
        assert tape.state == "lost"
        assert tape.last_seq == 9
        assert len(names(aside)) == 1
        assert aside.joinpath(names(aside)[0]).stat().st_mode & 0o777 == 0o700
    assert names(aside) == []
    assert names(lost.parent) == before


@pytest.mark.parametrize("suffix", ["-shm", "-wal"])
def test_what_lies_beside_a_lost_tape_may_be_gone(lost: Path, suffix: str) -> None:
    Path(f"{lost}{suffix}").unlink()
    if suffix == "-wal":
        # Nothing was checkpointed yet, so everything was in the log.
        assert "nothing has been recorded on it" in refusal(lost).what
        assert f"bring its log, {lost.name}-wal" in (refusal(lost).hint or "")
        return
    with Tape.open(lost) as tape:
        assert tape.last_seq == 9


def test_a_tape_left_in_log_mode_without_its_log_opens(start_run, tmp_path: Path) -> None:
    run = start_run()
    for exchange_id in range(1, 20):
        run.exchange(exchange_id)
    left = run.left_behind(tmp_path / "dead")
    connection = sqlite3.connect(left)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    data = left.read_bytes()
    connection.close()
    shutil.rmtree(left.parent)
    left.parent.mkdir()
    left.write_bytes(data)
    assert data[18:20] == b"\x02\x02"
    with Tape.open(left) as tape:
        assert tape.state == "lost"
        assert tape.last_seq == 58
    assert names(left.parent) == [left.name]


def test_a_stale_index_beside_a_finished_tape_does_not_matter(finished) -> None:
    Path(f"{finished.path}-shm").write_bytes(b"\x55" * 32768)
    Path(f"{finished.path}-wal").write_bytes(b"")
    with Tape.open(finished.path) as tape:
        assert tape.last_seq == 11


@pytest.mark.parametrize("which", ["finished", "lost"])
def test_a_tape_in_a_folder_that_cannot_be_written(
    which: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    fixture = request.getfixturevalue(which)
    path: Path = fixture if isinstance(fixture, Path) else fixture.path
    folder = tmp_path / "read only"
    folder.mkdir()
    for file in path.parent.glob(f"{path.name}*"):
        shutil.copy(file, folder)
        (folder / file.name).chmod(0o400)
    folder.chmod(0o500)
    try:
        with Tape.open(folder / path.name) as tape:
            assert tape.run.run_id == "run-1"
            list(tape.events())
    finally:
        folder.chmod(0o700)


def test_a_name_with_odd_characters_is_no_trouble(finished, tmp_path: Path) -> None:
    odd = tmp_path / "what? #1 %41 & ünï.tape"
    shutil.copy(finished.path, odd)
    with Tape.open(odd) as tape:
        assert tape.last_seq == 11


def test_a_name_that_is_no_text_is_no_trouble(finished, tmp_path: Path) -> None:
    odd = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.tape")
    try:
        shutil.copy(finished.path, odd)
    except OSError:
        pytest.skip("this file system takes no such name")
    with Tape.open(Path(odd)) as tape:
        assert tape.last_seq == 11


def test_a_tape_that_is_being_closed_can_be_opened_all_the_time(start_run) -> None:
    for turn in range(10):
        run = start_run(f"{turn}.tape")
        run.exchange(1)
        run.add_end()
        run.writer.flush()
        command = [sys.executable, "-c", OPEN_UNTIL_ONE_FILE, str(run.path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as reader:
            assert reader.stdout is not None
            assert reader.stdout.readline() == "reading\n"
            run.writer.close()
            said, _ = reader.communicate(timeout=30)
        assert said == "finished\n"


OPEN_UNTIL_ONE_FILE = """
import sys
from pathlib import Path
from rerail.tape.reader import Tape
path = Path(sys.argv[1])
done = False
turns = 0
while not done:
    done = not Path(f"{path}-wal").exists()
    with Tape.open(path) as tape:
        assert len(list(tape.events())) == tape.last_seq == 5
    turns += 1
    if turns == 1:
        print("reading", flush=True)
with Tape.open(path) as tape:
    print(tape.state)
"""


def half_changed(finished, folder: Path) -> Path:
    """A tape in the middle of a change that is not committed: file and rollback journal."""
    folder.mkdir()
    connection = sqlite3.connect(finished.path, isolation_level=None)
    connection.execute("PRAGMA cache_size = 1")
    connection.execute("BEGIN")
    for table in ("event", "blob"):
        connection.execute(f"UPDATE {table} SET size = size + 1")
    for suffix in ("", "-journal"):
        shutil.copyfile(f"{finished.path}{suffix}", f"{folder / 'x.tape'}{suffix}")
    connection.execute("ROLLBACK")
    connection.close()
    return folder / "x.tape"


def test_a_change_that_was_cut_short_is_undone_elsewhere(finished, tmp_path: Path) -> None:
    path = half_changed(finished, tmp_path / "half")
    before = path.read_bytes()
    with Tape.open(path) as tape:
        assert tape.last_seq == 11
        assert len(list(tape.events())) == 11
    assert path.read_bytes() == before


@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_journal_cannot_have_another_file_deleted(finished, tmp_path: Path, times: int) -> None:
    path = half_changed(finished, tmp_path / "half")
    victim = tmp_path / "precious"
    victim.write_bytes(b"dear to me")
    name = str(victim).encode()
    trailer = (0x40000000 // form.SMALL_PAGE_SIZE + 1).to_bytes(4, "big") + name
    trailer += len(name).to_bytes(4, "big") + sum(name).to_bytes(4, "big")
    with Path(f"{path}-journal").open("ab") as journal:
        journal.write(trailer + bytes.fromhex("d9d505f920a163d7") * times)
    with Tape.open(path) as tape:
        assert len(list(tape.events())) == 11
    assert victim.exists()


def test_a_lost_tape_that_cannot_be_copied_is_named(
    lost: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "no such folder"))
    error = refusal(lost)
    assert "cannot be copied aside" in error.what
    assert "TMPDIR" in (error.hint or "")
