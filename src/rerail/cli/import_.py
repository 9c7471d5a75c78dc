"""`rerail import`: another program's file, read as a run: what it says, what it cannot show."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import click

from rerail.cli.screen.progress import Told, progress
from rerail.cli.screen.texts import json_text, one_line, quantity, say, styled, table
from rerail.cli.shown.conversation import print_message
from rerail.errors import UsageProblem
from rerail.formats.reading import Imported, import_file
from rerail.trace.detect.detector import Material
from rerail.trace.detect.detectors import detect
from rerail.trace.detect.ranking import Candidate, candidates
from rerail.trace.finding import Finding
from rerail.trace.story import Said, Story

_PLACES: Final = 3


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--run", type=click.IntRange(min=1), metavar="N", help="The N-th run in FILE alone.")
@click.option(
    "--mapping",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="What the fields of JSON lines of your own are.",
)
@click.option("--said", is_flag=True, help="The conversation too.")
@click.option("--diagnose", is_flag=True, help="Let the detectors look; 1 where one blames.")
@click.option(
    "--plugins", is_flag=True, help="With formats and detectors of other packages: runs their code."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document, every text whole.")
def import_(
    file: Path,
    run: int | None,
    mapping: Path | None,
    said: bool,
    diagnose: bool,
    plugins: bool,
    as_json: bool,
) -> int:
    """Read FILE, which another program wrote, and say what it holds and what it cannot show.

    Nothing is written. Sessions of Claude Code and Qwen Code, rollouts of Codex, traces of OpenAI's
    Agents SDK and LangSmith, OTLP JSON, HAR, SWE-agent's trajectories, τ²-bench's results,
    Inspect's logs, lists of chat messages; with --mapping any JSON lines. `rerail trace collect`
    takes such a file into a case.
    """
    with progress("reading") as told:
        imported = import_file(file, mapping=mapping, plugins=plugins, told=_in_mib(told))
    stories = _chosen(imported, file, run)
    found = detect(Material(tuple(stories)), plugins=plugins) if diagnose else []
    if as_json:
        say(json_text(_values(imported, stories, found if diagnose else None)))
    else:
        _print(file, imported, stories, run)
        if said:
            for story in stories:
                _print_said(story)
        if diagnose:
            _print_findings(candidates(found), len(stories) > 1)
    return int(any(one.tier != "context" and not one.missing for one in found))


def _in_mib(told: Told) -> Told:
    return lambda done, all_: told(done >> 20, all_ >> 20)


def _chosen(imported: Imported, file: Path, run: int | None) -> Sequence[Story]:
    if run is None:
        return imported.stories
    if run > len(imported.stories):
        count = quantity(len(imported.stories), "run")
        raise UsageProblem(f"{file} has no run {run}", hint=f"it holds {count}")
    return imported.stories[run - 1 : run]


# On the screen.


def _print(file: Path, imported: Imported, stories: Sequence[Story], run: int | None) -> None:
    count = quantity(len(imported.stories), "run")
    say(one_line(f"{file}: {imported.format}, {count}, imported, not recorded"))
    rows = [_row(number, story) for number, story in enumerate(stories, start=run or 1)]
    heads = ["run", "which", "messages", "tool calls", "ended"]
    table(rows, headers=heads, right=[0, 2, 3], yielding=[1])
    gaps = {gap.what: gap.would_show for story in stories for gap in story.gaps}
    say()
    say("it cannot show:")
    for what, would_show in gaps.items():
        say(one_line(f"  {what}: {would_show}"))


def _row(number: int, story: Story) -> list[str]:
    calls = sum(len(said.message.tool_calls) for said in story.said)
    which = ", ".join(f"{name} {value}" for name, value in story.ids.items())
    return [str(number), which, str(len(story.said)), str(calls), story.ended or "unknown"]


def _print_said(story: Story) -> None:
    for said in story.said:
        say(styled(one_line(_heading(said)), bold=True))
        print_message(said.message, whole=False)
        if said.error:
            say(one_line(f"  error     {said.error}"))


def _heading(said: Said) -> str:
    return "  ".join(filter(None, (said.ref, said.lane, said.model, said.finish_reason)))


def _print_findings(places: Sequence[Candidate], several: bool) -> None:
    say()
    if not places:
        say("the detectors say nothing; that is no proof that all is well")
        return
    say("where to look first (an order to read in, no verdict):")
    for number, place in enumerate(places, start=1):
        if number == _PLACES + 1:
            say("and further:")
        for finding in place.findings:
            _print_finding(finding, several)


def _print_finding(finding: Finding, several: bool) -> None:
    at = finding.evidence[-1]
    where = f"{at.source}, {at.ref}" if several else at.ref
    say(one_line(f"  {where}  {finding.category}, {finding.tier}: {finding.what}"))
    if finding.contradicts:
        say(one_line(f"    against “{' '.join(finding.contradicts.split())[:160]}”"))


# As JSON.


def _values(
    imported: Imported, stories: Sequence[Story], found: Sequence[Finding] | None
) -> dict[str, Any]:
    values: dict[str, Any] = {
        "format": imported.format,
        "recorded": False,
        "runs": [_story_values(story) for story in stories],
    }
    if found is not None:
        values["findings"] = [asdict(finding) for finding in found]
    return values


def _story_values(story: Story) -> dict[str, Any]:
    return {
        "source": story.source,
        "ids": dict(story.ids),
        "ended": story.ended,
        "gaps": [asdict(gap) for gap in story.gaps],
        "said": [asdict(said) for said in story.said],
    }
