"""A case's records: numbered, dated, by name, written once."""

import json
import os
import stat
import threading
from pathlib import Path

import pytest

from rerail.trace.case import Case, CaseThere, NoCase, new_folder, write_new


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case.create(tmp_path / "CASE-1")


def test_records_are_numbered_and_each_holds_the_one_before(case: Case) -> None:
    first = case.add("opened", by="ada", written=5, body={"a": "ä"})
    second = case.add("note", by="grace", written=6, body={})
    assert [one.number for one in case.entries()] == [1, 2]
    assert second.previous == first.digest
    assert case.last("opened") == first
    assert case.last("report") is None
    assert case.changed() == []


def test_only_the_owner_may_look(case: Case) -> None:
    case.add("opened", by="ada", written=5, body={})
    assert stat.S_IMODE(case.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((case.folder / "001-opened.json").stat().st_mode) == 0o400


def test_what_stands_in_the_place_of_a_record_is_said(case: Case) -> None:
    case.add("opened", by="ada", written=5, body={})
    place = case.folder / "007-x.json"
    place.mkdir()
    with pytest.raises(NoCase, match=r"007-x\.json cannot be read: it is no file"):
        case.entries()
    place.rmdir()
    os.mkfifo(place)
    with pytest.raises(NoCase, match="it is no file"):
        case.entries()
    place.unlink()
    place.symlink_to("nowhere")
    with pytest.raises(NoCase, match="No such file"):
        case.entries()


def test_two_writers_never_take_one_number(case: Case) -> None:
    case.add("opened", by="ada", written=0, body={})
    started = threading.Barrier(4)

    def write() -> None:
        started.wait()
        for number in range(5):
            case.add("note", by="ada", written=number, body={})

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [one.number for one in case.entries()] == list(range(1, 22))
    assert case.changed() == []
    assert not list(case.folder.glob(".*"))


def test_a_record_that_is_gone_or_was_changed_is_told_of(case: Case) -> None:
    for kind in ("opened", "note", "note"):
        case.add(kind, by="ada", written=1, body={})
    path = case.folder / "002-note.json"
    path.chmod(0o600)
    path.write_text(path.read_text().replace('"ada"', '"eve"'))
    assert case.changed() == ["record 2 was changed after record 3 was made"]
    path.unlink()
    assert case.changed() == ["record 2 is not there"]


def test_what_cannot_be_read_says_so(case: Case, tmp_path: Path) -> None:
    with pytest.raises(NoCase, match="is no case"):
        Case.open(tmp_path)
    with pytest.raises(NoCase, match="is no case"):
        Case.open(tmp_path / "nowhere")
    (case.folder / "001-opened.json").write_text("{")
    with pytest.raises(NoCase, match="cannot be read"):
        case.entries()


def test_a_folder_s_name_is_safe_and_new(tmp_path: Path) -> None:
    first = new_folder(tmp_path, "RUN/../../x y")
    assert first.parent == tmp_path
    assert first.name == "CASE-RUN-..-..-x-y"
    first.mkdir()
    assert new_folder(tmp_path, "RUN/../../x y").name == f"{first.name}-2"
    with pytest.raises(CaseThere):
        Case.create(first)


def test_a_file_is_there_whole_and_replaces_none(tmp_path: Path) -> None:
    write_new(tmp_path / "a.md", b"one")
    with pytest.raises(CaseThere):
        write_new(tmp_path / "a.md", b"two")
    assert (tmp_path / "a.md").read_bytes() == b"one"
    assert json.dumps(sorted(path.name for path in tmp_path.iterdir())) == '["a.md"]'


# The seal.


def three(case: Case) -> Path:
    """Three records; the last one's file."""
    for kind in ("opened", "note", "note"):
        case.add(kind, by="ada", written=1, body={})
    return case.folder / "003-note.json"


def test_the_last_record_cannot_be_changed_unnoticed(case: Case) -> None:
    last = three(case)
    last.chmod(0o600)
    last.write_text(last.read_text().replace('"ada"', '"eve"'))
    assert case.changed() == ["record 3 is not the one that was sealed"]
    case.add("note", by="ada", written=2, body={})
    assert case.changed() == ["record 3 is not the one that was sealed"], "a later one hides it"


def test_the_last_record_cannot_be_taken_away_unnoticed(case: Case) -> None:
    three(case).unlink()
    assert case.changed() == ["record 3 is not there any more: 3 were sealed"]
    case.add("note", by="eve", written=2, body={})
    assert case.changed() == ["record 3 is not the one that was sealed"]


def test_a_record_that_nobody_sealed_is_told_of(case: Case) -> None:
    three(case)
    seal = case.folder / "seal.jsonl"
    lines = seal.read_bytes().splitlines(keepends=True)
    seal.write_bytes(b"".join(lines[:2]))
    assert case.changed()[0].startswith("record 3 was never sealed")
    seal.write_bytes(b"".join(lines[:2]) + b"{}\n")
    assert case.changed() == ["a line of its seal cannot be read"]
    seal.unlink()
    assert case.changed()[0].startswith("it has no seal")


def test_whose_seal_it_is_shows_by_the_key(tmp_path: Path) -> None:
    own = Case.create(tmp_path / "CASE-2", lambda: b"mine")
    three(own)
    other = Case.open(own.folder, lambda: b"another's")
    other.add("review", by="grace", written=2, body={})
    assert (own.changed(), other.changed()) == ([], [])
    assert own.sealed_elsewhere() == [4]
    assert other.sealed_elsewhere() == [1, 2, 3]
