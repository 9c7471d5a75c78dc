"""`rerail show --files`: lists, single files, changes, and folders put back."""

from collections.abc import Callable
from pathlib import Path

import pytest

from rerail.testing.tapes import Recording
from tests.cli.conftest import Result

Rerail = Callable[..., Result]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "a.py").write_text("one\ntwo\nthree\n")
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "logo.png").write_bytes(b"\x89PNG\0\0")
    (folder / ".env").write_text("KEY=1")
    (folder / "link").symlink_to("src/a.py")
    return folder


@pytest.fixture
def taped(make_tape: Callable[..., Recording], project: Path) -> Path:
    """Two steps; between them a file is changed, one comes and one goes."""
    tape = make_tape(capture={"workspace": "at the start"})
    tape.snapshot(project, "start")
    tape.chat(1)
    tape.snapshot(project, "step", exchange_id=1)
    tape.reply(1, [b"{}"])
    (project / "src" / "a.py").write_text("one\n2\nthree")
    (project / "new.txt").write_text("new\n")
    (project / "run.sh").chmod(0o644)
    (project / "logo.png").write_bytes(b"\x89PNG\0\1")
    (project / "link").unlink()
    tape.chat(2)
    tape.snapshot(project, "step", exchange_id=2, added=1, changed=3, removed=1)
    tape.reply(2, [b"{}"])
    tape.snapshot(project, "end")
    tape.end()
    return tape.path


def test_the_folder_at_a_step(rerail: Rerail, taped: Path) -> None:
    shown = rerail("show", taped, "--files", "2")
    assert shown.status == 0
    lines = shown.lines
    assert lines[0].startswith("snapshot\te8, +")
    assert "before the reply to r2: 4 files" in lines[1]
    assert lines[3:] == [
        "\t-rw-r--r--\t\t.env (not captured: may hold credentials)",
        "-\tlrwxrwxrwx\t\tlink -> src/a.py",
        "~\t-rw-r--r--\t6\tlogo.png",
        "+\t-rw-r--r--\t4\tnew.txt",
        "~\t-rw-r--r--\t10\trun.sh",
        "\tdrwxr-xr-x\t\tsrc/",
        "~\t-rw-r--r--\t11\tsrc/a.py",
    ]


@pytest.mark.parametrize("when", ["start", "1", "s1", "r1", "e2", "e4"])
def test_a_moment_has_several_names(rerail: Rerail, taped: Path, when: str) -> None:
    assert rerail("show", taped, "--files", when, "src/a.py").out == "one\ntwo\nthree\n"


def test_the_same_as_json(rerail: Rerail, taped: Path, project: Path) -> None:
    told = rerail("show", taped, "--files", "s2", "--json").json
    entries = {entry["path"]: entry for entry in told["entries"]}
    assert (told["why"], told["exchange"], told["removed"]) == ("step", 2, ["link"])
    assert entries["new.txt"]["change"] == "added"
    assert entries["src/a.py"]["size"] == 11
    assert entries["src/a.py"]["mtime_ns"] == (project / "src" / "a.py").stat().st_mtime_ns
    assert entries["src/a.py"]["digest"].startswith("sha256:")
    assert entries[".env"]["why"] == "may hold credentials"


DIFFERENCE = """\
diff --git a/link b/link
deleted file mode 120777
--- a/link
+++ /dev/null
@@ -1 +0,0 @@
-src/a.py
\\ No newline at end of file
diff --git a/logo.png b/logo.png
Binary files a/logo.png and b/logo.png differ
diff --git a/new.txt b/new.txt
new file mode 100644
--- /dev/null
+++ b/new.txt
@@ -0,0 +1 @@
+new
diff --git a/run.sh b/run.sh
old mode 100755
new mode 100644
diff --git a/src/a.py b/src/a.py
--- a/src/a.py
+++ b/src/a.py
@@ -1,3 +1,3 @@
 one
-two
-three
+2
+three
\\ No newline at end of file
"""


def test_what_changed_between_two_steps(rerail: Rerail, taped: Path) -> None:
    assert rerail("show", taped, "--files", "1..2").out == DIFFERENCE


def test_what_changed_in_one_place(rerail: Rerail, taped: Path) -> None:
    shown = rerail("show", taped, "--files", "start..end", "src")
    assert shown.out == DIFFERENCE[DIFFERENCE.index("diff --git a/src") :]


def test_what_changed_as_json(rerail: Rerail, taped: Path) -> None:
    told = rerail("show", taped, "--files", "1..2", "--json").json
    assert [entry["path"] for entry in told["added"]] == ["new.txt"]
    assert [entry["path"] for entry in told["removed"]] == ["link"]
    assert [pair["after"]["path"] for pair in told["changed"]] == [
        "logo.png", "run.sh", "src/a.py",
    ]  # fmt: skip


def test_a_folder_is_put_back(rerail: Rerail, taped: Path, tmp_path: Path) -> None:
    target = tmp_path / "back"
    done = rerail("show", taped, "--files", "1", "--extract", target)
    assert done.status == 0
    assert "3 files (1 left out)" in done.err
    assert (target / "src" / "a.py").read_text() == "one\ntwo\nthree\n"
    assert (target / "link").readlink() == Path("src/a.py")
    assert (target / "run.sh").stat().st_mode & 0o777 == 0o755
    assert not (target / ".env").exists()


def test_the_name_of_a_folder_steers_no_terminal(
    make_tape: Callable[..., Recording], rerail: Rerail, project: Path, tmp_path: Path
) -> None:
    tape = make_tape()
    tape.snapshot(project, "end", folder="/\x1b[2J\x07")
    tape.end()
    done = rerail("show", tape.path, "--files", "end", "--extract", tmp_path / "back")
    assert done.status == 0
    assert r"is /\x1b[2J\x07 as it was" in done.err


def test_further_folders_are_named_by_their_paths(
    make_tape: Callable[..., Recording], rerail: Rerail, project: Path
) -> None:
    tape = make_tape()
    tape.snapshot(project, "start")
    tape.snapshot(project / "src", "start", also=True, folder="/home/someone/.agent")
    tape.end()
    shown = rerail("show", tape.path, "--files", "start", "/home/someone/.agent/a.py")
    assert shown.out == "one\ntwo\nthree\n"
    assert "also\t/home/someone/.agent" in rerail("show", tape.path, "--files", "start").lines
    rerail("show", tape.path, "--files", "start", "/etc/passwd").assert_complaint(
        2, "in no folder that was snapshotted", "/home/someone/.agent"
    )


@pytest.mark.parametrize(
    ("words", "what", "hint"),
    [
        (["--files", "9"], "no step s9", "steps s1 to s2"),
        (["--files", "never"], "no moment of a run", "start, end"),
        (["--files", "e1"], "e1 is no snapshot", "e2, e4"),
        (["--files", "1", "nothing.py"], "no nothing.py", "--files e4"),
        (["--files", "1", "src"], "src/", "name a file"),
        (["--files", "1", ".env"], "not captured", "name a file"),
        (["--files", "1", "--raw"], "two views", "one of them"),
        (["--extract", "x"], "--extract goes with --files", "--files 3"),
        (["--files", "1..2", "--extract", "x"], "takes one moment", "--files 3"),
        (["--files", "1", "--extract", "/"], "there already", "not there yet"),
        (["--files", "1", "--extract", "/proc/x/y"], "cannot make the folder", "another"),
    ],
)
def test_what_cannot_be_shown(
    rerail: Rerail, taped: Path, words: list[str], what: str, hint: str
) -> None:
    rerail("show", taped, *words).assert_complaint(2, what, hint)


def test_a_tape_without_snapshots_says_why(
    make_tape: Callable[..., Recording], rerail: Rerail
) -> None:
    tape = make_tape(capture={"workspace": "no: --no-workspace was given"})
    tape.end()
    rerail("show", tape.path, "--files", "start").assert_complaint(
        2, "no snapshots", "--no-workspace was given"
    )


def test_a_snapshot_is_an_event_like_another(rerail: Rerail, taped: Path) -> None:
    line = rerail("show", taped, "--events").lines[7]
    assert line.split("\t")[2:] == [
        "workspace.snapshot",
        "/home/someone/agent before the reply to r2: 4 files, 0 B; 1 added, 3 changed, 1 removed",
    ]
    told = rerail("show", taped, "e8", "--json").json
    assert told["tree"].startswith("sha256:")


def test_where_nothing_changed_that_is_said(rerail: Rerail, taped: Path) -> None:
    shown = rerail("show", taped, "--files", "2..end")
    assert (shown.status, shown.out) == (0, "")
    assert shown.err == "rerail: nothing changed\n"
