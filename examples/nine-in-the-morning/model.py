"""A simulated model for this example: it forgets one of two files, and says that all is well.

Told of the other file by a hint, it does that too. It says in every reply that it is simulated
(`"model": "simulated-1"`).
"""

import signal
import sys

from rerail.testing.model import Asked, Reply, SimulatedModel, ToolCall

RIGHT = "vat = 21\n"
DONE = "Done: the VAT is 21 % now, and all checks pass."


def answer(asked: Asked) -> Reply:
    """The next thing to do, by what was done."""
    called = [call for message in asked.messages for call in message.tool_calls]
    hinted = any("invoice.ini" in message.text for message in asked.messages[2:]
                 if message.role == "user")  # fmt: skip
    to_do = [
        ToolCall("list_files", {}),
        ToolCall("read_file", {"path": "tax.ini"}),
        ToolCall("write_file", {"path": "tax.ini", "text": RIGHT}),
        ToolCall("run_check", {}),
    ]
    if hinted:
        to_do += [
            ToolCall("write_file", {"path": "invoice.ini", "text": RIGHT}),
            ToolCall("run_check", {}),
        ]
    rest = to_do[len(called) :]
    return Reply(tool_calls=rest[:1]) if rest else Reply(DONE)


def main() -> None:
    """Serve until interrupted, on the port that is named or one that is free."""
    signals = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    with SimulatedModel(answer, port=int(sys.argv[1]) if sys.argv[1:] else 0, keep=0) as model:
        print(f"simulated model: {model.url}/v1", flush=True)
        signal.sigwait(signals)


if __name__ == "__main__":
    main()
