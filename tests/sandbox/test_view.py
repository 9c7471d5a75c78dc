"""What a command is to see and may write, before any kernel is asked."""

from pathlib import Path

from rerail.sandbox.view import CACHES, Bind, View, passing_folders

SCRATCH, RECORDED = Path("/scratch/copy"), Path("/home/alice/work")


def test_what_the_command_sees_is_found_at_its_source() -> None:
    inner = Bind(Path("/scratch/state"), RECORDED / ".state")
    view = View.of(binds=[inner, Bind(SCRATCH, RECORDED)])
    assert view.outside(RECORDED / "agent.py") == SCRATCH / "agent.py"
    assert view.outside(RECORDED / ".state" / "x") == Path("/scratch/state/x")
    assert view.outside(Path("/usr/bin/sh")) == Path("/usr/bin/sh")
    assert [bind.target for bind in view.binds] == [RECORDED, RECORDED / ".state"]


def test_where_nothing_can_be_placed_the_copies_are_written_at_their_own_paths() -> None:
    read = Bind(Path("/scratch/fonts"), Path("/fonts"), read_only=True)
    view = View.of(binds=[Bind(SCRATCH, RECORDED), read], writable=[]).unplaced()
    assert view == View.of(writable=[SCRATCH])
    assert view.outside(RECORDED) == RECORDED


def test_a_view_without_rules_has_no_private_folders() -> None:
    view = View.of(binds=[Bind(SCRATCH, RECORDED)], writable=[], private=[Path("/tmp")]).unruled()
    assert view == View.of(binds=[Bind(SCRATCH, RECORDED)])
    assert not view.changes_nothing
    assert View.of(private=[Path("/tmp")]).changes_nothing


def test_temporary_folders_and_caches_need_not_last() -> None:
    folders = passing_folders({"HOME": "/home/alice", "TMPDIR": "/fast", "XDG_CACHE_HOME": "/c"})
    assert {Path("/tmp"), Path("/var/tmp"), Path("/fast"), Path("/c")} <= set(folders)
    assert {Path("/home/alice") / cache for cache in CACHES} <= set(folders)
    assert passing_folders({}) == [Path("/tmp"), Path("/var/tmp")]


def test_a_private_folder_inside_another_is_private_already() -> None:
    view = View.of(private=[Path("/tmp/mine"), Path("/tmp"), Path("/tmpfs")])
    assert view.private == (Path("/tmp"), Path("/tmpfs"))
