"""Tapes with the files of each step."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from rerail.tape.reader import Tape
from rerail.testing.tapes import Recording

Steps = Callable[..., Tape]


@pytest.fixture
def make_steps(tmp_path: Path) -> Iterator[Steps]:
    """`make_steps({"a": "one"}, {"a": "two"})`: the files at each step, and at the end as before.

    Texts of files by their names; fields of the snapshots are given besides.
    """
    with ExitStack() as stack:

        def make(*steps: dict[str, str], end: dict[str, str] | None = None, **fields: bool) -> Tape:
            path = tmp_path / f"{len(list(tmp_path.glob('*.tape')))}.tape"
            recording = Recording.begin(path)
            recording.snapshot(_folder(tmp_path, {}), "start")
            for exchange, files in enumerate(steps, start=1):
                recording.chat(exchange, f"turn {exchange}")
                folder = _folder(tmp_path, files)
                recording.snapshot(folder, "step", exchange_id=exchange, **fields)
                recording.reply(exchange, [b"{}"])
            recording.snapshot(_folder(tmp_path, end or steps[-1]), "end")
            recording.end()
            return stack.enter_context(Tape.open(path))

        yield make


def _folder(place: Path, files: dict[str, str]) -> Path:
    folder = place / "folder"
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        if old.name not in files:
            old.unlink()
    for name, text in files.items():
        if not (folder / name).exists() or (folder / name).read_text() != text:
            (folder / name).write_text(text)
    return folder
