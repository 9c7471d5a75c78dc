"""What a rewind changes in each live request: a hint, a tool's answer, a patch. Knows no tape.

The agent knows of none of it and sends its own history again each time. So an edit remembers where
it was made and is made again there, in that conversation; a fork of the fork goes on making it.
"""

import json
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from rerail.errors import UsageProblem
from rerail.llm.answer import NoSuchResult, Spot, find_result, put_result
from rerail.llm.hint import NoPlaceForHint, Place, encoded, place_in, with_hint
from rerail.llm.meaning import prompt_of
from rerail.llm.view import Message, Prompt
from rerail.tape.records import Edit

AT_MOST: Final = 1 << 20
"""Bytes of one edit: what is put into every request from there on, and stands on the tape."""

_SHOWN: Final = 60


class NotEditable(Exception):
    """The request cannot be edited as was asked; the message says why."""


class Editor(Protocol):
    """One edit on its way through the run."""

    why: str

    def put(self, api: str, body: bytes) -> bytes:
        """The body with the edit made. Raises NotEditable."""


@dataclass(slots=True)
class Hinting:
    """A hint, and where it stands in the conversation it was given to."""

    hint: str
    place: Place | None = None
    why: str = "a hint was put in"

    def put(self, api: str, body: bytes) -> bytes:
        try:
            self.place = self.place or place_in(api, body)
            changed, self.place = with_hint(body, self.hint, self.place)
        except NoPlaceForHint as error:
            raise NotEditable(f"the hint has no place: {error}") from error
        return changed


@dataclass(slots=True)
class Answering:
    """Other answers of tools, by the names of calls or tools."""

    answers: dict[str, Any]
    spots: dict[str, Spot] = field(default_factory=dict)
    why: str = "a tool's answer was changed"

    @classmethod
    def parse(cls, text: str) -> "Answering":
        """Read `{"tool or call": answer, …}`. Raises UsageProblem."""
        try:
            answers = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise UsageProblem(f"the answer is not JSON: {error}", hint=_ANSWER) from error
        if not isinstance(answers, dict) or not answers:
            raise UsageProblem("the answer names no tool", hint=_ANSWER)
        if not _can_be_sent(answers):
            raise UsageProblem(f"the answer {_NOT_SENT}", hint=_ANSWER)
        return cls(answers)

    def put(self, api: str, body: bytes) -> bytes:
        document = _document(body)
        try:
            for named in self.answers.keys() - self.spots.keys():
                self.spots[named] = find_result(api, document, named)
        except NoSuchResult as error:
            raise NotEditable(f"the request has {error}") from error
        for named, spot in self.spots.items():
            # A history that was cut may not have it any more: then there is nothing to change.
            put_result(api, document, spot, deepcopy(self.answers[named]))
        return encoded(document)


_ANSWER: Final = """write --answer '{"TOOL": "what it is to have said"}'"""


@dataclass(slots=True)
class Patching:
    """A patch of the request (RFC 6902). An end of a list, `/-`, is the place it was at first."""

    operations: list[dict[str, Any]]
    fixed: bool = False
    why: str = "the request was edited"

    @classmethod
    def parse(cls, text: str) -> "Patching":
        """Read a patch. Raises UsageProblem."""
        from jsonpatch import JsonPatch, JsonPatchException
        from jsonpointer import JsonPointerException

        try:
            operations = json.loads(text)
            if not isinstance(operations, list):
                raise ValueError("a patch is a list of operations")
            if not _can_be_sent(operations):
                raise ValueError(f"it {_NOT_SENT}")
            JsonPatch(operations)
        except (
            ValueError, TypeError, KeyError, RecursionError, JsonPatchException,
            JsonPointerException,
        ) as error:  # fmt: skip
            raise UsageProblem(f"this is no JSON patch: {error}", hint=_PATCH) from error
        return cls(operations)

    def put(self, api: str, body: bytes) -> bytes:
        document: Any = _document(body)
        for number, given in enumerate(self.operations):
            operation = given if self.fixed else _fixed(document, given)
            self.operations[number] = operation
            document = _patched(document, operation)
        if not isinstance(document, dict):
            raise NotEditable("the patch makes the request something else than an object")
        self.fixed = True
        return encoded(document)


_PATCH: Final = 'write [{"op": "replace", "path": "/temperature", "value": 0}] (RFC 6902)'


def _fixed(document: Any, operation: dict[str, Any]) -> dict[str, Any]:
    from jsonpointer import JsonPointerException, resolve_pointer

    path = operation["path"]
    if not path.endswith("/-"):
        return operation
    try:
        holder = resolve_pointer(document, path.removesuffix("/-"))
    except JsonPointerException as error:
        raise NotEditable(f"the patch does not fit the request: {error}") from error
    if not isinstance(holder, list):
        return operation
    return {**operation, "path": f"{path.removesuffix('-')}{len(holder)}"}


def _patched(document: Any, operation: dict[str, Any]) -> Any:
    from jsonpatch import JsonPatch, JsonPatchException
    from jsonpointer import JsonPointerException

    try:
        return JsonPatch([operation]).apply(document)
    except (JsonPatchException, JsonPointerException) as error:
        said = str(error) or type(error).__name__
        where = f"{operation['op']} {operation['path']}"[:_SHOWN]
        raise NotEditable(f"the patch does not fit the request at `{where}`: {said}") from error


@dataclass(slots=True)
class Edits:
    """All edits of one rewind, in their order, and the conversation in which they are made.

    Each stands with its record on the fork's tape. A request is of the conversation where it asks
    the same model with the same tools as the first one did, or begins with what that one said: an
    agent may take up another tool, or another model. `lane` is None before the first request.
    """

    all: list[tuple[Edit, Editor]] = field(default_factory=list)
    api: str = ""
    lane: tuple[str, tuple[str, ...]] | None = None
    begins: tuple[Message, ...] = ()

    @classmethod
    def of(cls, edits: Sequence[Edit]) -> "Edits":
        """Editors for what a tape says was changed, or what is to be. Raises UsageProblem."""
        return cls([(edit, _editor(edit)) for edit in edits])

    @property
    def records(self) -> list[Edit]:
        """The edits as a tape holds them."""
        return [edit for edit, _ in self.all]

    @property
    def hint_place(self) -> Place | None:
        """Where the last hint stands."""
        places = [one.place for _, one in self.all if isinstance(one, Hinting)]
        return places[-1] if places else None

    def change(self, api: str, body: bytes, step: int) -> tuple[bytes, str]:
        """The body with all edits of steps up to this one, and why; as it was where there is none.

        Raises:
            NotEditable: They cannot be made in the conversation's first request.
        """
        due = [editor for edit, editor in self.all if edit.step <= step]
        if not due:
            return body, ""
        prompt = prompt_of(api, body)
        if prompt is None:
            raise NotEditable("the request cannot be read as its API says")
        first = self.lane is None
        if first:
            self.api, self.lane, self.begins = api, _lane(prompt), _history(prompt)
        elif self.api != api or not self._goes_on(prompt):
            return body, ""  # Another conversation, such as a title's.
        if prompt.continues:
            # The provider keeps the history itself, and with it what was put in before.
            due = [one for one in due if not _was_made(one)]
        for editor in due:
            body = editor.put(api, body)
        return body, ", ".join(dict.fromkeys(editor.why for editor in due))

    def _goes_on(self, prompt: Prompt) -> bool:
        if self.lane == _lane(prompt):
            return True
        count = len(self.begins)
        return count > 1 and _history(prompt)[:count] == self.begins


def _history(prompt: Prompt) -> tuple[Message, ...]:
    return tuple(message for message in prompt.messages if message.role != "system")


def _editor(edit: Edit) -> Editor:
    if not _can_be_sent(edit.text):
        raise UsageProblem(f"the {edit.kind} is no Unicode", hint="write it in UTF-8")
    if len(edit.text.encode()) > AT_MOST:
        raise too_long(edit.kind)
    if edit.kind == "hint":
        return Hinting(edit.text)
    return Answering.parse(edit.text) if edit.kind == "answer" else Patching.parse(edit.text)


_NOT_SENT: Final = "has a number or a text that JSON cannot carry"


def _can_be_sent(value: object) -> bool:
    """Python reads `1e999`, `NaN` and half a surrogate pair; a service does not."""
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except ValueError:
        return False
    return True


def too_long(kind: str) -> UsageProblem:
    """What is said of an edit that is longer than `AT_MOST`."""
    return UsageProblem(f"the {kind} is longer than {AT_MOST:,} bytes", hint="make it shorter")


def _was_made(editor: Editor) -> bool:
    match editor:
        case Hinting(place=place):
            return place is not None
        case Answering(answers=answers, spots=spots):
            return len(answers) == len(spots)
        case Patching(fixed=fixed):
            return fixed
    return False


def _lane(prompt: Prompt) -> tuple[str, tuple[str, ...]]:
    """What tells one conversation of an agent from another: the model it asks, and its tools."""
    return prompt.model, prompt.tools


def _document(body: bytes) -> dict[str, Any]:
    document = json.loads(body)  # It has been read as a prompt.
    assert isinstance(document, dict)
    return document
