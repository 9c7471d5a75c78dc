"""An experiment from its first run to its receipt, all of it on tapes that say the same again."""

import contextlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from rerail.errors import UsageProblem, UserError
from rerail.experiment import agent
from rerail.experiment.conduct import read_receipt, recompute
from rerail.experiment.contract import Model
from rerail.experiment.ledger import Ledger
from rerail.experiment.measure import measure
from rerail.experiment.measured import Run, point
from rerail.experiment.model import NotReached
from rerail.experiment.plan import Key
from rerail.experiment.receipt import schema
from rerail.experiment.schedule import Stopped
from rerail.experiment.sums import Sums
from rerail.script.durable import Script
from rerail.script.keeping import Keeping
from rerail.tape.reader import Tape
from rerail.testing.model import Trouble
from rerail.testing.model.conversation import Asked, Reply

from .conftest import Bench

MakeBench = Callable[..., Bench]


def by_key(bench: Bench) -> dict[Key, Run]:
    runs = [measure(path) for path in sorted((bench.folder / "runs").glob("*.tape"))]
    return {run.key: run for run in runs if run}


def pauses(bench: Bench, run: Run) -> list[Any]:
    with Script.open(bench.folder / run.tape) as saved:
        return [(p.number, p.tool, p.arguments, p.answer.value) for p in saved.pauses if p.answer]


def test_every_arm_of_every_failure_is_on_the_receipt_and_on_tape(bench: Bench) -> None:
    receipt = bench.conduct()
    assert receipt.complete
    assert receipt.model.startswith("Simulated model: simulated-1")
    assert (receipt.simulated, receipt.models) == (True, ["simulated-1"])
    assert receipt.firsts.kept == len(receipt.failures) == 2
    assert [arm.all.runs for arm in receipt.arms] == [2] * 5
    assert not any(arm.missing for arm in receipt.arms)
    runs = by_key(bench)
    assert len(runs) == len(receipt.runs) == receipt.firsts.runs + receipt.firsts.beyond + 10
    for run in receipt.runs:
        with Tape.open(bench.folder / run.tape) as tape:
            assert tape.id == run.tape_id
            assert tape.state == "finished"
            assert tape.run.facts["experiment.plan"] == receipt.plan_digest


def test_what_is_written_is_for_its_owner_alone(bench: Bench) -> None:
    bench.conduct(failures=1, seeds=1, arms=("rewind",))
    written = [path for path in bench.folder.rglob("*") if path.is_file()]
    assert {path.name for path in written} >= {"plan.json", "receipt.html", "ledger.jsonl"}
    assert {path.stat().st_mode & 0o077 for path in written} == {0}


def test_anthropics_form_of_the_api_does_as_well(bench: Bench) -> None:
    receipt = bench.conduct(model=Model(serve="simulated", api="anthropic"), failures=1)
    assert receipt.complete
    assert {asked.api for asked in bench.model.asked} == {"messages"}
    assert all(run.tokens.input and run.tokens.output for run in receipt.runs)
    assert not any(run.tokens.uncounted for run in receipt.runs)


def test_the_receipt_keeps_to_the_published_schema(bench: Bench) -> None:
    bench.conduct()
    written = json.loads((bench.folder / "receipt.json").read_bytes())
    jsonschema.validate(written, json.loads(json.dumps(schema())))


def test_an_arm_goes_on_as_was_promised(bench: Bench) -> None:
    receipt = bench.conduct(further=3)
    runs = by_key(bench)
    for failure in receipt.failures:
        first = runs[Key(failure.task, failure.seed, "first")]
        place = point(first, "last-fewest")
        assert (failure.pause, failure.turn) == (place.pause, place.turn)
        had = next(p for p in pauses(bench, first) if p[0] == place.pause)[2]["history"]
        for arm in ("rewind", "rewind+hint"):
            run = runs[Key(failure.task, failure.seed, arm)]
            assert (run.parent, run.pause) == (first.tape_id, place.pause)
            number, tool, arguments, answer = pauses(bench, run)[0]
            assert (number, tool) == (place.pause, "think")
            assert arguments["history"] == had
            hint = agent.note(Sums(1).hint) if arm == "rewind+hint" else None
            assert answer.get("note") == hint
            assert run.turns <= 3


def test_starting_over_has_the_hint_with_the_task_or_not_at_all(bench: Bench) -> None:
    receipt = bench.conduct()
    runs = by_key(bench)
    for failure in receipt.failures:
        for arm, told in (("start-over+hint", True), ("start-over", False)):
            run = runs[Key(failure.task, failure.seed, arm)]
            assert not run.parent
            history = pauses(bench, run)[0][2]["history"]
            assert len(history) == 2
            assert (f"Hint: {Sums(1).hint}" in history[1]["content"]) == told
            assert run.states[0].turn == 0


def test_history_alone_has_heard_all_and_has_the_files_of_the_beginning(bench: Bench) -> None:
    receipt = bench.conduct()
    runs = by_key(bench)
    for failure in receipt.failures:
        first = runs[Key(failure.task, failure.seed, "first")]
        had = next(p for p in pauses(bench, first) if p[0] == failure.pause)[2]["history"]
        run = runs[Key(failure.task, failure.seed, "history+hint")]
        with Script.open(bench.folder / run.tape) as saved:
            start = saved.recorded.inputs["start"]
        task = next(task for task in bench.tasks if task.name == failure.task)
        assert start["files"] == task.files
        assert start["history"][:-1] == had
        assert start["history"][-1]["content"] == agent.note(task.hint)


def test_the_hint_may_be_the_errors_that_were_known(bench_on: MakeBench) -> None:
    said = iter(['{"tool":"write","path":"a.txt","content":"99"}', '{"tool":"check"}'])
    bench = bench_on(lambda asked: Reply(next(said, '{"tool":"check"}')))
    bench.tasks = [Sums(5)]
    receipt = bench.conduct(
        failures=1, seeds=1, parallel=1, hint="errors", arms=("rewind+hint", "start-over+hint")
    )
    (failure,) = receipt.failures
    assert failure.hint.startswith("These are the errors: a.txt: `99` is wrong; ")


def test_without_a_check_the_best_step_is_the_beginning(bench_on: MakeBench) -> None:
    bench = bench_on(lambda asked: Reply('{"tool":"read","path":"a.txt"}'))
    bench.tasks = [Sums(5)]
    receipt = bench.conduct(failures=1, seeds=1, hint="errors")
    (failure,) = receipt.failures
    assert (failure.turn, failure.errors, failure.checked) == (0, None, False)
    assert failure.hint == "No check has run yet: run one before anything else."
    assert [arm.unchecked.runs for arm in receipt.arms] == [1] * 5
    assert receipt.stored_checked.count == 0


def test_cheating_is_counted_as_cheating_and_shown(bench_on: MakeBench) -> None:
    said = iter(['{"tool":"write","path":"sums.txt","content":""}', '{"tool":"done"}'] * 9)
    bench = bench_on(lambda asked: Reply(next(said)))
    bench.tasks = [Sums(5)]
    receipt = bench.conduct(failures=1, seeds=1, parallel=1, arms=("start-over",))
    assert (receipt.firsts.cheated, receipt.arms[0].cheated) == (1, 1)
    assert receipt.arms[0].all.fixed == 0
    assert "sums.txt was changed" in (bench.folder / "receipt.md").read_text("utf-8")


def test_the_same_again_does_nothing_again(bench: Bench) -> None:
    first = bench.conduct()
    asked, lines = len(bench.model.asked), (bench.folder / "ledger.jsonl").read_bytes()
    assert bench.conduct() == first
    assert len(bench.model.asked) == asked
    assert (bench.folder / "ledger.jsonl").read_bytes() == lines


def test_another_plan_needs_another_folder(bench: Bench) -> None:
    bench.conduct()
    with pytest.raises(UsageProblem, match=r"another plan: plan\.contract\.turns: 5, and now 6"):
        bench.conduct(turns=6)


def test_it_stops_and_goes_on(bench: Bench) -> None:
    whole: list[Asked] = []

    def until(asked: Asked) -> Reply:
        whole.append(asked)
        if len(whole) == 17:
            bench.stop.set()
        return repairer(asked)

    repairer = bench.model._decide
    bench.model._decide = until
    with pytest.raises(Stopped):
        bench.conduct()
    assert not read_receipt(bench.folder).complete
    bench.stop.clear()
    receipt = bench.conduct()
    assert receipt.complete
    assert recompute(bench.folder, bench.tasks) == (receipt, [])
    assert len(whole) == sum(run.tokens.calls for run in receipt.runs)
    assert not any(run.tokens.unanswered for run in receipt.runs)


def test_a_model_that_cannot_be_asked_stops_it_and_nothing_is_lost(bench: Bench) -> None:
    bench.model.trouble(*[Trouble()] * 7, Trouble(status=401))
    with pytest.raises(NotReached, match="status 401") as caught:
        bench.conduct(parallel=1)
    assert "run it again" in str(caught.value.hint)
    bench.stop.clear()
    receipt = bench.conduct(parallel=1)
    assert receipt.complete
    assert receipt.firsts.broken == 0
    assert not receipt.aside


def test_a_service_that_breaks_breaks_the_run_and_not_the_experiment(bench: Bench) -> None:
    bench.model.trouble(Trouble(), Trouble(status=400))
    receipt = bench.conduct(parallel=1)
    assert receipt.complete
    assert receipt.firsts.broken == 1
    broken = next(run for run in receipt.runs if run.outcome == "broken")
    assert "status 400" in broken.why
    assert broken.key not in {
        Key(failure.task, failure.seed, "first") for failure in receipt.failures
    }
    assert recompute(bench.folder, bench.tasks)[1] == []


def test_attempts_that_failed_for_a_while_are_on_the_tape(bench: Bench) -> None:
    bench.model.trouble(Trouble(status=429, retry_after=7), Trouble(status=529))
    receipt = bench.conduct(parallel=1)
    assert receipt.firsts.broken == 0
    assert bench.paused == [7.0, 4.0]
    assert sum(run.tokens.unanswered for run in receipt.runs) == 2
    assert "2 requests have no answer on their tapes" in (
        (bench.folder / "receipt.md").read_text("utf-8")
    )


def test_of_two_that_begin_at_once_one_makes_the_plan(bench: Bench) -> None:
    bench.folder.mkdir()
    with (
        Ledger(bench.folder / "ledger.jsonl"),
        pytest.raises(UsageProblem, match="another process runs the experiment"),
    ):
        bench.conduct()
    assert not (bench.folder / "plan.json").exists()


# What is computed again.


def changed(path: Path, change: Callable[[Any], None]) -> None:
    document = msgspec.json.decode(path.read_bytes())
    change(document)
    path.write_bytes(msgspec.json.encode(document))


def test_the_tapes_make_the_same_receipt_again(bench: Bench) -> None:
    receipt = bench.conduct()
    assert recompute(bench.folder, bench.tasks) == (receipt, [])


def test_a_number_that_was_changed_is_named(bench: Bench) -> None:
    bench.conduct()
    changed(bench.folder / "receipt.json", lambda r: r["arms"][0]["all"].update(fixed=99))
    _, differing = recompute(bench.folder, bench.tasks)
    assert len(differing) == 1
    assert differing[0].startswith("receipt.arms[0].all.fixed: 99, and now ")


def test_another_tape_in_a_tapes_place_is_named(bench: Bench) -> None:
    receipt = bench.conduct()
    one, other = (bench.folder / run.tape for run in receipt.runs[:2])
    one.write_bytes(other.read_bytes())
    _, differing = recompute(bench.folder, bench.tasks)
    assert any("in the ledger" in line and "by its bytes" in line for line in differing)


def test_an_altered_tape_is_noticed_wherever_it_was_altered(bench: Bench) -> None:
    receipt = bench.conduct(failures=1, seeds=1, arms=("rewind",))
    path = bench.folder / receipt.runs[0].tape
    content = path.read_bytes()
    for tenth in range(1, 10):
        altered = bytearray(content)
        middle = len(altered) * tenth // 10
        altered[middle : middle + 2048] = bytes(byte ^ 0xFF for byte in altered[middle:][:2048])
        path.write_bytes(altered)
        with contextlib.suppress(UserError):
            assert recompute(bench.folder, bench.tasks)[1] != []


def test_another_judge_is_noticed(bench: Bench) -> None:
    bench.conduct()

    class Mild(Sums):
        def check(self, files: Any) -> list[str]:
            return []

    _, differing = recompute(bench.folder, [Mild(5), Mild(6)])
    assert any("judged Verdict(fixed=False" in line for line in differing)


def test_another_task_is_noticed(bench: Bench) -> None:
    bench.conduct()

    class Renamed(Sums):
        prompt = "Do something else."

    _, differing = recompute(bench.folder, [Renamed(5), Renamed(6)])
    assert any(line.startswith("task sums/5: sha256:") for line in differing)


def test_a_tape_without_a_step_is_put_aside_and_said(bench: Bench) -> None:
    (bench.folder / "runs").mkdir(parents=True)
    torn = bench.folder / "runs" / "sums-5.0.first.tape"
    torn.write_bytes(b"")
    receipt = bench.conduct()
    assert receipt.complete
    assert [text.partition(" (")[0] for text in receipt.aside] == [
        "runs/sums-5.0.first.aside-1.tape"
    ]
    assert recompute(bench.folder, bench.tasks)[1] == []


def test_a_run_killed_between_its_scripts_end_and_its_tapes_is_over(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, run_ended = bench.folder.parent, Keeping.run_ended
    first = "sums-5.0.first.tape"

    def leave(self: Keeping, *, well: bool) -> None:
        self.hold()
        for suffix in ("", "-wal") if self.path.name == first else ():
            shutil.copy(f"{self.path}{suffix}", kept)
        run_ended(self, well=well)

    one = {"failures": 1, "seeds": [0], "arms": ("rewind",)}
    with monkeypatch.context() as patched:
        patched.setattr(Keeping, "run_ended", leave)
        before = bench.conduct(**one)
    for path in [*bench.folder.glob("*.json*"), *bench.folder.glob("runs/*")]:
        path.unlink()
    for path in kept.glob(f"{first}*"):
        shutil.copy(path, bench.folder / "runs")
    assert measure(bench.folder / "runs" / first) is None
    after = bench.conduct(**one)
    assert (after.complete, after.aside) == (True, [])
    assert [run.outcome for run in after.runs] == [run.outcome for run in before.runs]


def test_what_was_killed_before_its_receipt_can_be_told(bench: Bench) -> None:
    receipt = bench.conduct()
    (bench.folder / "receipt.json").unlink()
    told, differing = recompute(bench.folder, bench.tasks)
    assert told == receipt
    assert differing == ["no receipt was written: this is what the tapes make"]


def test_where_there_is_no_experiment(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="there is no receipt in"):
        read_receipt(tmp_path)
    with pytest.raises(UsageProblem, match="there is no experiment in"):
        recompute(tmp_path, [])
