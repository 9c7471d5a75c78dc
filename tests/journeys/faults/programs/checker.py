"""The checker of the fault lab: measures retry.json against a baseline, or misbehaves as told."""

import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HOW = sys.argv[1] if len(sys.argv) > 1 else "well"
PLACE = Path(sys.argv[2]) if len(sys.argv) > 2 else Path()


def main() -> int:
    """Print a report, as HOW says."""
    if HOW == "garbage":
        print("all good!")
        return 0
    if HOW == "hangs":
        time.sleep(60)
    if HOW == "dies":
        os.kill(os.getpid(), 9)
    baseline = PLACE if HOW == "other baseline" else Path(os.environ["RERAIL_BASELINE"])
    cases = json.loads(baseline.read_bytes())
    proposed = json.loads((Path(os.environ["RERAIL_PROPOSAL"]) / "retry.json").read_bytes())
    report: dict[str, Any] = {
        "proposal": os.environ["RERAIL_PROPOSAL_REF"],
        "baseline": {
            "name": os.environ["RERAIL_BASELINE_NAME"],
            "version": cases["version"],
            "digest": f"sha256:{hashlib.sha256(baseline.read_bytes()).hexdigest()}",
        },
        "results": [judged(case, proposed) for case in cases["cases"]],
    }
    if HOW == "leaves":
        asleep = [sys.executable, "-c", "import time; time.sleep(60)", "left"]
        subprocess.Popen(asleep, start_new_session=True, stdout=subprocess.DEVNULL)
    if HOW == "other proposal":
        report["proposal"] = "sha256:" + "0" * 64
    if HOW == "wavers" and Path(os.environ["TMPDIR"]).name == "check-2":
        report["results"][0]["outcome"] = "failed"
    if HOW == "spies":
        report["results"][0]["detail"] = look()
    print(json.dumps(report))
    return 4 if HOW == "status" else 0


def judged(case: dict[str, Any], proposed: dict[str, Any]) -> dict[str, Any]:
    """One case."""
    found = proposed.get(case["key"], 0)
    return {
        "name": case["name"],
        "outcome": "passed" if found <= case["at_most"] else "failed",
        "protected": case["protected"],
        "tests": case["tests"],
        "detail": f"{found} retries, at most {case['at_most']}",
    }


def look() -> str:
    """Whether the target's credential can be had from here."""
    try:
        return PLACE.read_text()
    except OSError as error:
        return f"refused: {type(error).__name__}, {os.environ.get('LAB_TOKEN', 'no token')}"


if __name__ == "__main__":
    sys.exit(main())
