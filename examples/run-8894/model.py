"""A simulated model for this example: it answers with settings that keep to the policy.

With `--slip` it raises the retries after a charge as well, which the policy in its prompt forbids.
A number is the port to serve on, else it is one that is free. It says in every reply that it is
simulated (`"model": "simulated-1"`).
"""

import json
import signal
import sys

from rerail.testing.model import Asked, Reply, SimulatedModel

GOOD = {"timeout_before_send": 3, "timeout_after_charge": 0, "backoff_ms": 200}
SLIP = GOOD | {"timeout_after_charge": 2}


def main() -> None:
    """Serve until interrupted."""
    settings = SLIP if "--slip" in sys.argv else GOOD

    def answer(asked: Asked) -> Reply:
        return Reply(json.dumps(settings))

    signals = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    port = next((int(word) for word in sys.argv[1:] if word.isdigit()), 0)
    with SimulatedModel(answer, port=port) as model:
        print(f"simulated model: {model.url}", flush=True)
        signal.sigwait(signals)


if __name__ == "__main__":
    main()
