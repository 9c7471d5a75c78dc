"""Facts about this machine."""

import os
import time
from pathlib import Path

from rerail.launch.facts import machine_facts

COMMIT = "a1b2c3d4e5f60718293a4b5c6d7e8f9012345678"


def test_what_is_known_of_this_machine(tmp_path: Path) -> None:
    facts = machine_facts(tmp_path, {"HOME": "/home/alice", "TZ": ":Europe/Berlin"})
    assert facts["cwd"] == str(tmp_path)
    assert facts["home"] == "/home/alice"
    assert facts["kernel"] == os.uname().release
    assert facts["date"] == time.strftime("%Y-%m-%d")
    assert facts["timezone_name"] == "Europe/Berlin"
    assert all(facts.values())


def test_the_branch_and_the_commit_of_the_repository_around(tmp_path: Path) -> None:
    git = tmp_path / ".git"
    (git / "refs" / "heads" / "fix").mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/fix/it\n", "utf-8")
    inner = tmp_path / "src"
    inner.mkdir()
    facts = machine_facts(inner, {})
    assert "git_head" not in facts
    assert facts["git_branch"] == "fix/it"
    (git / "packed-refs").write_text(f"# pack-refs\n{COMMIT} refs/heads/fix/it\n", "utf-8")
    assert machine_facts(inner, {})["git_head"] == COMMIT
    (git / "refs" / "heads" / "fix" / "it").write_text("f" * 40, "utf-8")
    assert machine_facts(inner, {})["git_head"] == "f" * 40


def test_a_linked_worktree_has_a_branch_of_its_own(tmp_path: Path) -> None:
    own = tmp_path / "main" / ".git" / "worktrees" / "desk"
    heads = tmp_path / "main" / ".git" / "refs" / "heads"
    for folder in (own, heads, tmp_path / "desk"):
        folder.mkdir(parents=True)
    (tmp_path / "desk" / ".git").write_text(f"gitdir: {own}\n", "utf-8")
    (own / "HEAD").write_text("ref: refs/heads/desk\n", "utf-8")
    (own / "commondir").write_text("../..\n", "utf-8")
    (heads / "desk").write_text(COMMIT, "utf-8")
    facts = machine_facts(tmp_path / "desk", {})
    assert (facts["git_head"], facts["git_branch"]) == (COMMIT, "desk")


def test_a_commit_by_itself_has_no_branch(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text(COMMIT + "\n", "utf-8")
    facts = machine_facts(tmp_path, {})
    assert facts["git_head"] == COMMIT
    assert "git_branch" not in facts
