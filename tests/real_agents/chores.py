"""What the simulated model makes a real agent do: read a file, change it, run a command, sum up.

It knows each agent's names for its tools, and nothing of rerail.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from rerail.testing.model.conversation import Asked, Reply, Tool, ToolCall

NOTES: Final = "notes.txt"
BEFORE: Final = "The plan is a draft.\nIt has two lines.\n"
AFTER: Final = BEFORE.replace("draft", "final")
LOOK: Final = "grep -n final notes.txt && git status --short"
TASK: Final = (
    f"Read {NOTES}, replace the word draft in it by final, then run `{LOOK}` and say what you see."
)

Arguments = Callable[[Path], Mapping[str, Any]]

READERS: Final[Mapping[str, Arguments]] = {
    "Read": lambda folder: {"file_path": str(folder / NOTES)},
    "read_file": lambda folder: {"file_path": str(folder / NOTES)},
}
EDITORS: Final[Mapping[str, Arguments]] = {
    "Edit": lambda folder: _replacement(folder),
    "edit": lambda folder: _replacement(folder),
}
SHELLS: Final[Mapping[str, Callable[[str], Mapping[str, Any]]]] = {
    "Bash": lambda command: {"command": command, "description": "Do what was asked"},
    "run_shell_command": lambda command: {"command": command, "is_background": False},
    "exec_command": lambda command: {"cmd": command},
    "shell_command": lambda command: {"command": command},
    "shell": lambda command: {"command": ["bash", "-c", command]},
    "bash": lambda command: {"command": command},
    "exec": lambda command: {
        "input": f"text((await tools.exec_command({json.dumps({'cmd': command})})).output)"
    },
}
IN_A_SHELL: Final = (f"cat {NOTES}", f"sed -i s/draft/final/ {NOTES}", LOOK)


WANTED: Final = AFTER.replace("two", "2")
HINT: Final = "Numbers are written in digits here."
ERRORS: Final = ("--check", f"printf '{WANTED}' | grep -vxFf - {NOTES}; true", "--count", ".")
"""A check of the notes, to be given to `steps` and `rewind`: lines that are not as wanted."""


class Chores:
    """A policy for one agent at work in `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def reply(self, asked: Asked) -> Reply:
        """The next chore, or what came of the last one."""
        if not asked.tools:
            return Reply(_without_tools(asked))
        done = sum(message.role == "tool" for message in asked.messages)
        chores = self._chores(asked.tools)
        if done < len(chores):
            return Reply("I shall see to that.", (chores[done],))
        return Reply(f"All three are done. The last one said:\n{_last_result(asked)}")

    def _chores(self, tools: Sequence[Tool]) -> list[ToolCall]:
        names = {tool.name for tool in tools}
        shell = next((name for name in SHELLS if name in names), "")
        if not shell:
            return []
        reader = next((name for name in READERS if name in names), "")
        editor = next((name for name in EDITORS if name in names), "")
        if reader and editor:
            return [
                ToolCall(reader, READERS[reader](self._folder)),
                ToolCall(editor, EDITORS[editor](self._folder)),
                ToolCall(shell, SHELLS[shell](LOOK)),
            ]
        return [ToolCall(shell, SHELLS[shell](command)) for command in IN_A_SHELL]


class Astray(Chores):
    """Does the first two chores, then makes it worse, unless the hint says what is missing."""

    def reply(self, asked: Asked) -> Reply:
        self._told = any(HINT in message.text for message in asked.messages)
        return super().reply(asked)

    def _chores(self, tools: Sequence[Tool]) -> list[ToolCall]:
        chores = super()._chores(tools)
        shell = next((tool.name for tool in tools if tool.name in SHELLS), "")
        command = f"sed -i s/{'two/2' if self._told else 'final/finale'}/ {NOTES}"
        return [*chores[:2], ToolCall(shell, SHELLS[shell](command))] if shell else []


class AstrayByWords(Chores):
    """The same for an agent that edits by words (aider): one good edit, then it makes it worse.

    It goes on for as long as it is told of a failed test, and stops after three edits.
    """

    def reply(self, asked: Asked) -> Reply:
        told = any(HINT in message.text for message in asked.messages)
        done = sum("<<<<<<< SEARCH" in m.text for m in asked.messages if m.role == "assistant")
        edits = [
            ("The plan is a draft.", "The plan is a final."),
            ("It has two lines.", "It has 2 lines.")
            if told
            else ("The plan is a final.", "The plan is a finale."),
        ]
        if not any("SEARCH/REPLACE" in message.text for message in asked.messages):
            return Reply("Replace a word in the notes")
        return Reply(_by_words(*edits[done]) if done < len(edits) else "I am done.")


def _replacement(folder: Path) -> Mapping[str, Any]:
    return {
        "file_path": str(folder / NOTES),
        "old_string": "The plan is a draft.",
        "new_string": "The plan is a final.",
    }


def _last_result(asked: Asked) -> str:
    results = [message.text for message in asked.messages if message.role == "tool"]
    return results[-1][:2000] if results else ""


def _without_tools(asked: Asked) -> str:
    """A title, a summary, or the answer of an agent that edits by words (aider)."""
    if any("SEARCH/REPLACE" in message.text for message in asked.messages):
        if any("The plan is a final." in message.text for message in asked.messages[-1:]):
            return "The word is replaced."
        return _by_words("The plan is a draft.", "The plan is a final.")
    return "Replace a word in the notes"


def _by_words(old: str, new: str) -> str:
    lines = ["<<<<<<< SEARCH", old, "=======", new, ">>>>>>> REPLACE"]
    return "\n".join(["The word is replaced here:", "", NOTES, "```", *lines, "```"])
