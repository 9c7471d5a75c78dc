"""The tools of a judge: pinned, or refused."""

from pathlib import Path

import pytest

from rerail.errors import ToolMissing
from rerail.experiment.tasks.toolbox import PINNED, find_tools


def program(place: Path, says: str) -> Path:
    place.write_text(f"#!/bin/sh\necho {says}\n")
    place.chmod(0o755)
    return place


def test_another_version_of_the_compiler_does_not_judge(tmp_path: Path) -> None:
    other = program(tmp_path / "tsc", "Version 7.1.0")
    with pytest.raises(ToolMissing, match=r"7\.1\.0"):
        find_tools(environment={}, beside=tmp_path, typescript=other)


def test_a_node_is_needed_and_no_old_one(tmp_path: Path) -> None:
    compiler = program(tmp_path / "tsc", f"Version {PINNED}")
    with pytest.raises(ToolMissing, match="no `node` on PATH"):
        find_tools(environment={}, beside=tmp_path, typescript=compiler)
    with pytest.raises(ToolMissing, match="cannot be run"):
        find_tools(environment={}, beside=tmp_path, typescript=compiler, node=tmp_path / "none")
    old = program(tmp_path / "node", "v18.20.0")
    with pytest.raises(ToolMissing, match=r"v18\.20\.0"):
        find_tools(environment={}, beside=tmp_path, typescript=compiler, node=old)
    new = program(tmp_path / "node24", "v24.1.0")
    tools = find_tools(environment={}, beside=tmp_path, typescript=compiler, node=new)
    assert (tools.node_major, tools.typescript.version) == (24, PINNED)
