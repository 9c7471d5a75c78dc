"""An experiment as a person writes it down, before anything runs: `exp.yaml`. Runs nothing.

Every field is read strictly: a name that is not known is an error, not a wish passed over.
"""

from pathlib import Path
from typing import Annotated, Any, Final, Literal
from urllib.parse import parse_qsl, urlsplit

import msgspec
from msgspec import Meta, Struct

from rerail.errors import UsageProblem
from rerail.redact.rules import is_secret_query_key

SCHEMA_ID: Final = "urn:rerail:experiment:1"

Arm = Literal["rewind+hint", "rewind", "start-over+hint", "start-over", "history+hint"]
ARMS: Final[tuple[Arm, ...]] = (
    "rewind+hint", "rewind", "start-over+hint", "start-over", "history+hint",
)  # fmt: skip

_Count = Annotated[int, Meta(ge=1, le=10_000)]
_ELSEWHERE: Final = "leave it out, and name in `key` the environment variable that holds the key"
_Json = str | int | float | bool | None | list[Any] | dict[str, Any]


def _says(text: str) -> Meta:
    return Meta(description=text)


class Model(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which model is asked, and how."""

    serve: Annotated[
        Literal["endpoint", "simulated", "local"],
        _says("`endpoint`: one at `url`; else rerail serves its own, for the time of the run"),
    ] = "endpoint"
    api: Literal["openai", "anthropic"] = "openai"
    url: Annotated[str, _says("what the API's paths come after: `https://api.openai.com/v1`")] = ""
    name: Annotated[str, _says("the model's name, as the API has it")] = ""
    key: Annotated[str, _says("the environment variable that holds the key")] = ""
    sampling: Annotated[
        dict[str, _Json], _says("fields of each request: `temperature`, `max_tokens` …")
    ] = {}
    seeded: Annotated[
        bool, _says("send each call's own seed (OpenAI's form only; some services refuse it)")
    ] = True
    structured: Annotated[
        bool, _says("have the API keep answers to the JSON schema of the agent's actions")
    ] = False
    timeout: Annotated[float, Meta(gt=0, le=3600), _says("seconds for one reply")] = 300.0


class Contract(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole experiment."""

    name: str
    model: Model
    tasks: Annotated[
        list[str], Meta(min_length=1), _says("names of tasks; `sums/*` is all of a kind")
    ]
    seeds: Annotated[
        _Count | list[int], _says("how many first runs a task has, or their seeds one by one")
    ] = 4
    turns: Annotated[_Count, _says("model calls of a first run")] = 5
    further: Annotated[_Count, _says("model calls of a run after it, in every arm")] = 5
    failures: Annotated[_Count, _says("first runs go on until so many have failed")] = 20
    arms: Annotated[tuple[Arm, ...], Meta(min_length=1)] = ARMS
    point: Annotated[
        Literal["last-fewest", "first-fewest", "last"],
        _says("the step gone back to: the last or the first with the fewest errors, or the last"),
    ] = "last-fewest"
    hint: Annotated[
        Literal["task", "errors"],
        _says("the hint: the task's own, or the errors that the check had named at the step"),
    ] = "task"
    parallel: Annotated[int, Meta(ge=1, le=64), _says("runs at a time")] = 2

    @property
    def all_seeds(self) -> list[int]:
        """The seeds one by one."""
        return list(range(self.seeds)) if isinstance(self.seeds, int) else list(self.seeds)


def load(path: Path) -> Contract:
    """Read an experiment from YAML, or from JSON.

    Raises:
        UsageProblem: It cannot be read, or says something that is not in the schema.
    """
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageProblem(f"cannot read {path}: {reason}", hint="name a file of YAML") from error
    document = _json(path, text) if path.suffix == ".json" else _yaml(path, text)
    try:
        contract = msgspec.convert(document, Contract)
    except msgspec.ValidationError as error:
        raise _not_one(path, str(error)) from error
    _check(path, contract)
    return contract


def schema() -> dict[str, Any]:
    """The JSON schema (draft 2020-12) of an experiment: what `spec/` publishes."""
    described = msgspec.json.schema(Contract)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        "title": "rerail experiment",
        **described,
    }


def _json(path: Path, text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise _not_one(path, str(error)) from error


def _yaml(path: Path, text: str) -> Any:
    try:
        from rerail.task.plain_yaml import read_yaml
    except ModuleNotFoundError as error:
        raise UsageProblem(
            "reading YAML needs PyYAML",
            hint="pip install '.[experiment]' in a checkout, or write the experiment as JSON",
        ) from error
    return read_yaml(text.encode(), str(path), typed=True)


def _check(path: Path, contract: Contract) -> None:
    """What types alone cannot say."""
    model = contract.model
    _keeps_no_secret(path, model.url)
    if model.serve == "endpoint" and not (model.url.startswith("http") and model.name):
        raise _not_one(path, "`model` needs `url` and `name`, or `serve: simulated`")
    if model.serve == "endpoint" and model.structured and model.api == "anthropic":
        raise _not_one(path, "`structured` is for OpenAI's form of the API")
    for what, values in (("seeds", contract.all_seeds), ("arms", contract.arms)):
        if not values or len(set(values)) != len(values):
            raise _not_one(path, f"`{what}` names one twice, or none")


def _keeps_no_secret(path: Path, url: str) -> None:
    """The URL stands in the plan and on the receipt. The complaint does not repeat it."""
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise _not_one(path, "`url` is no URL") from error
    names = [name for name, _ in parse_qsl(parts.query, keep_blank_values=True)]
    if "@" in parts.netloc:
        raise _not_one(path, f"`url` holds a name or a password: {_ELSEWHERE}")
    for name in names:
        if is_secret_query_key(name.encode()):
            raise _not_one(path, f"`url` holds a secret in `{name}`: {_ELSEWHERE}")


def _not_one(path: Path, why: str) -> UsageProblem:
    return UsageProblem(
        f"{path} is no experiment: {why}",
        hint="`docs/reference/experiment.md` has every field",
    )
