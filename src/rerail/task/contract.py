"""The contract of a task: what an agent is to do, how it is checked, and who may let it be applied.

A YAML file (`spec/task-contract.schema.json`), read once into these types. Pure: opens no file and
starts nothing. Versions are text. Paths are relative to the contract's folder, `{folder}` in a
command stands for it.
"""

import re
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct, field

from rerail.errors import UsageProblem
from rerail.task.plain_yaml import read_yaml

HERE: Final = "{folder}"
"""In a word of a command: the folder of the contract."""

Seconds = Annotated[
    str,
    Meta(
        pattern=r"^[0-9]+(\.[0-9]+)?(ms|s|m|h|d)?$",
        max_length=20,
        description="A length of time: 90, 90s, 500ms, 15m, 2h, 1d; at most 366d",
    ),
]
Digest = Annotated[
    str, Meta(pattern="^(sha256:[0-9a-f]{64})?$", description="sha256: and 64 hexadecimal digits")
]
Name = Annotated[str, Meta(min_length=1, max_length=200)]
Text = Annotated[str, Meta(min_length=1)]
Words = Annotated[list[str], Meta(min_length=1, description="A command, word by word")]
Count = Annotated[int, Meta(ge=1)]

LONGEST_DAYS: Final = 366

_UNITS: Final = {"ms": 0.001, "": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


class _Part(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A part of a contract: a key that is not known is an error."""


class Constraint(_Part, frozen=True):
    """Something the proposal must keep to, in words; checks name it by its `id`."""

    id: Name
    text: Text


class Input(_Part, frozen=True):
    """A file that the agent is given to read, in the version that is meant."""

    name: Name
    path: Name
    version: str = ""
    digest: Digest = ""


class Agent(_Part, frozen=True):
    """The command of the agent's plane.

    `reads` are paths that it may read though they lie beside the contract, or in the user's home.
    `environment` names the variables it is given besides the few that every program needs.
    """

    command: Words
    reads: list[str] = field(default_factory=list)
    environment: list[str] = field(default_factory=list)


class Budget(_Part, frozen=True):
    """What the agent may use: model calls, tokens, time. What is left out is not limited."""

    turns: Count | None = None
    tokens: Count | None = None
    time: Seconds = ""


class Checker(_Part, frozen=True):
    """The command that judges a proposal, and its version; `repeat` finds cases that waver."""

    command: Words
    version: str = ""
    time: Seconds = "10m"
    repeat: Annotated[int, Meta(ge=1, le=10)] = 1
    network: bool = False


class Baseline(_Part, frozen=True):
    """What the checker measures against. It loads exactly so, or nothing starts."""

    name: Name
    version: Name
    path: Name
    digest: Digest = ""


class Approval(_Part, frozen=True):
    """Who may let a proposal be applied (`by`: names of users; nobody named: whoever can), and for
    how long a grant holds. `policy` is a file that may grant by itself."""

    by: list[Name] = field(default_factory=list)
    ttl: Seconds = "15m"
    policy: str = ""


class Action(_Part, frozen=True):
    """A command on the target. `rejects` are the statuses by which it says: I did nothing."""

    command: Words
    time: Seconds = "1m"
    rejects: list[Annotated[int, Meta(ge=1, le=255)]] = field(default_factory=list)


class Reading(_Part, frozen=True):
    """A command that reads the target and changes nothing."""

    command: Words
    time: Seconds = "1m"


class Credential(_Part, frozen=True):
    """What opens the target: a variable, or a file. Only the target's own commands get it."""

    env: str = ""
    file: str = ""


class Target(_Part, frozen=True):
    """What a proposal is applied to; `owner` is called where its state cannot be told."""

    name: Name
    apply: Action
    read: Reading
    owner: str = ""
    reconcile: Reading | None = None
    credential: Credential = field(default_factory=Credential)


class Contract(_Part, frozen=True):
    """The whole contract."""

    task: Name
    version: Name
    objective: Text
    agent: Agent
    workspace: Name
    checker: Checker
    baseline: Baseline
    constraints: list[Constraint] = field(default_factory=list)
    inputs: list[Input] = field(default_factory=list)
    budget: Budget = field(default_factory=Budget)
    approval: Approval = field(default_factory=Approval)
    target: Target | None = None
    retries: Annotated[int, Meta(ge=0, le=100)] = 0


def parse(content: bytes, name: str = "the contract") -> Contract:
    """The contract in `content`. Raises UsageProblem that names the key and what is wrong."""
    found = read_yaml(content, name)
    hint = "`docs/reference/contract.md` has every key"
    try:
        contract = msgspec.convert(found, Contract, strict=False)
    except msgspec.ValidationError as error:
        raise UsageProblem(f"{name}: {_in_words(str(error))}", hint=hint) from error
    for problem in _problems(contract):
        raise UsageProblem(f"{name}: {problem}", hint=hint)
    return contract


def seconds(text: str) -> float:
    """`15m` as seconds; infinite for nothing."""
    if not text:
        return float("inf")
    found = re.fullmatch(r"([0-9.]+)([a-z]*)", text)
    assert found is not None  # the contract has been read
    return float(found[1]) * _UNITS[found[2]]


def digest_in(text: str) -> bytes:
    """`sha256:…` as bytes; empty for nothing."""
    return bytes.fromhex(text.removeprefix("sha256:"))


def is_as_named(content: bytes, digest: str) -> bool:
    """Whether a file is the one that is meant; without a digest every file may be."""
    return not digest or sha256(content).digest() == digest_in(digest)


def words(command: Sequence[str], folder: str) -> list[str]:
    """A command with the contract's folder in it."""
    return [word.replace(HERE, folder) for word in command]


def schema() -> dict[str, object]:
    """The JSON schema of a contract, for editors and other programs."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "the contract of a task for `rerail run`",
    } | msgspec.json.schema(Contract)


def _problems(contract: Contract) -> Iterator[str]:
    for where, length in _lengths(contract):
        if length and seconds(length) > LONGEST_DAYS * _UNITS["d"]:
            yield f"{where}: `{length}` is longer than {LONGEST_DAYS} days"
    for what, names in (
        ("constraint", [constraint.id for constraint in contract.constraints]),
        ("input", [given.name for given in contract.inputs]),
    ):
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            yield f"the {what} `{twice}` is there twice"
    for given in contract.inputs:
        if "/" in given.name or given.name in (".", ".."):
            yield f"the input `{given.name}` cannot be the name of a file"
    target = contract.target
    if target is not None and target.credential.env and target.credential.file:
        yield "the target's credential is a variable or a file, not both"
    opens = target.credential.env if target is not None else ""
    if opens and opens in contract.agent.environment:
        yield f"the agent is given `{opens}`, which opens the target"


def _lengths(contract: Contract) -> Iterator[tuple[str, str]]:
    yield "budget.time", contract.budget.time
    yield "checker.time", contract.checker.time
    yield "approval.ttl", contract.approval.ttl
    target = contract.target
    if target is not None:
        yield "target.apply.time", target.apply.time
        yield "target.read.time", target.read.time
        yield "target.reconcile.time", target.reconcile.time if target.reconcile else ""


def _in_words(said: str) -> str:
    """`Object missing required field `task`` and its like, with the path in front."""
    what, _, where = said.partition(" - at `$")
    place = where.rstrip("`").lstrip(".")
    what = what.replace("Object missing required field", "there is no key")
    what = what.replace("Object contains unknown field", "no such key:")
    return f"{place}: {what}" if place else what


def digest_of(contract: Contract) -> str:
    """The SHA-256 of what a contract says, in hexadecimal: however its file is written."""
    return sha256(msgspec.json.encode(contract, order="deterministic")).hexdigest()


def differences(one: _Part, other: _Part) -> list[str]:
    """The keys by which two contracts differ, `target.apply.command` for one in a part."""
    found = []
    for name in one.__struct_fields__:
        this, that = getattr(one, name), getattr(other, name)
        if isinstance(this, _Part) and isinstance(that, _Part):
            found += [f"{name}.{inner}" for inner in differences(this, that)]
        elif this != that:
            found.append(name)
    return found
