"""The folder between the recorder and the probes: its page, its logs, and that it goes away."""

import errno
import os
import shutil
import stat
import struct
from pathlib import Path

import msgspec
import pytest

from rerail.errors import UsageProblem
from rerail.launch import run_folder
from rerail.launch.run_folder import HEAD_SIZE, PAGE_SIZE, ProbeSettings, RunFolder

SETTINGS = ProbeSettings(mode="record", seed="ab" * 32)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return RunFolder.make(SETTINGS)


def page_of(folder: RunFolder) -> tuple[int, ...]:
    content = (folder.path / "page").read_bytes()
    assert len(content) == PAGE_SIZE
    return struct.unpack("<QQQqqqQ", content[:56])


def test_only_its_owner_can_look_into_it(folder: RunFolder) -> None:
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder.path / "page").stat().st_mode) == 0o600


def test_the_page_shows_what_was_published_last(folder: RunFolder) -> None:
    folder.page.turn, folder.page.wall_base, folder.page.mono_base = 7, -5, 1 << 60
    folder.page.wall_limit, folder.page.flags = 9, 1
    version, counter, *_ = page_of(folder)
    folder.publish()
    assert page_of(folder) == (version, counter + 2, 7, -5, 1 << 60, 9, 1)
    assert counter % 2 == 0


def test_a_time_that_no_clock_says_is_the_last_that_can_be_shown(folder: RunFolder) -> None:
    folder.page.wall_base, folder.page.wall_limit = (1 << 64) - 1, -(1 << 70)
    folder.publish()
    assert page_of(folder)[3] == (1 << 63) - 1
    assert page_of(folder)[5] == -(1 << 63) + 1


def test_a_turn_is_counted_for_its_process_and_for_the_run(folder: RunFolder) -> None:
    for process in (2, 0, 2, 70000):
        folder.turn_begins(process)
    assert page_of(folder)[2] == 4
    content = (folder.path / "page").read_bytes()
    assert struct.unpack_from("<4Q", content, HEAD_SIZE) == (1, 0, 2, 0)


def test_settings_stand_there_before_the_command_starts(folder: RunFolder) -> None:
    read = msgspec.json.decode((folder.path / "settings.json").read_bytes(), type=ProbeSettings)
    assert read == SETTINGS


def test_news_are_whole_lines_once(folder: RunFolder) -> None:
    log = folder.path / "p" / "2.log"
    log.write_bytes(b"hello\t{}\nt\t0")
    assert list(folder.news()) == [(2, b"hello\t{}\n")]
    assert list(folder.news()) == []
    with log.open("ab") as more:
        more.write(b"\t1\t5\nt\t1\t1\t6\n")
    (folder.path / "p" / "1.log").write_bytes(b"x\n")
    assert list(folder.news()) == [(1, b"x\n"), (2, b"t\t0\t1\t5\nt\t1\t1\t6\n")]


def test_a_folder_that_somebody_cleared_away_is_gone_and_stops_nobody(folder: RunFolder) -> None:
    log = folder.path / "p" / "3.log"
    log.write_bytes(b"one\n")
    assert list(folder.news()) == [(3, b"one\n")]
    with log.open("ab") as still_open:
        shutil.rmtree(folder.path)
        still_open.write(b"two\n")
    assert list(folder.news()) == [(3, b"two\n")]
    assert folder.is_gone
    folder.turn_begins(3)
    assert list(folder.news()) == []
    folder.remove()


def test_what_was_recorded_is_given_back_by_name(folder: RunFolder) -> None:
    folder.give_back({"00ff.0": b"log"})
    assert (folder.path / "v" / "00ff.0").read_bytes() == b"log"


def test_it_goes_away_with_everything_in_it(folder: RunFolder) -> None:
    (folder.path / "k" / "a.0").touch()
    (folder.path / "p" / "1.log").write_bytes(b"x\n")
    list(folder.news())
    with folder:
        pass
    assert not folder.path.exists()
    folder.remove()


def test_a_folder_in_which_no_socket_could_be_named_is_not_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / ("d" * 100)
    deep.mkdir()
    monkeypatch.setenv("TMPDIR", str(deep))
    with RunFolder.make(SETTINGS) as folder:
        assert len(os.fsencode(folder.channel)) < 108


def test_the_hash_seed_follows_from_the_seed() -> None:
    seeds = {ProbeSettings(mode="record", seed=seed * 32).hash_seed for seed in ("00", "01")}
    assert len(seeds) == 2
    assert all(seed is not None and 0 < seed < 1 << 32 for seed in seeds)
    assert ProbeSettings(mode="record", seed="", random=False).hash_seed is None


def test_a_folder_that_cannot_be_made_is_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_folder, "_PLACES", ("/proc",))
    monkeypatch.setenv("TMPDIR", "/nowhere/at/all")
    with pytest.raises(UsageProblem, match="no folder for temporary files") as raised:
        RunFolder.make(SETTINGS)
    assert "TMPDIR" in str(raised.value.hint)


def test_a_place_that_is_full_is_a_clear_error_and_left_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(run_folder, "hold", full)
    with pytest.raises(UsageProblem, match=f"cannot write to {tmp_path}: No space left") as raised:
        RunFolder.make(SETTINGS)
    assert "TMPDIR" in str(raised.value.hint)
    assert not list(tmp_path.iterdir())


def test_what_a_killed_recorder_left_goes_with_the_next_run(
    folder: RunFolder, tmp_path: Path
) -> None:
    left = tmp_path / "rerail-run-0011223344556677"
    (left / "p").mkdir(parents=True)
    (left / "p" / "1.log").write_bytes(b"r\t0\t1\tab\n")
    (left / "page").write_bytes(bytes(PAGE_SIZE))
    others = [tmp_path / "rerail-run-of-somebody-else", tmp_path / "kept"]
    for other in others:
        other.mkdir()
        (other / "page").touch()
    running = RunFolder.make(SETTINGS)
    folder.remove()
    assert not left.exists()
    assert running.path.exists()
    assert all(other.exists() for other in others)
    running.remove()


def test_a_log_is_a_file_of_the_folder_and_nothing_that_took_its_name(
    folder: RunFolder, tmp_path: Path
) -> None:
    hidden = tmp_path / "hidden.log"
    hidden.write_bytes(b"a secret\n")
    (folder.path / "p" / "1.log").symlink_to(hidden)
    os.mkfifo(folder.path / "p" / "2.log")
    (folder.path / "p" / "²3.log").write_bytes(b"no number\n")
    assert list(folder.news()) == []
    assert folder.first_line(1) == folder.first_line(2) == b""
    (folder.path / "p").rename(folder.path / "moved")
    (folder.path / "p").symlink_to(tmp_path)
    (tmp_path / "4.log").write_bytes(b"elsewhere\n")
    assert list(folder.news()) == []
    assert folder.first_line(4) == b""


def test_links_in_it_go_away_and_what_they_lead_to_stays(folder: RunFolder, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").touch()
    (folder.path / "p" / "link").symlink_to(kept)
    folder.remove()
    assert not folder.path.exists()
    assert (kept / "file").exists()
