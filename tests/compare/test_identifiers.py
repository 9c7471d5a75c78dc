"""What looks like an identifier, and which two may stand for each other."""

import time
from itertools import pairwise
from random import Random
from string import ascii_letters, digits
from uuid import UUID

import pytest

from rerail.compare.identifiers import identifiers, may_be_renamed

UUID_1 = "0198f0c2-aaaa-7000-8000-000000000001"


def found(text: str) -> list[tuple[str, str]]:
    return [(item.kind, text[item.start : item.end]) for item in identifiers(text)]


@pytest.mark.parametrize(
    ("text", "kind", "part"),
    [
        (f"session {UUID_1}.", "uuid", UUID_1),
        (f"msg_{UUID_1}", "uuid", UUID_1),
        (rf'{{"text":"a\n{UUID_1}"}}', "uuid", UUID_1),
        (UUID_1.upper(), "uuid", UUID_1.upper()),
        ("id=01ARZ3NDEKTSV4RRFFQ69G5FAV", "mixed26", "01ARZ3NDEKTSV4RRFFQ69G5FAV"),
        ("agents-sdk:run:00ffab12cd", "hex10", "00ffab12cd"),
        ("<object at 0x7f3c2d1e4a90>", "hex12", "7f3c2d1e4a90"),
        ("read_file-1764447655123-3", "epoch13", "1764447655123"),
        ("job_1764447655", "epoch10", "1764447655"),
        ("call_Ab3dE9fGhIjKlMnOpQ", "mixed18", "Ab3dE9fGhIjKlMnOpQ"),
    ],
)
def test_identifiers_are_found_alone_and_behind_a_prefix(text: str, kind: str, part: str) -> None:
    assert found(text) == [(kind, part)]


@pytest.mark.parametrize(
    "text",
    ["", "a word", "some_function_name", "a1b2c3d", "x" * 1000 + "1", "2026-11-29", "café-1"],
)
def test_words_and_short_or_endless_runs_are_none(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        ("hex8", "20250514", "20260101"),
        ("hex8", "0000001a", "0000002b"),
        ("hex32", "bf072e9119077b4e76437a93986787ef", "30cf3d7d133b08543cb6c8933c29dfd7"),
        ("hex40", "a1b2c3d4" * 5, "d4c3b2a1" * 5),
        ("hex64", "a1b2c3d4" * 8, "d4c3b2a1" * 8),
        ("mixed20", "createInvoiceV2Async", "deleteInvoiceV2Async"),
        ("mixed20", "internationalization", "institutionalization"),
        ("mixed16", "configuration123", "implementation12"),
        ("uuid", str(UUID(int=0)), UUID_1),
    ],
)
def test_numbers_digests_and_long_words_are_never_renamed(kind: str, old: str, new: str) -> None:
    assert not may_be_renamed(kind, old, new)
    assert not may_be_renamed(kind, new, old)


def test_what_is_made_at_random_may_be_renamed() -> None:
    random = Random(7)
    made = [UUID(int=random.getrandbits(128), version=4) for _ in range(200)]
    letters = ["".join(random.choices(ascii_letters + digits, k=24)) for _ in range(200)]
    for old, new in pairwise(made):
        assert may_be_renamed("uuid", str(old), str(new))
        assert may_be_renamed("hex32", old.hex, new.hex)
        assert may_be_renamed("hex8", old.hex[:8], "7f00ab1c")
    renamed = [may_be_renamed("mixed24", *pair) for pair in pairwise(letters)]
    assert sum(renamed) > 190
    assert may_be_renamed("epoch13", "1764447655123", "1764447999001")
    assert may_be_renamed("mixed26", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "01BX5ZZKBKACTAV9WEVGEMMVRZ")


@pytest.mark.parametrize("piece", ["a", "a1", "-", "0123456789abcdef-", "a1b2c3d4e5f60718 ", "\\n"])
def test_a_hostile_text_costs_time_in_proportion(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    began = time.process_time()
    sum(1 for _ in identifiers(text))
    assert time.process_time() - began < 2
