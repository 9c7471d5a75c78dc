"""The table of what is left out, and how it is changed by the user."""

import pytest

from rerail.workspace.left_out import (
    ASKED,
    CREDENTIALS,
    HELD,
    INSTALLED,
    MADE_AGAIN,
    OWN,
    TABLE,
    LeftOut,
    Patterns,
)


@pytest.mark.parametrize(
    ("path", "folder", "why"),
    [
        (b"runs", True, OWN),
        (b"src/runs", True, ""),
        (b"runs", False, ""),
        (b"deep/down/x.tape-wal", False, OWN),
        (b".env", False, CREDENTIALS),
        (b"app/.env.local", False, CREDENTIALS),
        (b".env.example", False, ""),
        (b"environment", False, ""),
        (b".environment", False, ""),
        (b"id_ed25519", False, CREDENTIALS),
        (b"id_ed25519.pub", False, ""),
        (b"tls/server.key", False, CREDENTIALS),
        (b"keyboard", False, ""),
        (b".ssh", True, CREDENTIALS),
        (b"me/.codex/auth.json", False, CREDENTIALS),
        (b"auth.json", False, ""),
        (b"web/node_modules", True, INSTALLED),
        (b"sub/.git/index.lock", False, HELD),
        (b"web/__pycache__", True, MADE_AGAIN),
        (b"node_modules", False, ""),
        (b".next/cache", True, MADE_AGAIN),
        (b".git", True, ""),
        (b"src/agent.py", False, ""),
    ],
)
def test_the_table(path: bytes, folder: bool, why: str) -> None:
    assert LeftOut().why(path, folder=folder) == why


def test_every_pattern_of_the_table_matches_something() -> None:
    for rule in TABLE:
        for pattern in rule.patterns:
            path = f"some/{pattern.replace('*', 'x')}".encode()
            assert LeftOut().why(path, folder=rule.folders) == rule.why, pattern


def test_what_is_asked_for_comes_back_and_only_that() -> None:
    rules = LeftOut(include=[".env", "web/node_modules", "runs"])
    assert rules.why(b"app/.env", folder=False) == ""
    assert rules.why(b"web/node_modules", folder=True) == ""
    assert rules.why(b"runs", folder=True) == ""
    assert rules.why(b"node_modules", folder=True) == INSTALLED
    assert rules.why(b".env.local", folder=False) == CREDENTIALS


def test_more_is_left_out_where_that_is_asked_for() -> None:
    rules = LeftOut(exclude=["*.parquet", "data/", "docs/*.md"])
    assert rules.why(b"a/b.parquet", folder=False) == ASKED
    assert rules.why(b"data", folder=True) == ASKED
    assert rules.why(b"docs/a.md", folder=False) == ASKED
    assert rules.why(b"a.md", folder=False) == ""


def test_the_tape_is_own_whatever_its_name() -> None:
    assert LeftOut(own=[b"out/kept"]).why(b"out/kept", folder=False) == OWN
    assert LeftOut(own=[b"out/kept"]).why(b"kept", folder=False) == ""


def test_what_an_earlier_snapshot_held_is_not_left_out_of_the_next() -> None:
    rules = LeftOut(held=[b".env", b"venv"], exclude=[".env"])
    assert rules.why(b".env", folder=False) == ""
    assert rules.why(b"a/.env", folder=False) == ASKED
    assert rules.wanted(b"venv")


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("a", b"x/a", True),
        ("a", b"x/ab", False),
        ("x/a", b"w/x/a", True),
        ("x/a", b"wx/a", False),
        ("*.py", b"a/b.py", True),
        ("b*", b"a/bc", True),
        ("a?c", b"x/abc", True),
        ("a?c", b"x/abcd", False),
        ("[ab]*.py", b"bz.py", True),
        ("src/*/t.py", b"src/a/b/t.py", True),
        ("caf\udce9", b"caf\xe9", True),
    ],
)
def test_patterns(pattern: str, path: bytes, matches: bool) -> None:
    assert Patterns([pattern]).match(path) is matches
