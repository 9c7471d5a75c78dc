"""The files that agents and tracers write of their own runs, made by really running them.

Each does the same errands against the simulated model. `python -m tests.real_agents.written AGENTS`
makes anew what `tests/formats/written/` holds; AGENTS is the folder that `tools/install-agents`
filled. Kept files say nothing of the machine: folders have other names, long texts are cut, what is
large is packed.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import zstandard

from rerail.testing.model.server import SimulatedModel, Trouble
from tests.real_agents.chores import BEFORE, NOTES, TASK
from tests.real_agents.errands import Errands

KEPT: Final = Path(__file__).parent.parent / "formats" / "written"
SCRIPTS: Final = Path(__file__).parent / "scripts"
_LONG: Final = 600
_FAR_TOO_LONG: Final = 60
_LARGE: Final = 64_000
_SECONDS: Final = 120
_AND_NOW: Final = "And now?"


@dataclass(frozen=True)
class Place:
    """Where one agent runs: its folder, its home, where it may write, its model."""

    folder: Path
    agents: Path
    model: SimulatedModel

    @property
    def desk(self) -> Path:
        return self.folder / "desk"

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def out(self) -> Path:
        return self.folder / "out.jsonl"

    def run(self, *command: str | Path) -> None:
        """Run a command to its end; it may fail."""
        with self.out.open("wb") as out, (self.folder / "err").open("ab") as err:
            subprocess.run(
                [str(word) for word in command],
                cwd=self.desk,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                timeout=_SECONDS,
                check=False,
            )

    def _environment(self) -> dict[str, str]:
        url = self.model.url
        return {
            "PATH": os.pathsep.join(
                [str(self.agents / "npm/node_modules/.bin"), os.environ["PATH"]]
            ),
            "LANG": "C.UTF-8",
            "HOME": str(self.home),
            "OPENAI_API_KEY": "none",
            "CODEX_API_KEY": "none",
            "ANTHROPIC_API_KEY": "none",
            "OPENAI_BASE_URL": f"{url}/v1",
            "ANTHROPIC_BASE_URL": url,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }


@dataclass(frozen=True)
class Writer:
    """A program: what must be installed for it, how it is run, which files it leaves."""

    needs: str
    run: Callable[[Place], Iterator[Path]]
    relative: bool = False


def _claude(place: Place) -> Iterator[Path]:
    claude = ("claude", "--allowedTools", "Bash,Read,Edit,Agent", "-p")
    place.run(*claude, TASK)
    place.run("claude", "-c", "-p", "/compact")
    place.model.trouble(Trouble(status=400))
    place.run(*claude[:1], "-c", "-p", _AND_NOW)
    yield from sorted((place.home / ".claude/projects").rglob("*.jsonl"))


def _claude_stream(place: Place) -> Iterator[Path]:
    tools = ("--allowedTools", "Bash,Read,Edit,Agent")
    place.run("claude", *tools, "--output-format", "stream-json", "--verbose", "-p", TASK)
    yield place.out


def _codex(place: Place) -> Iterator[Path]:
    url = f"{place.model.url}/v1"
    provider = f'{{name="sim",base_url="{url}",env_key="OPENAI_API_KEY",wire_api="responses"}}'
    codex = (
        "codex",
        "exec",
        "--skip-git-repo-check",
        "--dangerously-bypass-approvals-and-sandbox",
        "-cmodel_provider=sim",
        f"-cmodel_providers.sim={provider}",
    )
    place.run(*codex, TASK)
    place.model.trouble(*[Trouble(status=400)] * 3)
    place.run(*codex, "resume", "--last", _AND_NOW)
    yield from (place.home / ".codex/sessions").rglob("*.jsonl")


def _qwen(place: Place) -> Iterator[Path]:
    qwen = ("qwen", "--yolo", "--auth-type", "openai", "--model", "gpt-5-mini")
    place.run(*qwen, "-p", TASK)
    place.model.trouble(Trouble(status=400))
    place.run(*qwen, "-c", "-p", _AND_NOW)
    yield from (place.home / ".qwen/projects").rglob("chats/*.jsonl")


def _script(name: str, environment: str, how: str) -> Callable[[Place], Iterator[Path]]:
    def run(place: Place) -> Iterator[Path]:
        python = place.agents / environment / "bin/python"
        file = place.folder / "written.jsonl"
        place.run(python, SCRIPTS / f"{name}.py", TASK, file, how)
        yield from sorted(file.iterdir()) if file.is_dir() else [file]

    return run


WRITERS: Final = {
    "claude-code": Writer("npm/node_modules/.bin/claude", _claude),
    "claude-code-stream": Writer("npm/node_modules/.bin/claude", _claude_stream),
    "codex": Writer("npm/node_modules/.bin/codex", _codex),
    "qwen-code": Writer("npm/node_modules/.bin/qwen", _qwen),
    "openai-agents-chat": Writer(
        "traced/bin/python", _script("openai_agents_traced", "traced", "chat_completions"), True
    ),
    "openai-agents-responses": Writer(
        "traced/bin/python", _script("openai_agents_traced", "traced", "responses"), True
    ),
    "otlp-openinference": Writer(
        "traced/bin/python", _script("otel_openai", "traced", "openinference"), True
    ),
    "otlp-traceloop": Writer(
        "traced/bin/python", _script("otel_openai", "traced", "traceloop"), True
    ),
    "otlp-opentelemetry": Writer(
        "otel/bin/python", _script("otel_openai", "otel", "opentelemetry"), True
    ),
    "otlp-opentelemetry-bare": Writer(
        "otel/bin/python", _script("otel_openai", "otel", "opentelemetry-bare"), True
    ),
    "otlp-langgraph-openinference": Writer(
        "traced/bin/python", _script("langgraph_traced", "traced", "openinference"), True
    ),
    "otlp-langgraph-traceloop": Writer(
        "traced/bin/python", _script("langgraph_traced", "traced", "traceloop"), True
    ),
    "langsmith": Writer(
        "traced/bin/python", _script("langgraph_traced", "traced", "langsmith"), True
    ),
    "inspect-eval": Writer("inspect/bin/python", _script("inspect_task", "inspect", "eval"), True),
    "inspect-json": Writer("inspect/bin/python", _script("inspect_task", "inspect", "json"), True),
}


def written(name: str, agents: Path, folder: Path) -> list[Path]:
    """Run a program in a folder, and give the files that it wrote of its run."""
    writer = WRITERS[name]
    desk = folder / "desk"
    desk.mkdir(parents=True)
    (folder / "home").mkdir()
    (desk / NOTES).write_text(BEFORE)
    identity = ("-c", "user.name=Tester", "-c", "user.email=tester@example.org")
    for words in (("init", "-q", "-b", "main"), ("add", "."), ("commit", "-q", "-m", "Notes")):
        subprocess.run(["git", *identity, *words], cwd=desk, check=True)
    with SimulatedModel(Errands(Path() if writer.relative else desk), seed=7) as model:
        return list(writer.run(Place(folder, agents.resolve(), model)))


# Made fit to be kept.


def cleaned(file: Path, place: Path, agents: Path) -> bytes:
    """A file without the names of this machine's folders, and without what is only long."""
    if file.suffix == ".eval":
        return file.read_bytes()
    text = file.read_text()
    names = {str(place / "desk"): "/desk", str(place / "home"): "/home/agent"}
    for name, other in names.items():
        text = text.replace(name, other).replace(name.replace("/", "-"), other.replace("/", "-"))
    text = re.sub(rf"{re.escape(str(agents.resolve()))}[^\s\"\\]*/site-packages", "/packages", text)
    text = text.replace(str(SCRIPTS), "/scripts")
    text = re.sub(r"Linux-[\w.+-]+", "Linux", text)
    try:
        return json.dumps(_short(json.loads(text)), ensure_ascii=False).encode() + b"\n"
    except ValueError:
        lines = (
            json.dumps(_short(json.loads(line)), ensure_ascii=False) for line in text.splitlines()
        )
        return "".join(f"{line}\n" for line in lines).encode()


def _short(value: Any) -> Any:
    """Long texts cut; a text that holds JSON stays JSON."""
    if isinstance(value, dict):
        return {name: _short(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_short(one) for one in value]
    if not isinstance(value, str) or len(value) <= _LONG:
        return value
    try:
        return json.dumps(_short(json.loads(value)), ensure_ascii=False)
    except ValueError:
        return f"{value[:_FAR_TOO_LONG]} […]"


def main(agents: Path, names: list[str]) -> None:
    """Make the kept files anew."""
    for name in names or WRITERS:
        if not (agents / WRITERS[name].needs).exists():
            print(f"{name}: not installed, left as it is")
            continue
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder).resolve()
            files = written(name, agents, place)
            shutil.rmtree(KEPT / name, ignore_errors=True)
            (KEPT / name).mkdir(parents=True)
            for number, file in enumerate(files, start=1):
                content = cleaned(file, place, agents)
                kept = KEPT / name / f"{number}{file.suffix}"
                if len(content) > _LARGE and file.suffix != ".eval":
                    content, kept = (
                        zstandard.compress(content, 19),
                        kept.with_suffix(f"{file.suffix}.zst"),
                    )
                kept.write_bytes(content)
                print(f"{kept}: {kept.stat().st_size} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
