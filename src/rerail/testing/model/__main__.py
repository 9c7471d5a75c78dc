"""`python -m rerail.testing.model`: the simulated model as a program of its own."""

import argparse
import signal
import sys
from pathlib import Path

from rerail.testing.ca import CertificateAuthority
from rerail.testing.model.server import SimulatedModel, Trouble


def main(arguments: list[str] | None = None) -> None:
    """Serve until interrupted or terminated."""
    options = _options(arguments)
    leaf = None
    if options.tls:
        authority = CertificateAuthority("rerail simulated model")
        authority.write(options.authority)
        leaf = authority.leaf(*options.tls)
    try:
        model = SimulatedModel(
            seed=options.seed,
            chunk_pause=options.chunk_pause,
            troubles=[Trouble(status=status) for status in options.fail],
            tls=leaf,
            port=options.port,
            keep=0,
        )
    except OSError as error:
        sys.exit(f"cannot listen on port {options.port}: {error.strerror}; name another: --port N")
    # Blocked before the server's threads start, so that the signals wait for this one.
    signals = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    with model:
        print(f"simulated model: {model.url}/v1 (OpenAI), {model.url} (Anthropic)", flush=True)
        signal.sigwait(signals)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m rerail.testing.model",
        description="A simulated model server on 127.0.0.1: OpenAI chat completions and responses, "
        "Anthropic messages.",
    )
    parser.add_argument("--port", type=int, default=0, help="default: one that is free")
    parser.add_argument("--seed", help="the same request gets the same reply")
    parser.add_argument(
        "--chunk-pause", type=float, default=0.02, metavar="SECONDS", help="between two events"
    )
    parser.add_argument(
        "--fail", type=int, action="append", default=[], metavar="STATUS",
        help="refuse the next call with this status, then answer (may be repeated)",
    )  # fmt: skip
    parser.add_argument(
        "--tls", action="append", metavar="NAME", help="serve TLS for this name (may be repeated)"
    )
    parser.add_argument(
        "--authority", type=Path, default=Path("simulated-model.pem"), metavar="FILE",
        help="with --tls: where the certificate to trust is written (default: %(default)s)",
    )  # fmt: skip
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
