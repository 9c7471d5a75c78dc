"""The recorded request most like one that was not found."""

from dataclasses import dataclass

from rerail.compare.nearest import LOOKED_AT, likeness, nearest


@dataclass
class Candidate:
    body: bytes | None
    looked_at: int = 0

    def content(self) -> bytes | None:
        self.looked_at += 1
        return self.body


def test_the_first_in_line_is_taken_where_all_are_as_like() -> None:
    few = [Candidate(b"history A"), Candidate(b"history B"), Candidate(b"history C")]
    assert nearest(few, b"history X") is few[0]


def test_a_much_more_like_one_wins_over_the_first() -> None:
    title = Candidate(b"make a title")
    main = Candidate(b"a long history" * 50 + b"1" + b"the end")
    assert nearest([title, main], b"a long history" * 50 + b"2" + b"the end") is main


def test_the_same_turn_wins_over_longer_ones_that_begin_alike() -> None:
    turns = [Candidate(b"history " * length) for length in (10, 12, 14)]
    assert nearest(turns, b"history " * 9 + b"changed ") is turns[0]


def test_only_a_few_bodies_are_read() -> None:
    many = [Candidate(b"x" * number) for number in range(1000)]
    nearest(many, b"x" * 500)
    assert sum(candidate.looked_at for candidate in many) == LOOKED_AT


def test_without_candidates_or_a_body_there_is_little_to_say() -> None:
    assert nearest([], b"x") is None
    one = Candidate(b"x")
    assert nearest([one], b"y") is one
    assert nearest([one, Candidate(b"y")], None) is one


def test_likeness_is_a_share_of_the_longer_body() -> None:
    assert likeness(b"", b"") == 1.0
    assert likeness(b"abc", b"abc") == 1.0
    assert likeness(b"abcd", b"abXd") == 0.75
    assert likeness(b"abc", b"xyz") == 0.0
    assert likeness(None, b"xyz") == 0.0
