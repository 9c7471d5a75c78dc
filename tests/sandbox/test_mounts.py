"""A view of the file system in a namespace: things at other paths, and what may be written."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from rerail.errors import UsageProblem
from rerail.launch.child import Ending, start
from rerail.sandbox import choose, mounts
from rerail.sandbox.choose import choose_sandbox
from rerail.sandbox.levels import PRIVATE_PATHS, WRITE_RULES
from rerail.sandbox.network import NetworkNamespace
from rerail.sandbox.view import Bind, View
from tests.sandbox.conftest import NOBODY, as_nobody

pytestmark = pytest.mark.skipif(
    choose.refusal(NetworkNamespace(View.of(writable=[]))) is not None,
    reason="this machine allows no mounts in a namespace",
)

NOWHERE = Path("/rerail-test-nowhere/alice/work")
OTHER = Path("/rerail-test-elsewhere")


class Place:
    """A folder with a copy to be seen elsewhere, and commands that see it."""

    def __init__(self, user: str, folder: Path) -> None:
        self.user = user
        self.folder = folder
        self.copy = self._made("copy")
        (self.copy / "file").write_text("copied\n")
        self.home = self._made("home")
        self.own(self.copy / "file")

    def _made(self, name: str) -> Path:
        made = self.folder / name
        made.mkdir()
        self.own(made)
        return made

    def own(self, path: Path) -> None:
        """Give a path to the user who runs the commands."""
        if self.user == "nobody":
            os.chown(path, NOBODY, NOBODY)

    def run(self, view: View, script: str, *, cwd: Path | None = None) -> list[str]:
        """The lines that a script prints; each `tried PATH` says whether it could write there."""
        task = lambda: self._run(view, script, cwd or self.copy)  # noqa: E731
        ending, text = as_nobody(task) if self.user == "nobody" else task()
        assert ending == Ending(0), text
        return text.splitlines()

    def _run(self, view: View, script: str, cwd: Path) -> tuple[Ending, str]:
        tried = (
            'tried() { if (echo written > "$1") 2> /dev/null; then echo yes; else echo no; fi; }'
        )
        reading, writing = os.pipe()
        os.set_inheritable(writing, True)
        environment = {"PATH": os.defpath, "HOME": str(self.home)}
        command = ["sh", "-c", f"exec > /proc/self/fd/{writing} 2>&1; {tried}; {script}"]
        sandbox = NetworkNamespace(view)
        with start(command, cwd=cwd, environment=environment, sandbox=sandbox, ports=[1]) as child:
            os.close(writing)
            for listener in child.listeners:
                listener.close()
            with os.fdopen(reading) as stream:
                return child.wait(), stream.read()


@pytest.fixture(params=["ourselves", "nobody"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    """A `Place` for each kind of user."""
    if request.param == "nobody" and os.geteuid() != 0:
        pytest.skip("only root can become another user")
    folder = Path(tempfile.mkdtemp(dir="/var/tmp"))
    folder.chmod(0o755)
    yield Place(request.param, folder)
    shutil.rmtree(folder)


@pytest.mark.parametrize("deep", [NOWHERE, OTHER], ids=["deep", "at the root"])
def test_a_copy_is_seen_at_a_path_that_does_not_exist(place: Place, deep: Path) -> None:
    view = View.of(binds=[Bind(place.copy, deep)])
    lines = place.run(view, "pwd; cat file; echo new > made; id -u; ls /usr/bin/env", cwd=deep)
    assert lines[:2] == [str(deep), "copied"]
    assert lines[2] == str(NOBODY if place.user == "nobody" else os.getuid())
    assert (place.copy / "made").read_text() == "new\n"
    assert not NOWHERE.parents[1].exists() and not OTHER.exists()


def test_two_copies_at_paths_that_do_not_exist(place: Place) -> None:
    view = View.of(
        binds=[
            Bind(place.copy, NOWHERE),
            Bind(place.home, NOWHERE.parent / "home"),
            Bind(place.home, OTHER),
            Bind(place.copy / "file", NOWHERE.parent / "one" / "file"),
        ]
    )
    script = f"ls {NOWHERE} {NOWHERE.parent}; cat {NOWHERE.parent}/one/file; ls -d {OTHER}"
    lines = place.run(view, script, cwd=NOWHERE)
    assert lines[-2:] == ["copied", str(OTHER)]
    assert {"home", "one", "work"} <= set(lines)


def test_a_path_that_is_missing_below_a_folder_with_other_things(place: Place) -> None:
    (place.folder / "neighbour").write_text("still here\n")
    (place.folder / "link").symlink_to("neighbour")
    target = place.folder / "gone" / "work"
    view = View.of(binds=[Bind(place.copy, target)])
    script = f"cat {place.folder}/neighbour {place.folder}/link {target}/file"
    assert place.run(view, script, cwd=target) == ["still here", "still here", "copied"]
    assert not target.parent.exists()


def test_a_copy_stands_before_what_is_there(place: Place) -> None:
    (place.home / "file").write_text("at home\n")
    view = View.of(binds=[Bind(place.copy, place.home), Bind(place.home, place.folder / "was")])
    script = f"cat {place.home}/file {place.folder}/was/file; tried {place.home}/file"
    assert place.run(view, script, cwd=place.home) == ["copied", "at home", "yes"]
    assert (place.home / "file").read_text() == "at home\n"
    assert (place.copy / "file").read_text() == "written\n"


def test_only_what_is_named_can_be_written(place: Place) -> None:
    view = View.of(writable=[place.copy])
    script = f"tried {place.copy}/x; tried {place.home}/x; tried {place.folder}/x; tried /etc/x"
    assert place.run(view, script) == ["yes", "no", "no", "no"]
    assert (place.copy / "x").exists()
    assert not (place.home / "x").exists()


def test_devices_terminals_and_shared_memory_work_as_ever(place: Place) -> None:
    script = """
tried /dev/null; tried /dev/shm/rerail-test; cat /dev/shm/rerail-test; tried /proc/self/comm
python3 -c 'import multiprocessing, pty; multiprocessing.Lock(); pty.openpty(); print("both")'
"""
    assert place.run(View.of(writable=[]), script) == ["yes", "yes", "written", "yes", "both"]
    assert not Path("/dev/shm/rerail-test").exists()


def test_a_copy_for_reading_is_not_written(place: Place) -> None:
    view = View.of(binds=[Bind(place.copy, NOWHERE, read_only=True)], writable=[])
    assert place.run(view, f"cat file; tried {NOWHERE}/file", cwd=NOWHERE) == ["copied", "no"]
    assert (place.copy / "file").read_text() == "copied\n"


def test_what_is_for_reading_inside_a_copy_is_not_written(place: Place) -> None:
    for inside in (place.copy / "inside", NOWHERE / "inside"):
        (place.copy / "inside").mkdir(exist_ok=True)
        view = View.of(
            binds=[
                Bind(place.copy, inside.parent),
                Bind(place.home, inside, read_only=True),
            ],
            writable=[],
        )
        script = f"tried {inside}/x; tried {inside.parent}/y"
        assert place.run(view, script, cwd=inside.parent) == ["no", "yes"]
    assert list(place.home.iterdir()) == []


def test_a_private_folder_is_written_and_stays_as_it_was(place: Place) -> None:
    (place.home / "kept").write_text("as it was\n")
    place.own(place.home / "kept")
    view = View.of(writable=[], private=[place.home])
    script = f"cd {place.home}; cat kept; tried kept; cat kept; tried new; rm kept; ls"
    lines = place.run(view, script)
    assert lines == ["as it was", "yes", "written", "yes", "new"]
    assert [(path.name, path.read_text()) for path in place.home.iterdir()] == [
        ("kept", "as it was\n")
    ]


def test_what_is_named_inside_a_private_folder_is_really_written(place: Place) -> None:
    inside = place.home / "inside"
    inside.mkdir()
    place.own(inside)
    view = View.of(writable=[inside], private=[place.home, Path("/not/there")])
    assert place.run(view, f"tried {inside}/x; tried {place.home}/x") == ["yes", "yes"]
    assert (inside / "x").exists()
    assert not (place.home / "x").exists()


def test_without_overlays_a_private_folder_is_the_real_one(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    mount = mounts.kernel.mount

    def refuse(source: str, target: str, kind: str = "", **more: object) -> None:
        if kind == "overlay":
            raise OSError(19, "No such device")
        mount(source, target, kind, **more)  # type: ignore[arg-type]  # passed on as given

    monkeypatch.setattr(mounts.kernel, "mount", refuse)
    view = View.of(writable=[], private=[place.home])
    assert place.run(view, f"tried {place.home}/x") == ["yes"]
    assert (place.home / "x").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="what root may do")
def test_root_cannot_undo_what_was_mounted(tmp_path: Path) -> None:
    place = Place("ourselves", tmp_path)
    view = View.of(binds=[Bind(place.copy, NOWHERE)], writable=[])
    script = f"""
mount -o remount,rw / 2>/dev/null && echo remounted
umount {NOWHERE} 2>/dev/null && echo unmounted
tried /proc/sys/kernel/domainname
stat -c %F /dev/* | grep -c block
chown 1234 file && echo given away
"""
    assert place.run(view, script, cwd=NOWHERE) == ["no", "0", "given away"]


def test_an_agents_own_sandbox_still_works(place: Place) -> None:
    """Landlock would forbid every mount in it."""
    if shutil.which("unshare") is None:
        pytest.skip("no unshare(1)")
    script = "unshare --user --map-root-user --mount sh -c 'mount -t tmpfs none /mnt && echo inner'"
    assert place.run(View.of(writable=[place.copy]), script) == ["inner"]


def test_a_program_inside_the_copy_is_found(place: Place) -> None:
    program = place.copy / "agent"
    program.write_text("#!/bin/sh\necho from the copy > out\n")
    program.chmod(0o755)
    place.own(program)
    sandbox = choose_sandbox(binds=[Bind(place.copy, NOWHERE)])
    for word in ("./agent", str(NOWHERE / "agent")):
        with start(
            [word], cwd=NOWHERE, environment={"PATH": ""}, sandbox=sandbox, ports=[1]
        ) as child:
            assert child.wait() == Ending(0)
            for listener in child.listeners:
                listener.close()
    assert (place.copy / "out").read_text() == "from the copy\n"


def test_a_folder_that_is_nowhere_is_an_error(tmp_path: Path) -> None:
    sandbox = choose_sandbox(binds=[Bind(tmp_path, OTHER)])
    with pytest.raises(UsageProblem, match="there is no folder"):
        start(["true"], cwd=NOWHERE, environment={"PATH": "/bin"}, sandbox=sandbox, ports=[1])


def test_what_cannot_be_placed_is_named(tmp_path: Path) -> None:
    (tmp_path / "in-the-way").touch()
    target = tmp_path / "in-the-way" / "work"
    sandbox = choose_sandbox(binds=[Bind(tmp_path, target)], writable=[])
    (gap,) = sandbox.containment.missing
    assert gap.layer == PRIVATE_PATHS
    assert gap.why.startswith("cannot put the copy in its place")
    assert sandbox.view.writable == (tmp_path,)
    assert sandbox.containment.level == "contained"


def test_a_machine_whose_numbers_are_not_known_cannot_replace_the_root(tmp_path: Path) -> None:
    view = View.of(binds=[Bind(tmp_path, OTHER)])
    sandbox = NetworkNamespace(view)
    sandbox._architecture = None
    failed = choose.refusal(sandbox)
    assert failed is not None
    assert failed.step == mounts.PLACING


def test_an_old_kernel_has_no_write_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str, read_only: bool, **more: object) -> None:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(mounts.kernel, "set_read_only", refuse)
    sandbox = choose_sandbox(writable=[])
    assert [gap.layer for gap in sandbox.containment.missing] == [WRITE_RULES]
    assert sandbox.view == View()


def test_sockets_are_made_and_reached_in_a_private_folder(place: Place) -> None:
    script = f"""
python3 -c '
import socket
server = socket.socket(socket.AF_UNIX); server.bind("{place.home}/s"); server.listen()
socket.socket(socket.AF_UNIX).connect("{place.home}/s"); print("reached")'
"""
    assert place.run(View.of(writable=[], private=[place.home]), script) == ["reached"]
