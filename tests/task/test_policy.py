"""A policy grants what every path of a proposal is named for, and nothing more."""

import json
import stat

import pytest

from rerail.errors import UsageProblem
from rerail.tape.proposals import Change, Proposal
from rerail.task.policy import parse_policy

FILE = stat.S_IFREG | 0o644


def proposal(*paths: bytes, gone: bytes = b"") -> Proposal:
    changes = [Change(path, FILE, b"", bytes(32)) for path in paths]
    changes += [Change(gone, 0, bytes(32), b"")] if gone else []
    return Proposal(bytes(32), tuple(changes))


def folder(path: bytes, *more: bytes) -> Proposal:
    named = proposal(*more)
    return Proposal(named.base, (Change(path, stat.S_IFDIR | 0o777), *named.changes))


POLICY = parse_policy(
    json.dumps(
        {
            "name": "p",
            "version": "3",
            "grants": [
                {"target": "live", "paths": ["docs/*", "a.json"]},
                {"target": "test", "paths": ["*"], "tasks": ["T-1"]},
            ],
        }
    ).encode(),
    "policy.yaml",
)

CASES = [
    (proposal(b"a.json"), "live", "T-9", True),
    (proposal(b"docs/x.md", b"docs/deep/y.md"), "live", "T-9", True),
    (proposal(b"a.json", b"b.json"), "live", "T-9", False),
    (proposal(b"a.json", gone=b"b.json"), "live", "T-9", False),
    (proposal(b"docs2/x"), "live", "T-9", False),
    (proposal(b"a.json"), "elsewhere", "T-9", False),
    (proposal(b"anything"), "test", "T-1", True),
    (proposal(b"anything"), "test", "T-2", False),
    (proposal(b"A.json"), "live", "T-9", False),
    (proposal(b"\xff"), "live", "T-9", False),
    (proposal(), "live", "T-9", False),
    (proposal(), "test", "T-1", False),
    (folder(b"secrets"), "live", "T-9", False),
    (folder(b"secrets", b"a.json"), "live", "T-9", False),
    (folder(b"docs"), "live", "T-9", False),
    (folder(b""), "live", "T-9", False),
    (folder(b"docs/deep"), "live", "T-9", True),
    (folder(b"docs/deep", b"docs/deep/y.md"), "live", "T-9", True),
    (folder(b""), "test", "T-1", True),
]


@pytest.mark.parametrize(("made", "target", "task", "granted"), CASES, ids=range(len(CASES)))
def test_every_path_must_be_named(made: Proposal, target: str, task: str, granted: bool) -> None:
    assert POLICY.grants_it(made, target=target, task=task) is granted


def test_its_title_says_which_version() -> None:
    assert POLICY.title == "policy p version 3"


NONE = (
    b"",
    b"name: p\n",
    b"name: p\nversion: 1\ngrants: all\n",
    b"name: p\nversion: 1\ngrants: [{target: live, paths: []}]\n",
)


@pytest.mark.parametrize("content", NONE)
def test_what_is_no_policy_is_said(content: bytes) -> None:
    with pytest.raises(UsageProblem, match=r"policy\.yaml"):
        parse_policy(content, "policy.yaml")
