"""The checker: measures a proposed retry.json against the cases of a baseline.

Its own settings (checker.json) name a baseline, and it believes them before what it is given: the
fault of RUN-8894. Without the settings it goes by what it is given.
"""

import hashlib
import json
import os
from pathlib import Path

HERE = Path(__file__).parent


def main() -> None:
    """Print one report for `rerail run`."""
    baseline = chosen()
    cases = json.loads(baseline.read_bytes())
    proposed = json.loads((Path(os.environ["RERAIL_PROPOSAL"]) / "retry.json").read_bytes())
    report = {
        "proposal": os.environ["RERAIL_PROPOSAL_REF"],
        "baseline": {
            "name": os.environ["RERAIL_BASELINE_NAME"],
            "version": cases["version"],
            "digest": f"sha256:{hashlib.sha256(baseline.read_bytes()).hexdigest()}",
        },
        "results": [judged(case, proposed) for case in cases["cases"]],
    }
    print(json.dumps(report, indent=2))


def chosen() -> Path:
    """The baseline that is measured against."""
    settings = HERE / "checker.json"
    if settings.exists():
        version = json.loads(settings.read_bytes())["baseline"]
        return HERE / "baselines" / f"retry-cases-{version}.json"
    return Path(os.environ["RERAIL_BASELINE"])


def judged(case: dict, proposed: dict) -> dict:
    """One case: may so many retries be?"""
    found = proposed.get(case["key"], 0)
    passed = found <= case["at_most"]
    return {
        "name": case["name"],
        "outcome": "passed" if passed else "failed",
        "protected": case["protected"],
        "tests": case["tests"],
        "detail": f"{found} retries, at most {case['at_most']}",
    }


if __name__ == "__main__":
    main()
