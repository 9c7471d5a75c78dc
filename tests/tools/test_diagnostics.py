"""Readings, and where two of them do not agree."""

from rerail.tools.diagnostics import Both, Diagnostic, Reading, tidied

ONE = Diagnostic("a.ts", 1, 2, "TS1", "one")
TWO = Diagnostic("", 0, 0, "TS2", "two\n  because")
WARNING = Diagnostic("a.ts", 1, 1, "TS3", "three", "warning")


def both(kept: tuple[Diagnostic, ...], cold: tuple[Diagnostic, ...]) -> Both:
    return Both(Reading("tool", "1", "kept", kept), Reading("tool", "1", "cold", cold))


def test_a_diagnostic_is_printed_as_the_compiler_prints_it() -> None:
    assert str(ONE) == "a.ts(1,2): error TS1: one"
    assert str(TWO) == "error TS2: two\n  because"


def test_only_errors_make_files_wrong() -> None:
    assert Reading("tool", "1", "cold", (WARNING, ONE)).errors == (ONE,)


def test_equal_readings_are_no_mismatch() -> None:
    assert both((ONE, TWO), (TWO, ONE)).mismatch is None


def test_a_mismatch_names_both_sides_and_speaks_against_the_check() -> None:
    found = both((ONE,), (TWO,)).mismatch
    assert found is not None
    assert (found.only_kept, found.only_cold, found.category) == ((ONE,), (TWO,), "check")
    assert found.what == (
        "tool 1, kept running, and its cold run do not agree: "
        "only the kept one said a.ts(1,2): error TS1: one; only the cold one said error TS2: two"
    )


def test_a_stale_empty_answer_is_a_mismatch() -> None:
    many = tuple(Diagnostic("a.ts", line, 1, "TS1", "x") for line in range(1, 6))
    found = both((), many).mismatch
    assert found is not None
    assert "only the kept one said nothing" in found.what
    assert found.what.endswith("and 2 more")


def test_what_is_said_twice_counts_once() -> None:
    assert tidied([TWO, ONE, TWO]) == (TWO, ONE)
