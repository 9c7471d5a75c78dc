"""The agent of an experiment, as the durable script that it is."""

from importlib import resources
from typing import Final

SOURCE: Final = resources.files(__package__).joinpath("loop.py").read_text("utf-8")
"""Its program. It runs in the script engine, never in this interpreter."""

SYSTEM: Final = """\
You repair files. In each turn answer with one JSON object and nothing else:
{"tool": "read", "path": "..."} shows a file.
{"tool": "write", "path": "...", "content": "..."} replaces a file.
{"tool": "check"} says what is wrong.
{"tool": "done"} ends the work, once a check has found nothing wrong."""


def beginning(prompt: str, paths: list[str], hint: str = "") -> list[dict[str, str]]:
    """The history that a run begins with; a hint stands with the task."""
    asked = f"{prompt}\n\nFiles: {', '.join(paths)}"
    said = f"{asked}\n\nHint: {hint}" if hint else asked
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": said}]


def note(hint: str) -> str:
    """A hint to an agent that is under way."""
    return f"A person looked at your work so far. Hint: {hint}"
