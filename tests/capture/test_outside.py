"""What children wrote where no snapshot looks: both probes and the recorder see it alike."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from rerail.capture.outside import changed, outside
from rerail.probe import paths
from rerail.workspace.seen import Seen
from tests.node import node_or_skip

Named = Callable[[list[str], Path], Mapping[str, str]]

PYTHON = "import json, sys; from _rerail_written import named; "
NODE = "const { named } = require(process.argv[1]);"


@pytest.fixture(params=["python", "node"])
def named(request: pytest.FixtureRequest, tmp_path: Path) -> Named:
    """What a probe says of a child's words."""
    environment = {**os.environ, "HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path / "tmp")}

    def ask(words: list[str], folder: Path) -> Mapping[str, str]:
        given = json.dumps(words), str(folder)
        if request.param == "python":
            program = f"{PYTHON}print(json.dumps(named(json.loads(sys.argv[1]), sys.argv[2])))"
            command = [sys.executable, "-c", program, *given]
            environment["PYTHONPATH"] = str(paths().python)
        else:
            written = str(paths().node_preload.parent / "written.cjs")
            said = "named(JSON.parse(process.argv[2]), process.argv[3])"
            program = f"{NODE}console.log(JSON.stringify({said}))"
            command = [node_or_skip(20), "-e", program, written, *given]
        done = subprocess.run(command, env=environment, capture_output=True, check=True)
        return dict(json.loads(done.stdout))

    return ask


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """The folder of a run, and its snapshots."""
    for name in ("work", "home", "tmp", "other"):
        (tmp_path / name).mkdir()
    return tmp_path / "work"


def seen(*folders: Path) -> list[Seen]:
    return [Seen.itself(folder) for folder in folders]


@pytest.mark.parametrize(
    ("words", "written"),
    [
        (["sh", "-c", "date >/OUT"], "out"),
        (["tool", "--log=/OUT"], "out"),
        (["tool", "-o", "../out"], "out"),
        (["sh", "-c", 'tool "$HOME/out"'], "home/out"),
        (["sh", "-c", "tool ${TMPDIR}/out"], "tmp/out"),
        (["sh", "-c", "tool > ~/out"], "home/out"),
        (["tool", "--into", "/OTHER/"], "other/new"),
    ],
)
def test_what_a_childs_words_name_is_looked_at(
    named: Named, work: Path, words: list[str], written: str
) -> None:
    top = work.parent
    words = [
        word.replace("/OUT", str(top / "out")).replace("/OTHER", str(top / "other"))
        for word in words
    ]
    before = named(words, work)
    assert changed(before, seen(work)) == []
    (top / written).write_text("x")
    expected = str(top / written) if "new" not in written else str(top / "other")
    assert expected in changed(before, seen(work))


def test_what_is_read_or_snapshotted_is_nothing(named: Named, work: Path) -> None:
    (work.parent / "in").write_text("x")
    before = named(["cat", "../in", "out", "/dev/null"], work)
    (work.parent / "in").read_text()
    (work / "out").write_text("y")
    assert changed(before, seen(work)) == []
    assert changed(before, seen(work.parent / "other")) == [str(work)]


def test_what_is_gone_or_another_is_told(named: Named, work: Path) -> None:
    kept, gone = work.parent / "kept", work.parent / "gone"
    for file in (kept, gone):
        file.write_text("x")
    before = named(["rm", str(gone), str(kept)], work)
    gone.unlink()
    assert changed(before, seen(work)) == [str(gone)]
    kept.write_text("z")
    assert changed(before, seen(work)) == [str(gone), str(kept)]


def test_a_folder_that_is_everybodys_says_nothing(named: Named, work: Path) -> None:
    everybodys = work.parent / "other"
    everybodys.chmod(0o1777)
    assert str(everybodys) not in named(["ls", str(everybodys)], work)


def test_a_link_into_the_folder_is_in_it(work: Path) -> None:
    link = work.parent / "link"
    link.symlink_to(work)
    assert outside([str(link / "file"), str(link)], seen(work)) == [str(link)]
