"""A real file with something hostile anywhere in it is imported or refused, and told as JSON."""

import json
import struct
import zipfile
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rerail.cli.import_ import _values
from rerail.cli.screen.texts import json_text
from rerail.formats import inspect_log
from rerail.formats import lines as reading_lines
from rerail.formats.archive import content
from rerail.formats.file import ImportRefused, open_foreign
from rerail.formats.lines import lines_of
from rerail.formats.reading import import_file
from rerail.trace.detect.detector import Material
from rerail.trace.detect.detectors import detect
from tests.formats.outlines import KEPT

FRAGMENTS = [
    b"null", b"true", b"-1", b"0", b'""', b"[]", b"{}", b"[[[[1]]]]", b'{"a": {"b": []}}',
    b"1e999", b"-1e999", b"NaN", b"9" * 400, b"1" + b"0" * 5000, b"0.1", b'"\\u0000"', b'"\\ud800"',
    b'"\\ud83d\\ude00"', b'"\\u202e\\u001b[31m"', b'"{"', b'"[1,"', b'"2026-13-45T99:99:99Z"',
    b'"\xc2\xb2"', b'"-0"', b'"' + b"9" * 5000 + b'"', b'{"type": "text"}', b'[{"role": "tool"}]',
    b'{"a": 1, "a": 2}', b"[" * 400 + b"]" * 400, b'"\xff"', b'"\x00"', b"{", b"",
]  # fmt: skip
"""Values that no program should write, and bytes that are none."""
MARK = "\ue000here\ue000"
NAMES = sorted(path.name for path in KEPT.iterdir() if path.name != "inspect-eval")


@cache
def records(name: str) -> list[Any]:
    path = max((KEPT / name).iterdir(), key=lambda one: one.stat().st_size)
    return [value for _, value in open_foreign(path).values]


def with_mark(value: Any, turns: list[int]) -> Any:
    """A copy in which the mark stands where the turns lead."""
    if not turns or not isinstance(value, dict | list) or not value:
        return MARK
    keys = sorted(value) if isinstance(value, dict) else range(len(value))
    key = keys[turns[0] % len(keys)]
    copied = dict(value) if isinstance(value, dict) else list(value)
    copied[key] = with_mark(value[key], turns[1:])
    return copied


def imported_or_refused(path: Path) -> None:
    try:
        imported = import_file(path)
    except ImportRefused as refused:
        assert refused.hint
        return
    findings = detect(Material(imported.stories))
    text = json_text(_values(imported, imported.stories, findings))
    json.loads(text, parse_constant=_no_json)
    for story in imported.stories:
        assert story.gaps
        assert not story.recorded


def _no_json(word: str) -> None:
    raise AssertionError(f"{word} is no JSON")


@pytest.mark.parametrize("name", NAMES)
@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    record=st.integers(0, 10**6),
    turns=st.lists(st.integers(0, 40), min_size=1, max_size=9),
    fragment=st.sampled_from(FRAGMENTS),
)
def test_a_hostile_value_anywhere(
    tmp_path: Path, name: str, record: int, turns: list[int], fragment: bytes
) -> None:
    found = records(name)
    at = record % len(found)
    changed = [*found[:at], with_mark(found[at], turns), *found[at + 1 :]]
    raw = b"".join(json.dumps(one, ensure_ascii=False).encode() + b"\n" for one in changed)
    path = tmp_path / "x.jsonl"
    path.write_bytes(raw.replace(json.dumps(MARK, ensure_ascii=False).encode(), fragment))
    imported_or_refused(path)


@pytest.mark.parametrize("name", NAMES)
@settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(cut=st.integers(1, 10**6), flipped=st.integers(0, 10**6))
def test_a_file_that_was_cut_and_has_a_bad_byte(
    tmp_path: Path, name: str, cut: int, flipped: int
) -> None:
    raw = bytearray(b"".join(json.dumps(one).encode() + b"\n" for one in records(name)))
    raw = raw[: cut % len(raw) + 1]
    raw[flipped % len(raw)] ^= 0x80
    path = tmp_path / "x.jsonl"
    path.write_bytes(raw)
    imported_or_refused(path)


def test_a_line_that_is_too_long_costs_itself_alone_and_no_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading_lines, "LONGEST_LINE", 1000)
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"role": "user"}\n"' + b"a" * 5_000_000 + b'"\n{"role": "user"}')
    assert [(line.number, line.raw is None) for line in lines_of(path)] == [
        (1, False),
        (2, True),
        (3, False),
    ]
    story = import_file(path).stories[0]
    assert [said.ref for said in story.said] == ["line 1", "line 3"]
    assert "lines that are no JSON: 2" in [gap.what for gap in story.gaps]


def test_a_packed_line_that_never_ends_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading_lines, "LONGEST_LINE", 1 << 16)
    monkeypatch.setattr(reading_lines, "LARGEST", 1 << 22)
    path = tmp_path / "x.jsonl.zst"
    path.write_bytes(zstandard.compress(b'{"a": 1}\n"' + b"a" * (1 << 23)))
    with pytest.raises(ImportRefused, match="unpacks to more than"):
        import_file(path)


def test_many_lines_are_known_by_their_first_and_read_to_the_last(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"role": "user", "content": "hi"}\n' * 3000 + "{torn\n" + '{"b": 1}\n')
    told: list[tuple[int, int]] = []
    (story,) = import_file(path, told=lambda done, all_: told.append((done, all_))).stories
    assert (len(story.said), story.said[-1].ref) == (3000, "line 3000")
    gaps = [gap.what for gap in story.gaps]
    assert "lines that are no messages: 1" in gaps
    assert "lines that are no JSON: 3001" in gaps


# Archives.


def zstd_archive(path: Path, name: str, packed: bytes, *, crc: int, size: int) -> Path:
    """An archive of one member, packed as newer programs pack; what it claims need not be so."""
    raw = name.encode()
    common = struct.pack("<HHHHHIIIHH", 20, 0, 93, 0, 0x21, crc, len(packed), size, len(raw), 0)
    local = b"PK\x03\x04" + common + raw + packed
    central = b"PK\x01\x02\x14\x00" + common + struct.pack("<HHHII", 0, 0, 0, 0, 0) + raw
    end = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(central), len(local), 0)
    path.write_bytes(local + central + end)
    return path


SAMPLE = json.dumps({"id": 1, "messages": [{"role": "user", "content": "hi"}]}).encode()


def test_a_member_packed_with_zstd_is_read(tmp_path: Path) -> None:
    path = zstd_archive(
        tmp_path / "x.eval",
        "samples/1.json",
        zstandard.compress(SAMPLE),
        crc=zlib.crc32(SAMPLE),
        size=len(SAMPLE),
    )
    assert import_file(path).stories[0].said[0].message.text == "hi"
    with zipfile.ZipFile(path) as archive:
        assert content(path, archive, archive.infolist()[0], 1 << 20) == SAMPLE


def deflated(path: Path, claimed: int) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("samples/1.json", b'"' + b"0" * 4_000_000 + b'"')
    raw = path.read_bytes()
    size = struct.pack("<I", 4_000_002)
    path.write_bytes(raw.replace(size, struct.pack("<I", claimed)))
    return path


def zstd_bomb(path: Path, claimed: int) -> Path:
    packed = zstandard.compress(b'"' + b"0" * 4_000_000 + b'"')
    return zstd_archive(path, "samples/1.json", packed, crc=0, size=claimed)


@pytest.mark.parametrize("bomb", [deflated, zstd_bomb])
@pytest.mark.parametrize("claimed", [4_000_002, 10])
def test_a_bomb_is_refused_whatever_size_it_claims(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bomb: Callable[..., Path], claimed: int
) -> None:
    monkeypatch.setattr(inspect_log, "LARGEST_DOCUMENT", 1 << 20)
    with pytest.raises(ImportRefused) as refused:
        import_file(bomb(tmp_path / "x.eval", claimed))
    assert refused.value.hint


@settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(at=st.integers(0, 10**6), value=st.integers(0, 255), cut=st.integers(0, 10**6))
def test_an_archive_with_another_byte_or_cut(tmp_path: Path, at: int, value: int, cut: int) -> None:
    raw = bytearray((KEPT / "inspect-eval" / "1.eval").read_bytes())
    raw[at % len(raw)] = value
    path = tmp_path / "x.eval"
    path.write_bytes(raw[: len(raw) - cut % len(raw)] if cut % 3 == 0 else raw)
    imported_or_refused(path)
