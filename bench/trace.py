"""`python -m bench.trace FOLDER`: what detectors see in public runs, beside constants and chance.

No number here says how often a cause is found: a place within one message of a label is counted.
"""

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import comb
from pathlib import Path
from typing import Final

from bench.public import (
    AIRLINE,
    HELD_OUT,
    LABELLED,
    LABELS,
    RETAIL,
    Run,
    first_other_write,
    held_out,
    labelled_by,
    runs,
)
from rerail.trace.detect.detectors import detectors
from rerail.trace.detect.ranking import candidates
from rerail.trace.detect.reading import Reading
from rerail.trace.finding import Finding

NEAR: Final = 1
LOOKED_AT: Final = 3

MADE_ON: Final = {
    **dict.fromkeys(
        [
            "unapproved-write",
            "altered-after-refusal",
            "announced-write",
            "approved-otherwise",
            "unspoken-choice",
            "repeated-write",
            "over-limit",
            "unmet-condition",
            "unused-result",
            "refused-figure",
            "unlisted-write",
        ],
        "airline",
    ),
    **dict.fromkeys(
        [
            "recount",
            "denied-value",
            "misplaced-value",
            "part-for-whole",
            "closed-door",
            "unavailable-choice",
            "changed-mind",
            "handed-over",
        ],
        "retail",
    ),
    **dict.fromkeys(("forbidden-state", "cut-off"), "both"),
    "wrong-sum": "held out, read",
}
"""The set whose runs were looked at when a rule was written; all others come from the design."""


def near(places: Iterable[int], labels: frozenset[int]) -> bool:
    """Whether one of the places is within one message of a label."""
    return any(abs(place - label) <= NEAR for place in places for label in labels)


def chance(run: Run) -> float:
    """The odds that one of three messages drawn blindly is within one of a label."""
    count = len(run.story.said)
    good = sum(near((said.order,), run.labels) for said in run.story.said)
    return 1 - comb(count - good, LOOKED_AT) / comb(count, LOOKED_AT)


def constants(found: Sequence[Run]) -> tuple[int, int]:
    """The hits of the best single message number, and of the best three, chosen in hindsight."""
    numbers = range(1, max(len(run.story.said) for run in found) + 1)
    chosen: list[int] = []
    hits: list[int] = []
    for _ in range(LOOKED_AT):
        best = max(numbers, key=lambda n: sum(near([*chosen, n], run.labels) for run in found))
        chosen.append(best)
        hits.append(sum(near(chosen, run.labels) for run in found))
    return hits[0], hits[-1]


def localisation(title: str, found: Sequence[Run], made: str) -> list[str]:
    """How often a place to look at is near a label; `made` is the set that these runs are of."""

    def first(findings: Iterable[Finding]) -> list[int]:
        return [place.order for place in candidates(findings)[:LOOKED_AT]]

    def writes(run: Run, from_end: bool) -> list[int]:
        orders = [run.story.said[call.asked].order for call in Reading(run.story).writes]
        return orders[-LOOKED_AT:] if from_end else orders[:LOOKED_AT]

    def count(places: Callable[[Run], Iterable[int]]) -> int:
        return sum(near(places(run), run.labels) for run in found)

    one, three = constants(found)
    rows = [
        ("top three places, first two tiers alone", count(lambda run: first(run.blamed))),
        ("top three places, context behind them", count(lambda run: first(run.findings))),
        (
            f"the same without rules made on {made} alone",
            count(lambda run: first(o for o in run.findings if MADE_ON.get(o.detector) != made)),
        ),
        ("any finding at all", count(lambda run: [one.order for one in run.findings])),
        ("the best constant message, in hindsight", one),
        ("the best three constants, in hindsight", three),
        ("the first three writes", count(lambda run: writes(run, from_end=False))),
        ("the last three writes", count(lambda run: writes(run, from_end=True))),
    ]
    lines = [
        f"### {title}",
        "",
        f"| of {len(found)} runs | within one message of a label |",
        "|---|---|",
    ]
    lines += [f"| {name} | {hits} |" for name, hits in rows]
    lines.append(f"| three messages drawn blindly | {sum(map(chance, found)):.1f} |")
    return [*lines, ""]


def separation(title: str, found: Sequence[Run], made: str) -> list[str]:
    """In how many failed and passed runs each detector speaks."""
    failed = sum(run.failed for run in found)
    passed = len(found) - failed
    lines = [f"### {title}: {failed} failed, {passed} passed", ""]
    lines += ["| detector | tier | made on | failed | passed |", "|---|---|---|---|---|"]
    for detector in detectors():
        with_it = [run for run in found if any(f.detector == detector.name for f in run.findings)]
        if with_it:
            bad = sum(run.failed for run in with_it)
            home = MADE_ON.get(detector.name, "design")
            lines.append(
                f"| {detector.name} | {detector.tier} | {home} | {bad} | {len(with_it) - bad} |"
            )
    for name, some in (
        ("**any of the first two tiers**", lambda one: True),
        (f"those not made on {made} alone", lambda one: MADE_ON.get(one.detector) != made),
    ):
        with_it = [run for run in found if any(map(some, run.blamed))]
        bad = sum(run.failed for run in with_it)
        lines.append(f"| {name} | | | {bad} | {len(with_it) - bad} |")
    return [*lines, ""]


def apart(sets: Mapping[str, Sequence[Run]]) -> list[str]:
    """In how many failed and passed runs of the sets that are held out each detector speaks."""
    lines = ["### Held out: failed / passed runs with a finding", ""]
    lines.append(f"| detector | tier | {' | '.join(sets)} |")
    lines.append("|---|---|" + "---|" * len(sets))
    lines.append(f"| runs | | {' | '.join(map(_split, sets.values()))} |")
    for detector in detectors():
        cells = [_split(_spoken_of(found, detector.name)) for found in sets.values()]
        if any(cells):
            lines.append(f"| {detector.name} | {detector.tier} | {' | '.join(cells)} |")
    blamed = [[run for run in found if run.blamed] for found in sets.values()]
    lines.append(f"| **any of the first two tiers** | | {' | '.join(map(_split, blamed))} |")
    return [*lines, ""]


def _spoken_of(found: Sequence[Run], detector: str) -> list[Run]:
    return [run for run in found if any(one.detector == detector for one in run.findings)]


def _split(found: Sequence[Run]) -> str:
    bad = sum(run.failed for run in found)
    return f"{bad} / {len(found) - bad}" if found else ""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where the public data is")
    folder = parser.parse_args().folder
    missing = [
        name for name in (AIRLINE, RETAIL, LABELLED, LABELS) if not (folder / name).is_file()
    ]
    if missing:
        parser.error(
            f"{folder} does not hold {missing[0]}; docs/benchmarks.md says what is measured"
        )
    print("\n".join([*known(folder), *unknown(folder)]))


def known(folder: Path) -> list[str]:
    """The sets that rules were made on."""
    labelled = runs(folder / LABELLED, labelled_by(folder / LABELS))
    airline = runs(folder / AIRLINE, first_other_write)
    wrong = [run for run in airline if run.failed and run.labels]
    return [
        *localisation("Retail, labelled failures (rules partly made on them)", labelled, "retail"),
        *localisation(
            "Airline, failed runs with a write that the reference has not (an oracle, not a label)",
            wrong,
            "airline",
        ),
        *separation("Airline (most rules were made on it)", airline, "airline"),
        *separation("Retail (shown, not aimed at)", runs(folder / RETAIL), "retail"),
    ]


def unknown(folder: Path) -> list[str]:
    """Those that are held out, as far as the folder holds them: what was read, and what was not."""
    sets = {one.title: held_out(folder, one) for one in HELD_OUT}
    sets = {title: found for title, found in sets.items() if found}
    lines: list[str] = []
    for title, unread in (("tasks that were read", False), ("tasks that nobody read", True)):
        part = {
            name: [run for run in found if run.unread is unread] for name, found in sets.items()
        }
        lines += [f"#### {title}", "", *apart(part)] if sets else []
    return lines


if __name__ == "__main__":
    main()
