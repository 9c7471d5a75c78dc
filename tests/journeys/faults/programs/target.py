"""The target of the fault lab: a folder, and commands on it that misbehave as told.

target.py FOLDER apply|read|reconcile [HOW]
"""

import json
import os
import shutil
import sys
import time
from pathlib import Path

LIVE, WHAT = Path(sys.argv[1]), sys.argv[2]
HOW = sys.argv[3] if len(sys.argv) > 3 else "well"
REJECTED = 22


def main() -> int:
    """Do it, as HOW says."""
    LIVE.mkdir(exist_ok=True)
    if HOW == "hangs":
        time.sleep(60)
    if WHAT == "apply":
        return apply()
    if HOW == "fails" or (HOW == "fails once applied" and attempts()):
        print("the target cannot be reached", file=sys.stderr)
        return 1
    print(json.dumps(state() if WHAT == "read" else answer()))
    return 0


def apply() -> int:
    """Take the proposal over; `LIVE/ready` says so to who waits for it."""
    if HOW == "rejects":
        print("not on a Friday", file=sys.stderr)
        return REJECTED
    if HOW == "leaks":
        print(f"deployed with {os.environ['LAB_TOKEN']}")
    if HOW != "claims":
        proposed = Path(os.environ["RERAIL_PROPOSAL"]) / "retry.json"
        if HOW == "half":
            (LIVE / "retry.json").write_text(proposed.read_text()[:20])
            return 1
        shutil.copyfile(proposed, LIVE / "retry.json")
        with (LIVE / "attempts.log").open("a") as log:
            log.write(f"{os.environ['RERAIL_ATTEMPT_ID']}\n")
    if HOW == "accepts, then hangs":
        (LIVE / "ready").touch()
        time.sleep(60)
    print("applied")
    return 0


def attempts() -> list[str]:
    """Those that came through."""
    log = LIVE / "attempts.log"
    return log.read_text().split() if log.exists() else []


def state() -> dict[str, object]:
    """What is live."""
    settings = LIVE / "retry.json"
    return {"live": settings.read_text() if settings.exists() else None, "attempts": attempts()}


def answer() -> dict[str, str]:
    """What one attempt did."""
    if os.environ["RERAIL_ATTEMPT_ID"] in attempts():
        return {"state": "applied", "reason": "it is in the target's own log"}
    if (LIVE / "retry.json").exists() and not attempts():
        return {"state": "partly applied", "reason": "the file is there, and cut"}
    return {"state": "not applied", "reason": "it is not in the target's own log"}


if __name__ == "__main__":
    sys.exit(main())
