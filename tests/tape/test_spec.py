"""The specification says what the code does."""

import re
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from rerail.tape import form
from rerail.tape.records import AnyEvent, Body, Event, Parent
from rerail.tape.verification import Code

SPEC = (Path(__file__).parents[2] / "spec" / "tape.md").read_text("utf-8")
KINDS = get_args(AnyEvent)
COMMON = {field.name for field in msgspec.structs.fields(Event)}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_kind_of_event_is_there_with_all_its_keys(kind: type[Event]) -> None:
    tag = kind.__struct_config__.tag
    [row] = re.findall(rf"^\| `{re.escape(str(tag))}` \| (.*) \|$", SPEC, re.MULTILINE)
    own = {field.name for field in msgspec.structs.fields(kind)} - COMMON
    assert own <= set(re.findall(r"`(\w+)`", row))


@pytest.mark.parametrize("kind", [Body, Parent])
def test_the_keys_of_what_is_inside_events_are_there(kind: type[msgspec.Struct]) -> None:
    for field in msgspec.structs.fields(kind):
        assert f"`{field.name}`" in SPEC


def test_the_schema_is_there_word_by_word() -> None:
    for table in form.TABLES:
        assert table in SPEC


def test_every_finding_is_there() -> None:
    for code in get_args(Code):
        assert f"`{code}`" in SPEC


def test_the_numbers_are_there() -> None:
    assert f"0x{form.APPLICATION_ID:08X}" in SPEC
    assert f"{form.PARTS_PER_BODY:,}" in SPEC
    assert f"every {form.EVENTS_PER_SEAL:,} events" in SPEC
    for name, size in (
        ("an event", f"{form.EVENT_SIZE >> 20} MiB"),
        ("events in a frame", str(form.EVENTS_PER_FRAME)),
        ("a content in a frame", f"{form.BLOB_SIZE >> 20} MiB"),
        ("blobs in a frame", str(form.BLOBS_PER_FRAME)),
        ("window a frame may ask for", f"{1 << form.WINDOW_LOG >> 20} MiB"),
        ("a part", f"{form.PART_SIZE >> 20} MiB"),
    ):
        assert f"| {name} | {size} |" in SPEC
