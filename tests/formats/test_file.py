import os
from pathlib import Path

import pytest

from rerail.formats import file as reading
from rerail.formats.file import ImportRefused, open_foreign


def test_a_torn_line_costs_itself_alone(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"a": 1}\n{"a": \n\n[2]\n')
    found = open_foreign(path)
    assert [tuple(value) for value in found.values] == [(1, {"a": 1}), (4, [2])]
    assert found.torn == [2]


def test_a_document_over_several_lines_is_one(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('\ufeff{\n "a": [1,\n 2]\n}\n')
    assert open_foreign(path).document == {"a": [1, 2]}


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"hello\n", "it is not JSON"),
        (b"", "it is not JSON"),
        (b"[1,\n", "line 2, column 1 is not JSON"),
        (b"\xff\xfe{}", "byte 0 is no UTF-8"),
        (b"[" * 100_000, "cannot be read"),
    ],
)
def test_what_is_no_json_is_refused_with_its_place(
    tmp_path: Path, content: bytes, what: str
) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content)
    with pytest.raises(ImportRefused, match=what):
        open_foreign(path)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.json")
    with pytest.raises(ImportRefused, match="it is a pipe"):
        open_foreign(tmp_path / "x.json")


def test_what_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"a":\n 12345678}')
    monkeypatch.setattr(reading, "LARGEST_DOCUMENT", 10)
    with pytest.raises(ImportRefused, match="more than"):
        open_foreign(path)
    monkeypatch.setattr(reading, "LARGEST", 10)
    with pytest.raises(ImportRefused, match="larger than"):
        open_foreign(path)
