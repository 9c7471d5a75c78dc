"""The probes are files that come with the package."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from rerail.probe import paths

ROOT = Path(__file__).parents[2]


def test_both_probes_are_there() -> None:
    found = paths()
    assert (found.python / "sitecustomize.py").is_file()
    assert found.node_preload.is_file()


def test_a_wheel_contains_them(tmp_path: Path) -> None:
    pytest.importorskip("hatchling", reason="the build back end is not installed")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "rerail/probe/python/sitecustomize.py" in names
    for module in paths().node_preload.parent.glob("*.cjs"):
        assert f"rerail/probe/node/{module.name}" in names
