"""What an event names is checked, kept by a repair, and never counted as nobody's."""

import typing

import msgspec
import pytest

from rerail.tape import records
from rerail.tape.event import Event
from rerail.tape.references import contents_of

DIGEST = bytes(range(32))
KINDS = [kind for kind in typing.get_args(records.AnyEvent) if "size" in kind.__struct_fields__]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_digest_with_a_size_is_a_content_that_the_event_names(kind: type[Event]) -> None:
    fields = {field.name: field for field in msgspec.structs.fields(kind)}
    digests = {"content", "proposal_ref", "tree", "base"} & set(fields)
    given: dict[str, object] = {"at": 0, "wall": 0, "size": 7} | dict.fromkeys(digests, DIGEST)
    for name, field in fields.items():
        if field.required and name not in given:
            given[name] = {int: 1, str: "x", bytes: b""}.get(field.type, "agent")  # type: ignore[call-overload]  # any type at all
    assert DIGEST in {reference.digest for reference in contents_of(kind(**given))}, digests
