"""Folders that are too much to be snapshotted unless they are named."""

from pathlib import Path

import pytest

from rerail.capture.folders import refused


@pytest.mark.parametrize(
    ("folder", "word"),
    [
        ("/", "root"),
        ("/home/me", "home"),
        ("/home", "home"),
        ("/tmp", "temporary"),
        ("/scratch", "temporary"),
        ("/usr", "system"),
        ("/etc", "system"),
        ("/proc/1/fd", "system"),
        ("/sys/kernel", "system"),
        ("/usr/src/app", ""),
        ("/srv/app", ""),
        ("/app", ""),
        ("/home/me/project", ""),
        ("/tmp/project", ""),
    ],
)
def test_what_is_too_much(folder: str, word: str) -> None:
    why = refused(Path(folder), home="/home/me", temporary="/scratch")
    assert (word in why) if word else why == ""


def test_without_a_home_every_folder_is_like_another() -> None:
    assert refused(Path("/home/me"), home="", temporary="/tmp") == ""
