"""The live system, as one folder: what is applied to it, what it holds, what an attempt did to it.

`apply` needs the token of the payment team, `read` and `reconcile` look. Where a file `slow` stands
beside this one, `apply` takes the proposal over, and says so too late for its contract.
"""

import json
import os
import shutil
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
LIVE = HERE / "live"
REFUSED = 22
LATE = 60


def main() -> int:
    """Do what the first word says."""
    LIVE.mkdir(exist_ok=True)
    return {"apply": apply, "read": read, "reconcile": reconcile}[sys.argv[1]]()


def apply() -> int:
    """Take the proposal over."""
    if not os.environ.get("PAYMENT_DEPLOY_TOKEN"):
        print("the token is missing", file=sys.stderr)
        return REFUSED
    shutil.copyfile(Path(os.environ["RERAIL_PROPOSAL"]) / "retry.json", LIVE / "retry.json")
    with (LIVE / "attempts.log").open("a") as log:
        log.write(f"{os.environ['RERAIL_ATTEMPT_ID']} {os.environ['RERAIL_PROPOSAL_REF']}\n")
    if (HERE / "slow").exists():
        time.sleep(LATE)
    print("applied")
    return 0


def attempts() -> list[str]:
    """The attempts that came through, in order."""
    log = LIVE / "attempts.log"
    return [line.split()[0] for line in log.read_text().splitlines()] if log.exists() else []


def read() -> int:
    """Print what is live."""
    settings = LIVE / "retry.json"
    live = json.loads(settings.read_bytes()) if settings.exists() else None
    print(json.dumps({"retry.json": live, "attempts": attempts()}, indent=2))
    return 0


def reconcile() -> int:
    """Print what one attempt did."""
    attempt = os.environ["RERAIL_ATTEMPT_ID"]
    came = attempt in attempts()
    state = "applied" if came else "not applied"
    print(
        json.dumps({"state": state, "reason": f"{attempt} is {'' if came else 'not '}in the log"})
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
