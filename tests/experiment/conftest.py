"""Experiments with sums on the simulated model, in folders of the tests."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from rerail.experiment.conduct import conduct
from rerail.experiment.contract import Contract
from rerail.experiment.model import Asker
from rerail.experiment.receipt import Receipt
from rerail.experiment.sums import Sums
from rerail.experiment.task import Task
from rerail.proxy.reach import UpstreamSettings
from rerail.testing.model import SimulatedModel
from rerail.testing.model.conversation import Asked, Reply
from rerail.testing.repairer import Repairer

from .made_up import contract
from .test_schedule import Watched

Answers = Callable[[Asked], Reply]


@pytest.fixture(autouse=True)
def user(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's own data folder; its key is made once a session."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path_factory.getbasetemp() / "user"))


class Bench:
    """An experiment in a folder, on a model that is given."""

    def __init__(self, folder: Path, model: SimulatedModel) -> None:
        self.folder = folder
        self.model = model
        self.tasks: list[Task] = [Sums(5), Sums(6)]
        self.stop = threading.Event()
        self.watched = Watched()
        self.paused: list[float] = []

    def contract(self, **changes: Any) -> Contract:
        return contract(**{"failures": 2, "seeds": 3, **changes})

    def asker(self, of: Contract) -> Asker:
        model = replace(of.model, url=f"{self.model.url}/v1", name="simulated-1")
        return Asker(model, key="k", upstream=UpstreamSettings(), pause=self.paused.append)

    def conduct(self, **changes: Any) -> Receipt:
        of = self.contract(**changes)
        return conduct(self.folder, of, self.tasks, self.asker(of), self.watched, self.stop)


@pytest.fixture
def bench(tmp_path: Path, start_model: Callable[..., SimulatedModel]) -> Bench:
    """On the policy that sometimes repairs."""
    return Bench(tmp_path / "experiment", start_model(Repairer(), seed=0))


@pytest.fixture
def bench_on(
    tmp_path: Path, start_model: Callable[..., SimulatedModel]
) -> Iterator[Callable[..., Bench]]:
    """`bench_on(policy)`: on a policy of the test's own."""
    yield lambda policy, **options: Bench(
        tmp_path / "experiment", start_model(policy, seed=0, **options)
    )
