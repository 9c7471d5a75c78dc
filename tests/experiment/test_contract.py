"""An experiment is read strictly, and what is wrong with one is said before anything runs."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from rerail.errors import UsageProblem
from rerail.experiment.contract import ARMS, Contract, load, schema

PUBLISHED = Path(__file__).parents[2] / "spec" / "experiment.schema.json"
WHOLE = """\
name: sums
model:
  url: http://127.0.0.1:8080/v1
  name: small
  sampling: {temperature: 1.0, max_tokens: 60}
tasks: [sums/*]
"""


def written(folder: Path, text: str, name: str = "exp.yaml") -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def refused(folder: Path, text: str, name: str = "exp.yaml") -> str:
    with pytest.raises(UsageProblem) as caught:
        load(written(folder, text, name))
    assert caught.value.hint
    return caught.value.what


def test_a_short_one_is_filled_up(tmp_path: Path) -> None:
    contract = load(written(tmp_path, WHOLE))
    assert contract.all_seeds == [0, 1, 2, 3]
    assert contract.arms == ARMS
    assert (contract.turns, contract.further, contract.failures) == (5, 5, 20)
    assert contract.model.sampling == {"temperature": 1.0, "max_tokens": 60}


def test_json_says_the_same_and_needs_no_yaml(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contract = load(written(tmp_path, WHOLE))
    monkeypatch.setitem(sys.modules, "yaml", None)
    monkeypatch.delitem(sys.modules, "rerail.task.plain_yaml")
    document = {
        "name": "sums",
        "model": {
            "url": "http://127.0.0.1:8080/v1",
            "name": "small",
            "sampling": {"temperature": 1.0, "max_tokens": 60},
        },
        "tasks": ["sums/*"],
    }
    assert load(written(tmp_path, json.dumps(document), "exp.json")) == contract
    assert "PyYAML" in refused(tmp_path, WHOLE)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (WHOLE + "seads: 3\n", "seads"),
        (WHOLE + "turns: 0\n", "$.turns"),
        (WHOLE + "arms: [rewind, again]\n", "again"),
        (WHOLE + "arms: [rewind, rewind]\n", "`arms` names one twice"),
        (WHOLE + "seeds: []\n", "`seeds`"),
        (WHOLE + "turns: five\n", "$.turns"),
        (WHOLE.replace("tasks: [sums/*]", "tasks: []"), "$.tasks"),
        (WHOLE.replace("  name: small\n", ""), "`model` needs `url` and `name`"),
        ("name: [\n", "line 2"),
        (WHOLE + "turns: 3\nturns: 4\n", "line 8: the key `turns` stands there twice"),
        (WHOLE.replace("small", "1.10"), "$.model.name"),
        ("", "object"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, said: str) -> None:
    assert said in refused(tmp_path, text)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://bob:s3cret@models.example.com/v1", "`url` holds a name or a password"),
        ("http://s3cret@models.example.com/v1", "`url` holds a name or a password"),
        ("https://models.example.com/v1?v=1&api_key=s3cret", "`url` holds a secret in `api_key`"),
        ("https://[s3cret/v1", "`url` is no URL"),
    ],
)
def test_a_secret_in_the_url_is_refused_and_not_repeated(
    tmp_path: Path, url: str, said: str
) -> None:
    told = refused(tmp_path, WHOLE.replace("http://127.0.0.1:8080/v1", url))
    assert said in told
    assert "s3cret" not in told


def test_a_query_without_a_secret_is_taken(tmp_path: Path) -> None:
    url = "https://models.example.com/v1?api-version=2024-10-21"
    text = WHOLE.replace("http://127.0.0.1:8080/v1", url)
    assert load(written(tmp_path, text)).model.url == url


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="cannot read"):
        load(tmp_path / "none.yaml")


def test_rerail_may_serve_the_model_itself(tmp_path: Path) -> None:
    text = "name: x\nmodel: {serve: simulated}\ntasks: [sums/1]\n"
    assert load(written(tmp_path, text)).model.serve == "simulated"


def test_the_published_schema_is_that_of_the_contract() -> None:
    published = json.loads(PUBLISHED.read_text("utf-8"))
    assert published == json.loads(json.dumps(schema())), (
        f"it changed: write rerail.experiment.contract.schema() to {PUBLISHED.name}"
    )
    jsonschema.Draft202012Validator.check_schema(published)


def test_the_experiments_in_the_pages_can_be_read(tmp_path: Path) -> None:
    page = (PUBLISHED.parents[1] / "docs" / "how-to" / "experiment.md").read_text("utf-8")
    blocks = re.findall(r"^```yaml\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert len(blocks) == 2
    for block in blocks:
        load(written(tmp_path, block))


def test_every_field_is_in_the_reference() -> None:
    page = (PUBLISHED.parents[1] / "docs" / "reference" / "experiment.md").read_text("utf-8")
    fields: dict[str, Any] = schema()["$defs"]
    for name in (*fields["Contract"]["properties"], *fields["Model"]["properties"]):
        assert f"`{name}`" in page, name
    assert Contract.__name__ in fields
