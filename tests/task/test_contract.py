"""A contract: every value is the text that stands there, and what is wrong is named."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from rerail.errors import UsageProblem
from rerail.task.contract import is_as_named, parse, schema, seconds, words

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "run-8894" / "task.yaml"
SMALLEST: dict[str, Any] = {
    "task": "T",
    "version": "1",
    "objective": "do it",
    "agent": {"command": ["a"]},
    "workspace": "w",
    "checker": {"command": ["c"]},
    "baseline": {"name": "b", "version": "12", "path": "b.json"},
}


def written(**changes: Any) -> bytes:
    return json.dumps(SMALLEST | changes).encode()


def test_the_example_is_a_contract() -> None:
    contract = parse(EXAMPLE.read_bytes())
    assert (contract.task, contract.version) == ("TASK-1061", "8")
    assert contract.baseline.version == "12"
    assert contract.target is not None
    assert contract.target.apply.rejects == [22]
    assert contract.budget.turns == 6


@pytest.mark.parametrize("version", ["1.10", "08", "no", "2026-11-29", "0x10", "null", "12e3"])
def test_a_version_is_the_text_that_stands_there(version: str) -> None:
    text = json.dumps(SMALLEST).replace('"version": "1"', f'"version": {version}')
    assert parse(text.encode()).version == version


PROBLEMS = [
    (written(task=""), "task: Expected `str` of length >= 1"),
    (json.dumps({k: v for k, v in SMALLEST.items() if k != "task"}).encode(), "no key `task`"),
    (written(chekcer={}), "no such key: `chekcer`"),
    (written(agent={"command": []}), "agent.command"),
    (written(agent={"command": ["a"], "shell": "x"}), "agent: no such key: `shell`"),
    (written(checker={"command": ["c"], "time": "soon"}), "checker.time"),
    (written(checker={"command": ["c"], "repeat": "0"}), "checker.repeat"),
    (written(checker={"command": ["c"], "time": "367d"}), "checker.time: `367d` is longer than"),
    (written(approval={"ttl": "999999999d"}), "approval.ttl: `999999999d` is longer than 366 days"),
    (written(approval={"ttl": "9" * 400}), "approval.ttl"),
    (written(budget={"time": "8785h"}), "budget.time: `8785h` is longer than 366 days"),
    (written(budget={"turns": "many"}), "budget.turns"),
    (written(baseline={"name": "b", "version": "1", "path": "p", "digest": "md5:1"}), "digest"),
    (written(inputs=[{"name": "a", "path": "p"}] * 2), "the input `a` is there twice"),
    (written(inputs=[{"name": "../a", "path": "p"}]), "cannot be the name of a file"),
    (b"task: a\ntask: b\n", "line 2: the key `task` stands there twice"),
    (b"task: [\n", "line"),
    (b"task: \xff", "cannot be read as YAML"),
    (b"- a\n- b\n", "Expected `object`"),
    (b"", "Expected `object`"),
    (b"a: &x [*x]", "cannot be read as YAML"),
    (b"x" * (2 << 20), "is larger than 1 MiB"),
]


@pytest.mark.parametrize(("content", "said"), PROBLEMS, ids=range(len(PROBLEMS)))
def test_what_is_wrong_is_named_and_where(content: bytes, said: str) -> None:
    with pytest.raises(UsageProblem) as raised:
        parse(content, "task.yaml")
    assert raised.value.what.startswith("task.yaml")
    assert said in raised.value.what
    assert raised.value.hint


def target(**credential: str) -> dict[str, Any]:
    command = {"command": ["x"]}
    return {"name": "t", "apply": command, "read": command, "credential": credential}


def test_the_agent_is_never_given_what_opens_the_target() -> None:
    agent = {"command": ["a"], "environment": ["KEY"]}
    with pytest.raises(UsageProblem, match="the agent is given `KEY`"):
        parse(written(agent=agent, target=target(env="KEY")))
    with pytest.raises(UsageProblem, match="not both"):
        parse(written(target=target(env="KEY", file="key")))


@pytest.mark.parametrize(
    ("text", "value"),
    [("90", 90), ("90s", 90), ("500ms", 0.5), ("15m", 900), ("2h", 7200),
     ("1d", 86400), ("1.5", 1.5)],
)  # fmt: skip
def test_a_length_of_time(text: str, value: float) -> None:
    assert seconds(text) == value


def test_no_time_is_no_limit() -> None:
    assert seconds("") == float("inf")


def test_the_folder_stands_in_commands() -> None:
    assert words(["a", "{folder}/b"], "/x") == ["a", "/x/b"]


def test_a_digest_names_one_content() -> None:
    empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert is_as_named(b"", empty)
    assert not is_as_named(b"x", empty)
    assert is_as_named(b"x", "")


def test_the_published_schema_is_that_of_the_program() -> None:
    """`python -c "import json; from rerail.task.contract import schema; …"` writes it."""
    published = json.loads((ROOT / "spec" / "task-contract.schema.json").read_bytes())
    assert published == json.loads(json.dumps(schema()))


def test_the_example_fits_the_schema() -> None:
    document = yaml.load(EXAMPLE.read_bytes(), yaml.BaseLoader)
    document["budget"]["turns"] = 6
    document["target"]["apply"]["rejects"] = [22]
    jsonschema.validate(document, schema())


def test_every_key_is_in_the_reference() -> None:
    page = (ROOT / "docs" / "reference" / "contract.md").read_text("utf-8")
    definitions = schema()["$defs"]
    assert isinstance(definitions, dict)
    for definition in definitions.values():
        for key in definition.get("properties", {}):
            assert any(f"{before}{key}{after}" in page for before in "`." for after in "`."), key
