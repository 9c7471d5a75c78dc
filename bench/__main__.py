"""`python -m bench`: measure rerail and a peer side by side in one run, and print the ratios."""

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Any, Final

from bench.arena import FULL, QUICK, Arena, OriginGone, arena, progress
from bench.calls import measure as measure_calls
from bench.case import measure as measure_case
from bench.children import measure as measure_children
from bench.clock import measure as measure_clock
from bench.contenders import RunFailed
from bench.durable import measure as measure_durable
from bench.figures import Row
from bench.size import measure as measure_size
from bench.startup import measure as measure_startup
from bench.streams import measure_events, measure_large
from bench.table import document, markdown, plain
from bench.tools import measure as measure_tools
from rerail import __version__

MEASUREMENTS: Final[dict[str, tuple[Callable[[Arena], list[Row]], str]]] = {
    "startup": (measure_startup, "rerail record -- true, against the peer until it listens"),
    "clock": (
        measure_clock,
        "an agent's times and random values, and the start of its interpreters",
    ),
    "children": (measure_children, "each child process of an agent, recording and replaying"),
    "calls": (measure_calls, "latency and throughput of model calls, recording and replaying"),
    "events": (measure_events, "server-sent events 100 ms apart"),
    "durable": (measure_durable, "durable scripts: a pause, a fork, a resumed run, bytes a step"),
    "size": (measure_size, "the tape of a 50-turn agent"),
    "tools": (measure_tools, "a check with a tool that stays, against one started for it"),
    "case": (measure_case, "timeline, verify and diagnose of a case, to a million events"),
    "large": (measure_large, "a download and an upload of 1 GiB, and the memory they take"),
}
_NOT_QUICK: Final = ("large",)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    options = argparse.ArgumentParser(
        prog="python -m bench",
        description=__doc__,
        epilog="measurements:\n"
        + "\n".join(f"  {name:<9} {text}" for name, (_, text) in MEASUREMENTS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    options.add_argument("names", nargs="*", metavar="NAME", help="what to measure; else all")
    options.add_argument(
        "--quick", action="store_true", help="one short round, without large bodies unless named"
    )
    options.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    options.add_argument("--json", type=Path, metavar="FILE", help="write everything to a file")
    return options


def main(arguments: list[str]) -> int:
    """Measure and print; status 1 where a measurement could not be made, 2 for usage."""
    options = parser().parse_args(arguments)
    if unknown := [name for name in options.names if name not in MEASUREMENTS]:
        parser().error(f"no measurement is called {unknown[0]}")
    names = options.names or [n for n in MEASUREMENTS if not (options.quick and n in _NOT_QUICK)]
    begun, load_before = monotonic(), os.getloadavg()[0]
    rows: list[Row] = []
    with arena(QUICK if options.quick else FULL) as where:
        for name in names:
            try:
                rows += MEASUREMENTS[name][0](where)
            except (RunFailed, OriginGone, OSError) as error:
                where.note(f"{name} could not be measured: {error}")
    about = _about(where, load_before, monotonic() - begun)
    print(markdown(rows) if options.markdown else plain(rows))
    print("\n".join(["", *_facts(about)]))
    if options.json:
        options.json.write_text(json.dumps(document(rows, about), indent=1) + "\n")
        progress(f"wrote {options.json}")
    return 1 if any(row.rerail is None for row in rows) or not rows else 0


def _about(where: Arena, load_before: float, seconds: float) -> dict[str, Any]:
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "rerail": __version__,
        "peer": f"mitmproxy {where.peer_version}" if where.peer_version else None,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "load_before": round(load_before, 2),
        "seconds": round(seconds),
        "plan": {name: getattr(where.plan, name) for name in where.plan.__slots__},
        "notes": where.notes,
    }


def _facts(about: dict[str, Any]) -> list[str]:
    peer = about["peer"] or "no peer"
    return [
        f"{about['date']}: rerail {about['rerail']} and {peer}, Python {about['python']}, "
        f"{about['system']}, {about['cores']} cores, load {about['load_before']} at the start, "
        f"{about['seconds']} s",
        "medians over the rounds; a ratio is the median of the rounds' ratios (lowest–highest)",
        *(f"note: {note}" for note in about["notes"]),
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
