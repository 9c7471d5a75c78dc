"""Facts of a machine and a day in their spellings."""

import time

import pytest

from rerail.compare.facts import EXPLAINED, KINDS, Facts

HERE = {
    "cwd": "/home/alice/code/shop", "home": "/home/alice", "user": "alice", "host": "build-7",
    "kernel": "6.1.0-28-amd64", "system": "Linux", "machine": "x86_64", "date": "2026-11-29",
    "timezone": "CET+0100", "timezone_name": "Europe/Berlin",
    "git_head": "a1b2c3d4e5f60718293a4b5c6d7e8f9012345678", "git_branch": "feature/shop",
}  # fmt: skip
THERE = {
    "cwd": "/srv/bob/shop", "home": "/srv/bob", "user": "robert", "host": "laptop",
    "kernel": "6.9.3-arch1", "system": "Darwin", "machine": "aarch64", "date": "2027-01-05",
    "timezone": "EST-0500", "timezone_name": "America/New_York",
    "git_head": "ffeeddccbbaa99887766554433221100ffeeddcc", "git_branch": "fix/basket",
}  # fmt: skip
FACTS = Facts(HERE, THERE)


def spots(text: str, facts: Facts = FACTS) -> list[str]:
    return [text[start:end] for start, end in facts.find(text)]


def test_every_kind_of_fact_has_its_rule_and_reason() -> None:
    assert set(HERE) == set(KINDS)
    for name, old in HERE.items():
        rule = FACTS.rule(old, THERE[name])
        assert rule == "fact: " + name.replace("_", " ")
        assert EXPLAINED[rule]
        assert FACTS.rule(THERE[name], old) is None


@pytest.mark.parametrize(
    ("recorded", "now"),
    [
        ("-home-alice-code-shop", "-srv-bob-shop"),
        ("%2Fhome%2Falice%2Fcode%2Fshop", "%2Fsrv%2Fbob%2Fshop"),
        ("2026/11/29", "2027/01/05"),
        ("20261129", "20270105"),
        ("11/29/2026", "1/5/2027"),
        ("November 29, 2026", "January 5, 2027"),
        ("Sunday, November 29, 2026", "Tuesday, January 5, 2027"),
        ("Sun Nov 29 2026", "Tue Jan 05 2027"),
        ("Sun, 29 Nov 2026", "Tue, 05 Jan 2027"),
        ("November 2026", "January 2027"),
        ("November 29th, 2026", "January 5th, 2027"),
        ("2026-11-29 (Sunday)", "2027-01-05 (Tuesday)"),
        ("linux", "darwin"),
        ("UTC+01:00", "UTC-05:00"),
        ("a1b2c3d", "ffeeddc"),
        ("a1b2c3d4e5", "ffeeddccbb"),
    ],
)
def test_facts_stand_for_each_other_in_their_common_spellings(recorded: str, now: str) -> None:
    assert spots(f"it is {recorded}.") == [recorded]
    assert spots(f"it is {now}.") == [now]
    assert FACTS.rule(recorded, now)


def test_a_date_is_found_anywhere_in_a_long_text() -> None:
    text = "2026 " * 40 + "x" * 5000 + " Wednesday, September 30th, 2026 " + "y" * 5000
    facts = Facts({"date": "2026-09-30"}, {"date": "2027-01-05"})
    assert spots(text, facts) == ["Wednesday, September 30th, 2026"]
    assert spots(text * 40, facts) == ["Wednesday, September 30th, 2026"] * 40


def test_another_spelling_is_another_text() -> None:
    assert FACTS.rule("2026-11-29", "January 5, 2027") is None
    assert FACTS.rule("a1b2c3d", "ffeeddcc") is None


def test_the_longest_fact_at_a_place_is_meant() -> None:
    text = "in /home/alice/code/shop/src, not /home/alice/x"
    assert spots(text) == ["/home/alice/code/shop", "/home/alice"]


@pytest.mark.parametrize(
    "text",
    [
        "/home/alice2/x", "/home/alice-old", "malice", "alice.example", "x-alice",
        "2026-11-29T10:00:00", "/home/alice.bak/x", "6.1.0-28-amd64-extra", "a1b2c3d4e5f6071829",
    ],
)  # fmt: skip
def test_a_part_of_a_longer_word_is_no_fact(text: str) -> None:
    assert spots(text) == []


def test_the_home_as_seen_from_the_folder() -> None:
    facts = Facts({"cwd": "/run/desk", "home": "/run/home"}, {"cwd": "/x/a/b", "home": "/x/me"})
    assert facts.rule("../home", "../../me") == "fact: home"
    assert spots("from ../home/.config on", facts) == ["../home"]
    above = Facts({"cwd": "/home/me/a", "home": "/home/me"}, {"cwd": "/x/b/c", "home": "/x"})
    assert above.rule("..", "../..") is None, "too many things are called so"


def test_a_path_inside_a_path_is_another_place() -> None:
    facts = Facts({"home": "/home/alice"}, {"home": "/srv/bob"})
    assert spots("/mnt/home/alice", facts) == []


@pytest.mark.parametrize(
    "text", [r'{"cwd":"/home/alice"}', r"a\n/home/alice/x", "file:///home/alice", "(/home/alice)."]
)
def test_a_fact_stands_inside_other_texts(text: str) -> None:
    assert spots(text) == ["/home/alice"]


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("user", "a", "bob"),
        ("user", "root", "alice"),
        ("user", "alice", "admin"),
        ("host", "localhost", "build-7"),
        ("git_branch", "main", "feature/shop"),
        ("cwd", "/", "/srv/bob"),
        ("cwd", "/w", "/srv/bob"),
        ("timezone_name", "UTC", "Europe/Berlin"),
        ("date", "today", "2026-11-29"),
        ("date", "9999-12-31", "not a date"),
        ("user", "", "alice"),
    ],
)
def test_what_is_short_or_common_is_never_taken_for_a_fact(name: str, old: str, new: str) -> None:
    facts = Facts({name: old}, {name: new})
    assert facts.rule(old, new) is None
    assert spots(f"{old} and {new}", facts) == []


def test_facts_that_do_not_differ_or_are_not_known_are_not_looked_for() -> None:
    assert spots("/home/alice", Facts(HERE, HERE)) == []
    assert spots("/home/alice", Facts({}, THERE)) == []
    assert spots("/home/alice", Facts(HERE, {})) == []


def test_a_strangers_facts_break_nothing() -> None:
    odd = {
        "cwd": "/home/\udce9t\udce9/x", "home": "//", "date": "0001-01-01", "timezone": "x" * 9,
        "git_head": "", "user": "\0\0\0\0", "system": "[a-z]+(", "kernel": "k" * 100_000,
    }  # fmt: skip
    facts = Facts(odd, HERE, days=10**9)
    assert facts.rule("/home/\udce9t\udce9/x", HERE["cwd"]) == "fact: cwd"
    assert facts.find("[a-z]+( and \udce9") == [(0, 7)]


def test_a_run_over_midnight_has_two_dates() -> None:
    facts = Facts({"date": "2026-11-29"}, {"date": "2026-12-04"}, days=1)
    assert facts.rule("2026-11-29", "2026-12-04")
    assert facts.rule("2026-11-30", "2026-12-04")
    assert facts.rule("2026-12-01", "2026-12-04") is None
    same = Facts({"date": "2026-11-29"}, {"date": "2026-11-29"}, days=1)
    assert same.rule("2026-11-30", "2026-11-29")


def test_a_hostile_text_costs_time_in_proportion() -> None:
    text = "/home/alice /home/alicex 2026 " * 30_000
    began = time.process_time()
    assert len(spots(text)) == 30_000
    assert time.process_time() - began < 2
