"""Golden tapes: what was written once must be readable for ever."""

import importlib.util
import json
from pathlib import Path

import msgspec
import pytest

from rerail.tape.plane_records import AnyPlaneEvent
from rerail.tape.reader import Tape
from rerail.tape.repair import repair
from rerail.tape.seal import verify

GOLDEN = Path(__file__).parents[2] / "spec" / "golden"
TAPES = sorted(GOLDEN.glob("*.tape"))


def expected(path: Path) -> dict[str, object]:
    found = json.loads(path.with_suffix(".json").read_bytes())
    assert isinstance(found, dict)
    return found


def test_there_are_golden_tapes() -> None:
    names = ["v1-files", "v1-lost", "v1-planes", "v1-run", "v1-script"]
    assert [path.stem for path in TAPES] == names


def test_every_kind_of_the_planes_events_is_on_one_of_them() -> None:
    found = set()
    for path in TAPES:
        with Tape.open(path) as tape:
            found |= {type(event) for event in tape.events()}
    missing = set(AnyPlaneEvent.__args__) - found
    assert not missing, sorted(kind.__name__ for kind in missing)


@pytest.mark.parametrize("path", TAPES, ids=lambda path: path.stem)
def test_a_golden_tape_reads_as_it_did(path: Path) -> None:
    told = expected(path)
    with Tape.open(path) as tape:
        assert tape.id == told["id"]
        assert tape.state == told["state"]
        assert [seal.tree_size for seal in tape.seals()] == told["seals"]
        assert msgspec.to_builtins(list(tape.events())) == told["events"]
        assert sorted(digest.hex() for digest in tape.evidence.digests()) == told["contents"]
        for digest in tape.evidence.digests():
            tape.blob(digest)
        unfinished = [
            {"exchange_id": body.exchange_id, "content": body.content(), "chunks": body.chunks}
            for body in tape.unfinished()
        ]
        assert json.loads(msgspec.json.encode(unfinished)) == told["unfinished"]
        assert verify(tape).intact


def test_a_golden_lost_tape_is_repaired(tmp_path: Path) -> None:
    result = repair(GOLDEN / "v1-lost.tape", tmp_path / "new.tape")
    assert result.lost == ()
    assert len(result.cut) == 1


def test_the_script_still_makes_what_the_golden_tapes_say(tmp_path: Path) -> None:
    """The writer may pack differently, but the events and their root are the same."""
    spec = importlib.util.spec_from_file_location("make_v1", GOLDEN / "make_v1.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    script.main(tmp_path)
    for path in TAPES:
        made = json.loads((tmp_path / f"{path.stem}.json").read_bytes())
        assert made == expected(path)
