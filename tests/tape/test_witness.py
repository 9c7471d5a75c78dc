"""A tape is known by who recorded it here."""

from dataclasses import dataclass

import pytest
from msgspec.structs import replace

from rerail.tape.codec import decode, encode
from rerail.tape.records import RunStarted, WorkspaceSnapshot
from rerail.tape.witness import (
    files_recorded_here,
    files_witness,
    recorded_here,
    witness,
    witness_key,
)

KEY = witness_key(b"a secret of the user")


@dataclass(frozen=True)
class Change:
    """One field of what a replay would run, otherwise."""

    field: str
    value: object


def run(*argv: str) -> RunStarted:
    event = RunStarted(
        at=0,
        wall=0,
        run_id="run-1",
        task_id="task-1",
        writer="test",
        argv=list(argv),
        cwd="/home/me",
        environment={"B": "2", "A": "1"},
    )
    return replace(event, witness=witness(KEY, event))


def read(event: RunStarted) -> RunStarted:
    found = decode(encode(event, 1))
    assert isinstance(found, RunStarted)
    return found


@pytest.mark.parametrize("words", [("agent", "--task", "1"), ("agent", "caf\udce9"), ()])
def test_who_recorded_it_knows_it_again(words: tuple[str, ...]) -> None:
    """Also where an argument is no Unicode, and is spelled out on the tape."""
    assert recorded_here(KEY, read(run(*words)))


def test_nobody_else_does() -> None:
    assert not recorded_here(witness_key(b"a secret of another"), read(run("agent")))
    assert not recorded_here(KEY, read(replace(run("agent"), witness=b"")))


@pytest.mark.parametrize(
    "change",
    [
        Change("argv", ["agent", "--other"]),
        Change("argv", ["agent --task"]),
        Change("cwd", "/home/me/evil"),
        Change("environment", {"A": "1", "B": "2", "LD_PRELOAD": "/tmp/evil.so"}),
        Change("run_id", "run-2"),
        Change("stray", True),
    ],
    ids=lambda change: f"{change.field}",
)
def test_whatever_decides_what_runs_is_covered(change: Change) -> None:
    changed = replace(run("agent", "--task"), **{change.field: change.value})
    assert not recorded_here(KEY, read(changed))


def test_the_files_of_a_run_are_known_by_who_recorded_them_there() -> None:
    own = run("agent")
    made = WorkspaceSnapshot(
        at=1, wall=1, folder="/home/me/caf\udce9", tree=b"t" * 32, tree_size=9, why="start"
    )
    made = replace(made, witness=files_witness(KEY, own.run_id, made))
    found = decode(encode(made, 2))
    assert isinstance(found, WorkspaceSnapshot)
    assert files_recorded_here(KEY, own, found)
    assert not files_recorded_here(witness_key(b"a secret of another"), own, found)
    for other in (
        replace(found, tree=b"u" * 32),
        replace(found, folder="/"),
        replace(found, witness=b""),
    ):
        assert not files_recorded_here(KEY, own, other)
    assert not files_recorded_here(KEY, replace(own, run_id="run-2"), found)
