import importlib.util

import pytest
from click.testing import CliRunner

from rerail.cli.demo import DemoNotInstalled, demo


def test_without_the_openai_package_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(DemoNotInstalled) as error:
        CliRunner().invoke(demo, [], catch_exceptions=False, standalone_mode=False)
    assert error.value.hint == "pip install '.[demo]', in a checkout of rerail"


def test_a_model_that_is_not_offered_is_refused() -> None:
    done = CliRunner().invoke(demo, ["--model", "oracle"])
    assert done.exit_code == 2
    assert "oracle" in done.output
