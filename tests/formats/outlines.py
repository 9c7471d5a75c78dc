"""What the files of real programs hold, as outlines: the same for kept files and for fresh ones."""

from itertools import chain
from pathlib import Path
from typing import Final

from rerail.trace.story import Story

KEPT: Final = Path(__file__).parent / "written"


def _turns(shell: str, read: str, edit: str, *, failed: str = "✗") -> list[str]:
    """The errands, as most programs tell them."""
    return list(
        chain.from_iterable(
            (f"assistant: words, → {tool}", f"tool: {answer}")
            for tool, answer in ((shell, failed), (read, "←"), (edit, "←"), (shell, "←"))
        )
    )


_SMALL: Final = ["system: words", "user: words", *_turns("bash", "read_file", "edit")]
_UNMARKED: Final = [
    "system: words",
    "user: words",
    *_turns("bash", "read_file", "edit", failed="←"),
]
"""The loop itself told the model of the failure, in words alone."""
_SILENT: Final = "assistant: (words that were not kept)"
_ANSWER: Final = "assistant: words"
_SUBMITTED: Final = ["assistant: words, → submit", "tool: ←"]

OUTLINES: Final[dict[str, list[list[str]]]] = {
    "claude-code": [
        [
            "user: words",
            "system: (attachment: skill_listing)",
            "assistant: → Bash",
            "tool: ←",
            _ANSWER,
        ],
        [
            "user: words",
            "system: (attachment: agent_listing_delta)",
            "system: (attachment: skill_listing)",
            *_turns("Bash", "Read", "Edit"),
            "assistant: words, → Agent",
            "tool: ←",
            "system: (attachment: task_reminder)",
            _ANSWER,
            *["user: words"] * 4,
            "system: (attachment: file)",
            "system: (attachment: agent_listing_delta)",
            "user: words",
            _ANSWER,
            "user: words",
            "system: (attachment: skill_listing)",
            "assistant: error",
        ],
    ],
    "claude-code-stream": [
        [
            *_turns("Bash", "Read", "Edit"),
            "assistant: words, → Agent",
            "  beside: user: words",
            "  beside: assistant: → Bash",
            "  beside: tool: ←",
            "tool: ←",
            _ANSWER,
        ]
    ],
    "codex": [
        [
            *["system: words"] * 4,
            *["user: words"] * 2,
            *_turns("exec", "exec", "exec"),
            _ANSWER,
            "user: words",
            "assistant: error",
        ]
    ],
    "qwen-code": [
        [
            "user: words",
            *_turns("run_shell_command", "read_file", "edit", failed="←"),
            "assistant: words, → agent",
            "tool: ←",
            _ANSWER,
            "user: words",
            "assistant: error",
        ]
    ],
    "openai-agents-chat": [[*_SMALL, _ANSWER]],
    "openai-agents-responses": [
        [
            *chain.from_iterable(
                (_SILENT, f"assistant: → {tool}", f"tool: {answer}")
                for tool, answer in (
                    ("bash", "✗"),
                    ("read_file", "←"),
                    ("edit", "←"),
                    ("bash", "←"),
                )
            ),
            _SILENT,
        ]
    ],
    "otlp-openinference": [[*_UNMARKED, _ANSWER]],
    "otlp-traceloop": [[*_UNMARKED, _ANSWER]],
    "otlp-opentelemetry": [[*_UNMARKED, _ANSWER]],
    "otlp-opentelemetry-bare": [[_SILENT] * 5],
    "otlp-langgraph-openinference": [[*_SMALL, _ANSWER]],
    "otlp-langgraph-traceloop": [[*_SMALL, _ANSWER]],
    "langsmith": [[*_SMALL, _ANSWER]],
    "inspect-eval": [[*_SMALL, *_SUBMITTED]],
    "inspect-json": [[*_SMALL, *_SUBMITTED]],
}


_NO_SCHEMAS: Final = "no schemas of the tools"
_NO_END: Final = "no record of the end"
_NO_REASONS: Final = "no finish reasons"
_NO_SYSTEM: Final = "no system prompt"
_SHORTENED: Final = "the conversation was shortened on its way"

GAPS: Final[dict[str, set[str]]] = {
    "claude-code/1.jsonl": {_NO_SYSTEM, _NO_SCHEMAS, _NO_END},
    "claude-code/2.jsonl": {_NO_SYSTEM, _NO_SCHEMAS, _NO_END, _SHORTENED, "sub-agents whose words"},
    "claude-code-stream": {
        _NO_SYSTEM,
        _NO_SCHEMAS,
        _NO_REASONS,
        "no prompt",
        "no chain of records",
    },
    "codex": {_NO_REASONS},
    "qwen-code": {
        _NO_SYSTEM,
        _NO_SCHEMAS,
        _NO_END,
        _NO_REASONS,
        "tool calls that are only counted",
    },
    "openai-agents-chat": {_NO_SCHEMAS, _NO_REASONS},
    "openai-agents-responses": {_NO_SCHEMAS, _NO_REASONS, "model calls whose words are not in"},
    "otlp-opentelemetry": {_NO_SCHEMAS},
    "otlp-opentelemetry-bare": {_NO_SCHEMAS, "model calls without messages"},
}
"""Beside the gap that all imported files have; each by the beginning of its words."""


def formats_of(name: str, files: int) -> list[str]:
    """The format of each file of a program."""
    known = ("claude-code", "codex", "qwen-code", "openai-agents", "otlp", "langsmith", "inspect")
    return [next(one for one in known if name.startswith(one))] * files


def same_gaps(name: str, file: str, story: Story) -> bool:
    """Whether exactly those gaps are named."""
    expected = GAPS.get(f"{name}/{file}", GAPS.get(name, set()))
    (_, *named) = [gap.what for gap in story.gaps]
    return len(named) == len(expected) and all(
        any(what.startswith(beginning) for what in named) for beginning in expected
    )
