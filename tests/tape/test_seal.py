"""What `verify` finds; the steps are those of spec/tape.md."""

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from rerail.tape import form
from rerail.tape.clean import CleanBytes
from rerail.tape.codec import decode, encode
from rerail.tape.frames import compressed
from rerail.tape.merkle import MerkleTree, leaf_hash
from rerail.tape.reader import Tape
from rerail.tape.records import (
    CaptureMissing,
    HttpReplyBody,
    HttpReplyHead,
    Parent,
    RunEnded,
    RunStarted,
)
from rerail.tape.seal import verify
from rerail.tape.verification import Verification


def verified(path: Path) -> Verification:
    with Tape.open(path) as tape:
        result = verify(tape)
    json.dumps(result.to_dict())
    assert str(path) in result.to_text()
    return result


def codes(path: Path) -> list[str]:
    return [finding.code for finding in verified(path).findings]


def rewrite(
    path: Path, change: Callable[[list[bytes]], list[bytes]], *, seal: bool = False
) -> None:
    """Tamper with the stored events, as one would who knows the format; `seal` forges one too."""
    with Tape.open(path) as tape:
        events = change([data for _, data in tape.stored_events()])
    connection = sqlite3.connect(path)
    connection.execute("DELETE FROM event")
    for first in range(0, len(events), form.EVENTS_PER_FRAME):
        frame = events[first : first + form.EVENTS_PER_FRAME]
        for place, data in enumerate(frame):
            packed = compressed(b"".join(frame)) if place == 0 else b""
            row = (first + place + 1, len(data), packed)
            connection.execute("INSERT INTO event VALUES (?, ?, ?)", row)
    if seal:
        tree = MerkleTree()
        for data in events:
            tree.add(leaf_hash(data))
        connection.execute("DELETE FROM seal")
        connection.execute("INSERT INTO seal VALUES (?, ?, NULL)", (tree.size, tree.root()))
    connection.commit()
    connection.close()


def sql(path: Path, statement: str, *values: object) -> None:
    connection = sqlite3.connect(path)
    connection.execute(statement, values)
    connection.commit()
    connection.close()


def renumber(events: list[bytes]) -> list[bytes]:
    return [encode(decode(data), seq) for seq, data in enumerate(events, 1)]


def test_a_finished_tape_is_intact(finished) -> None:
    result = verified(finished.path)
    assert result.intact
    assert result.findings == ()
    assert (result.events, result.sealed, result.contents) == (11, 11, 6)
    assert (result.state, result.signed, result.anchored) == ("finished", "no", "no")
    with Tape.open(finished.path) as tape:
        assert result.tape_id == tape.id
    text = result.to_text()
    assert "intact" in text
    assert "signed: no, anchored: no" in text


def test_every_thousand_events_there_is_a_seal(start_run) -> None:
    run = start_run()
    for number in range(2, 2501):
        run.add(CaptureMissing(at=number, wall=number, what="x"))
    run.end()
    with Tape.open(run.path) as tape:
        assert [seal.tree_size for seal in tape.seals()] == [1000, 2000, 2501]
    assert verified(run.path).intact


# Step 2


def test_a_missing_row_is_found(finished) -> None:
    sql(finished.path, "DELETE FROM event WHERE seq = 5")
    result = verified(finished.path)
    assert not result.intact
    assert result.tape_id == ""
    assert result.findings[0].code == "event-missing"
    assert result.findings[0].seq == 5
    assert result.findings[0].message == "events 5 to 11 cannot be read: event 5 is missing"


def test_a_gap_in_the_numbers_is_found(start_run) -> None:
    run = start_run()
    for number in range(2, 601):
        run.add(CaptureMissing(at=number, wall=number, what="x"))
    run.end()
    sql(run.path, "UPDATE event SET seq = seq + 5 WHERE seq = 601")
    assert "event-missing" in codes(run.path)


def test_a_torn_frame_is_found(finished) -> None:
    with Tape.open(finished.path) as tape:
        first = compressed(tape.event_bytes(1))
    sql(finished.path, "UPDATE event SET data = ? WHERE seq = 1", first)
    assert codes(finished.path)[0] == "event-unreadable"


def test_what_is_no_event_is_found(finished) -> None:
    rewrite(finished.path, lambda events: [*events[:4], b"\x93\x01\x02\x03", *events[5:]])
    assert set(codes(finished.path)) >= {"event-unreadable", "seal-mismatch"}


# Step 3


def test_two_events_that_changed_places_are_found(finished) -> None:
    rewrite(finished.path, lambda old: [*old[:3], old[4], old[3], *old[5:]])
    found = codes(finished.path)
    assert found.count("event-misplaced") == 2
    assert "seal-mismatch" in found


def test_a_start_in_the_middle_is_found(finished) -> None:
    rewrite(finished.path, lambda old: renumber([*old[:4], old[0], *old[4:]]), seal=True)
    assert "start-misplaced" in codes(finished.path)


def test_events_behind_the_end_are_found(finished) -> None:
    rewrite(finished.path, lambda old: renumber([*old[:4], old[-1], *old[4:]]), seal=True)
    assert "end-misplaced" in codes(finished.path)


def test_a_tape_without_an_end_is_intact_but_unfinished(lost: Path) -> None:
    result = verified(lost)
    assert result.intact
    assert result.state == "lost"
    assert {finding.code for finding in result.findings} == {
        "end-missing",
        "unsealed-tail",
        "body-unfinished",
    }
    assert "truncation cannot be excluded" in result.to_text()
    assert "the last 9 events are not sealed" in result.to_text()


# Step 4


def test_a_changed_byte_of_an_event_is_found(finished) -> None:
    def change(events: list[bytes]) -> list[bytes]:
        assert b"api.example.com" in events[1]
        return [events[0], events[1].replace(b"api.example", b"apx.example"), *events[2:]]

    rewrite(finished.path, change)
    result = verified(finished.path)
    assert [finding.code for finding in result.findings] == ["seal-mismatch"]
    assert not result.intact
    assert result.findings[0].message == "events 1 to 11 are not those that were sealed"


@pytest.mark.parametrize("place", range(0, 1400, 31))
def test_every_byte_of_every_event_counts(finished, place: int) -> None:
    def change(events: list[bytes]) -> list[bytes]:
        changed = bytearray(b"".join(events))
        changed[place % len(changed)] ^= 1
        sizes = [len(event) for event in events]
        starts = [sum(sizes[:number]) for number in range(len(sizes))]
        return [
            bytes(changed[start : start + size]) for start, size in zip(starts, sizes, strict=True)
        ]

    try:
        rewrite(finished.path, change)
        assert not verified(finished.path).intact
    except Exception as error:
        assert type(error).__name__ == "TapeUnreadable"


def test_an_event_that_was_taken_out_is_found(finished) -> None:
    rewrite(finished.path, lambda old: renumber(old[:4] + old[5:]))
    assert set(codes(finished.path)) & {"seal-mismatch", "truncated"}


def test_the_end_that_was_cut_off_is_found(finished) -> None:
    rewrite(finished.path, lambda old: old[:-2])
    result = verified(finished.path)
    assert not result.intact
    assert "truncated: 2 sealed events at the end are missing" in result.to_text()


def test_only_the_part_between_two_seals_is_doubted(start_run) -> None:
    run = start_run()
    for number in range(2, 2501):
        run.add(CaptureMissing(at=number, wall=number, what="x"))
    run.end()

    def change(events: list[bytes]) -> list[bytes]:
        events[1499] = encode(CaptureMissing(at=1500, wall=1500, what="y"), 1500)
        return events

    rewrite(run.path, change)
    messages = [finding.message for finding in verified(run.path).findings]
    assert messages[0] == "events 1001 to 2000 are not those that were sealed"


def test_a_splice_of_two_tapes_is_found(start_run) -> None:
    one, other = start_run("one.tape"), start_run("other.tape")
    for run in (one, other):
        for exchange_id in (1, 2):
            run.at += 1000 if run is other else 0
            run.exchange(exchange_id)
        run.end()
    with Tape.open(other.path) as tape:
        tail = [data for seq, data in tape.stored_events() if seq > 4]
    rewrite(one.path, lambda old: old[:4] + tail)
    assert "seal-mismatch" in codes(one.path)


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("UPDATE seal SET root = zeroblob(32)", "seal-mismatch"),
        ("UPDATE seal SET root = zeroblob(31)", "seal-malformed"),
        ("UPDATE seal SET root = 'text'", "seal-malformed"),
        ("UPDATE seal SET tree_size = 12", "truncated"),
        ("UPDATE seal SET tree_size = 10", "seal-mismatch"),
        ("UPDATE seal SET tree_size = -4", "seal-mismatch"),
        ("UPDATE seal SET envelope = 5", "seal-malformed"),
        ("UPDATE seal SET envelope = x'7b7d'", "signature-unchecked"),
        ("DELETE FROM seal", "unsealed-tail"),
    ],
)
def test_a_seal_that_was_changed_is_found(finished, statement: str, code: str) -> None:
    sql(finished.path, statement)
    assert code in codes(finished.path)


def test_who_forges_the_seals_too_is_not_caught_without_a_signature(finished) -> None:
    def change(events: list[bytes]) -> list[bytes]:
        return [events[0], events[1].replace(b"api.example", b"apx.example"), *events[2:]]

    with Tape.open(finished.path) as tape:
        before = tape.id
    rewrite(finished.path, change, seal=True)
    result = verified(finished.path)
    assert result.intact
    assert result.signed == "no"
    assert result.tape_id != before


# Step 5


def test_a_content_that_is_gone_is_found(finished) -> None:
    sql(finished.path, "DELETE FROM blob WHERE digest = ?", finished.digests[-1])
    result = verified(finished.path)
    assert not result.intact
    assert result.findings[0].code == "content-missing"
    assert finished.digests[-1].hex()[:12] in result.findings[0].message


def test_a_content_that_was_changed_is_found(finished) -> None:
    sql(finished.path, "UPDATE blob SET digest = zeroblob(32) WHERE id = 1")
    sql(finished.path, "UPDATE blob SET digest = ? WHERE id = 2", finished.digests[0])
    assert "content-altered" in codes(finished.path)


def test_a_byte_of_a_large_content_that_was_changed_is_found(start_run) -> None:
    run = start_run()
    run.request(1)
    body = run.writer.body(exchange_id=1, side="origin")
    for number in range(9 * 8):
        body.write(CleanBytes(number.to_bytes(2, "big") * (1 << 16)), at=number)
    said = body.finish(framing="length")
    run.add(HttpReplyBody(at=1, wall=1, exchange_id=1, body=said))
    run.end()
    assert verified(run.path).intact
    sql(run.path, "UPDATE part SET data = zeroblob(size) WHERE id & 16777215 = 3")
    assert codes(run.path) == ["content-altered"]
    sql(run.path, "DELETE FROM part WHERE id & 16777215 = 3")
    assert codes(run.path) == ["content-altered"]


def test_a_chunk_table_that_does_not_fit_is_found(start_run) -> None:
    run = start_run()
    run.request(1)
    run.end()

    def change(events: list[bytes]) -> list[bytes]:
        event = decode(events[1])
        size = event.body.size  # type: ignore[attr-defined]
        old = events[1]
        assert size.to_bytes(2, "big") in old
        return [
            events[0],
            old.replace(b"\xcd" + size.to_bytes(2, "big"), b"\xcd\x00\x90"),
            events[2],
        ]

    rewrite(run.path, change, seal=True)
    assert "chunks-misfit" in codes(run.path)


def test_contents_that_no_event_names_are_mentioned(start_run) -> None:
    run = start_run()
    run.writer.blob(CleanBytes(b"nobody asked"))
    run.end()
    result = verified(run.path)
    assert result.intact
    assert [finding.message for finding in result.findings] == ["1 content that no event names"]


# Step 6


def test_an_event_of_an_exchange_that_never_began_is_found(start_run) -> None:
    run = start_run()
    run.request(1)
    run.add(HttpReplyHead(at=1, wall=1, exchange_id=2, head=b"HTTP/1.1 200 OK\r\n\r\n"))
    run.add(HttpReplyBody(at=1, wall=1, exchange_id=2))
    run.end()
    result = verified(run.path)
    assert [finding.code for finding in result.findings] == ["exchange-unknown"]
    assert result.findings[0].seq == 3


def test_kinds_of_a_later_version_are_mentioned(finished) -> None:
    import msgspec

    strange = msgspec.msgpack.encode({"kind": "later", "seq": 11, "at": 1, "wall": 1})

    def change(events: list[bytes]) -> list[bytes]:
        return [*events[:-1], strange, encode(decode(events[-1]), 12)]

    rewrite(finished.path, change, seal=True)
    result = verified(finished.path)
    assert result.intact
    assert [finding.code for finding in result.findings] == ["kind-unknown"]


def test_the_parent_of_a_tape_is_told(tmp_path: Path, start_run) -> None:
    run = start_run()
    run.end()

    def change(events: list[bytes]) -> list[bytes]:
        start = decode(events[0])
        assert isinstance(start, RunStarted)
        child = RunStarted(
            at=0,
            wall=0,
            run_id="r2",
            task_id=start.task_id,
            writer="w",
            argv=[],
            cwd="",
            parent=Parent(tape_id="sha256:abc"),
        )
        return [encode(child, 1), encode(RunEnded(at=1, wall=1, status=0), 2)]

    rewrite(run.path, change, seal=True)
    result = verified(run.path)
    assert result.parent == "sha256:abc"
    assert "made from sha256:abc" in result.to_text()


def test_flipped_bytes_are_either_found_or_harmless(finished, tmp_path: Path) -> None:
    good = finished.path.read_bytes()
    with Tape.open(finished.path) as tape:
        events = [data for _, data in tape.stored_events()]
    bad = tmp_path / "flipped.tape"
    for place in range(3, len(good), len(good) // 300):
        data = bytearray(good)
        data[place] ^= 0x10
        bad.write_bytes(data)
        try:
            with Tape.open(bad) as tape:
                intact = verify(tape).intact
                if intact:
                    assert [data for _, data in tape.stored_events()] == events
        except Exception as error:
            assert type(error).__name__ == "TapeUnreadable"
