"""The report of a replay, from what its player did."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jsonschema

from rerail.playback.player import Player
from rerail.playback.report import Containment, End, Report, to_json
from rerail.playback.summary import make_report

Maker = Callable[[], Any]
Ask = Callable[..., Any]

SCHEMA = Path(__file__).parents[2] / "spec" / "replay-report.schema.json"


def reported(player: Player, *, status: int = 0, within_children: Sequence[int] = ()) -> Report:
    report = make_report(
        player,
        command=["agent", "--new"],
        environment=["B", "A"],
        containment=Containment(level="no network"),
        ended=End(status=status),
        pace="fast",
        duration_ns=2_500_000,
        within_children=within_children,
    )
    jsonschema.validate(json.loads(to_json(report)), json.loads(SCHEMA.read_text("utf-8")))
    return report


def test_a_replay_that_followed_to_the_end_is_green(tape_maker: Maker, ask: Ask) -> None:
    maker = tape_maker()
    for number in range(3):
        maker.call({"a": number})
    player = Player(maker.finish())
    for number in range(3):
        player.answer(ask({"a": number}))
    report = reported(player)
    assert report.verdict.green
    assert (report.counts.requests, report.counts.exact, report.counts.recorded) == (3, 3, 3)
    assert (report.counts.matched_model_calls, report.counts.recorded_model_calls) == (3, 3)
    assert (report.divergence, report.unused, report.rules) == (None, [], [])
    assert report.tape.id.startswith("sha256:")
    assert (report.tape.run_id, report.tape.state) == ("run-1", "finished")
    assert (report.environment, report.duration_ms) == (["A", "B"], 2.5)
    assert (report.command, report.recorded_command) == (["agent", "--new"], ["agent"])


def test_a_changed_prompt_names_the_request_the_field_and_what_never_came(
    tape_maker: Maker, ask: Ask
) -> None:
    maker = tape_maker()
    for turn in range(5):
        maker.call({"messages": [{"content": f"message {number}"} for number in range(turn + 1)]})
    player = Player(maker.finish())
    for turn in range(2):
        player.answer(
            ask({"messages": [{"content": f"message {number}"} for number in range(turn + 1)]})
        )
    changed = [{"content": f"message {number}"} for number in range(2)] + [{"content": "other 2"}]
    player.answer(ask({"messages": changed}))
    report = reported(player, status=1)
    assert [reason.code for reason in report.verdict.reasons] == [
        "refused", "unused_model_calls", "ended_otherwise",
    ]  # fmt: skip
    divergence = report.divergence
    assert divergence is not None
    assert (divergence.request, divergence.step) == (3, 3)
    assert divergence.field == "messages[2].content"
    assert divergence.differences[0].words[0].now == "other"
    assert [item.recording.step for item in report.unused] == [3, 4, 5]
    assert report.counts.unused_model_calls == 3


def test_a_tape_without_model_calls_is_green_when_all_of_it_was_used(
    tape_maker: Maker, ask: Ask
) -> None:
    maker = tape_maker()
    for path in ("/info/refs", "/pack"):
        maker.call(b"", target=path, host="git.example", method="GET", headers="")
    tape = maker.finish()
    player = Player(tape)
    player.answer(ask(target="/info/refs", host="git.example", method="GET", headers=[]))
    half = reported(player)
    assert [reason.code for reason in half.verdict.reasons] == ["unused_requests"]
    player.answer(ask(target="/pack", host="git.example", method="GET", headers=[]))
    assert reported(player).verdict.green


def test_unused_tool_calls_are_listed_and_not_fatal(tape_maker: Maker, ask: Ask) -> None:
    maker = tape_maker()
    maker.call({"a": 1})
    maker.call(b"", target="/tool", host="tools.example")
    player = Player(maker.finish())
    player.answer(ask({"a": 1}))
    report = reported(player)
    assert report.verdict.green
    assert [item.recording.exchange for item in report.unused] == [2]
    assert report.counts.unused_others == 1


def test_side_calls_make_nothing_green_and_nothing_red(tape_maker: Maker, ask: Ask) -> None:
    maker = tape_maker()
    maker.call({"span": 1}, target="/v1/traces/ingest")
    only = reported(Player(maker.finish()))
    assert [reason.code for reason in only.verdict.reasons] == ["nothing_matched"]
    maker = tape_maker()
    maker.call({"a": 1})
    maker.call({"span": 1}, target="/v1/traces/ingest")
    player = Player(maker.finish())
    player.answer(ask({"a": 1}))
    report = reported(player)
    assert report.verdict.green
    assert [item.side_call for item in report.unused] == ["openai-agents traces"]
    player.answer(ask({"span": 2}, target="/v1/traces/ingest"))
    report = reported(player)
    assert report.counts.side_calls == 1
    assert [(rule.name, rule.used) for rule in report.rules] == [("openai-agents traces", 1)]


def test_a_side_call_of_several_rows_is_listed_once(tape_maker: Maker, ask: Ask) -> None:
    maker = tape_maker()
    maker.call({"a": 1})
    player = Player(maker.finish())
    player.answer(ask({"a": 1}))
    for path in ("/api/claude_code/settings", "/api/claude_cli/bootstrap"):
        player.answer(ask(method="GET", host="api.anthropic.com", target=path))
    report = reported(player)
    assert [(rule.name, rule.used) for rule in report.rules] == [("claude-code settings", 2)]
    assert report.verdict.green


def test_a_tape_with_nothing_on_it_is_not_green(tape_maker: Maker) -> None:
    report = reported(Player(tape_maker().finish()))
    assert [reason.code for reason in report.verdict.reasons] == ["nothing_matched"]


def test_a_recording_that_was_lost_says_so(tape_maker: Maker, ask: Ask) -> None:
    maker = tape_maker()
    maker.call({"a": 1})
    player = Player(maker.leave())
    player.answer(ask({"a": 1}))
    report = reported(player)
    assert report.tape.state == "lost"
    assert [reason.code for reason in report.verdict.reasons] == ["no_recorded_end"]


def test_an_attempt_that_was_not_made_leaves_its_call_unused(tape_maker: Maker, ask: Ask) -> None:
    maker = tape_maker()
    maker.call({"a": 1}, status=429)
    maker.call({"a": 1})
    player = Player(maker.finish())
    player.answer(ask({"a": 1}))
    report = reported(player)
    assert report.counts.matched_model_calls == report.counts.unused_model_calls == 1
    assert [(item.recording.step, item.recording.attempt) for item in report.unused] == [(1, 2)]
    assert not report.verdict.green


def test_turns_of_a_websocket_that_never_came_are_told(tape_maker: Maker, ask: Ask) -> None:
    turn = {"type": "response.create", "input": []}
    maker = tape_maker()
    maker.websocket(("agent", "text", turn), ("agent", "text", turn))
    player = Player(maker.finish())
    upgrade = ask(method="GET", target="/v1/responses", headers=[("upgrade", "websocket")])
    served: Any = player.answer(upgrade)
    player.begin(served)
    player.heard(served, "text", json.dumps(turn).encode())
    report = reported(player)
    assert [reason.code for reason in report.verdict.reasons] == ["unused_model_calls"]
    assert [item.turns for item in report.unused] == [1]
    player.heard(served, "text", json.dumps(turn).encode())
    assert reported(player).verdict.green


TOOLS = [{"type": "function", "function": {"name": "read", "description": "It reads a file."}}]
MAIN = {"messages": [{"role": "system", "content": "You mend."}], "tools": TOOLS}
TITLE = {"messages": [{"role": "system", "content": "Name a title."}]}


def test_a_title_call_is_a_model_call_beside_the_steps(tape_maker: Maker, ask: Ask) -> None:
    maker = tape_maker()
    maker.call(TITLE)
    maker.call(MAIN)
    player = Player(maker.finish())
    served: Any = player.answer(ask(MAIN))
    assert served.step == 1
    report = reported(player)
    assert (report.counts.recorded_model_calls, report.counts.matched_model_calls) == (2, 1)
    [reason] = report.verdict.reasons
    assert reason.text == "1 recorded model call never came: r1"
    assert (report.unused[0].recording.step, report.unused[0].recording.lane) == (None, "title")
    player.answer(ask({"messages": [{"role": "system", "content": "Name a long title."}]}))
    assert player.ledger.divergences[0].step is None
    player.answer(ask(TITLE))
    assert reported(player).counts.matched_model_calls == 2


def test_a_prewarmed_session_counts_its_turns(tape_maker: Maker, ask: Ask) -> None:
    warm = {"type": "response.create", "generate": False}
    turns = [{"type": "response.create", "input": [number]} for number in range(2)]
    maker = tape_maker()
    maker.websocket(*(("agent", "text", message) for message in (warm, *turns)))
    player = Player(maker.finish())
    upgrade = ask(method="GET", target="/v1/responses", headers=[("upgrade", "websocket")])
    served: Any = player.answer(upgrade)
    player.begin(served)
    for message in (warm, turns[0]):
        player.heard(served, "text", json.dumps(message).encode())
    report = reported(player)
    assert (report.counts.recorded_model_calls, report.counts.matched_model_calls) == (2, 1)
    assert report.verdict.reasons[0].text == "1 recorded model call never came: s2"
    other = {"type": "response.create", "input": ["other"]}
    player.heard(served, "text", json.dumps(other).encode())
    assert player.ledger.divergences[0].step == 2


def test_every_rule_of_the_users_is_listed_needed_or_not(tape_maker: Maker, ask: Ask) -> None:
    maker = tape_maker()
    maker.call({"a": 1, "id": 1})
    player = Player(maker.finish(), ignore=["id", "query:x"])
    player.answer(ask({"a": 1, "id": 2}))
    rules = {rule.name: (rule.source, rule.used) for rule in reported(player).rules}
    assert rules == {"ignored id": ("user", 1), "ignored query:x": ("user", 0)}


def test_what_a_redacted_value_needed_is_counted(tape_maker: Maker, ask: Ask) -> None:
    maker = tape_maker()
    maker.call(b"", target="/a?key=sk-secret", method="GET", headers="", host="x.example")
    player = Player(maker.finish())
    target = "/a?key=⟦redacted:key:ffffffffffff⟧"
    player.answer(ask(method="GET", target=target, headers=[], host="x.example"))
    report = reported(player)
    assert report.verdict.green
    assert [(rule.name, rule.source, rule.used) for rule in report.rules] == [
        ("redacted", "built in", 1)
    ]


def test_every_recorded_request_says_whether_it_came(tape_maker: Maker, ask: Ask) -> None:
    maker = tape_maker()
    for number in range(3):
        maker.call({"a": number})
    player = Player(maker.finish())
    player.answer(ask({"a": 0}))
    uses = reported(player, within_children=[2]).uses
    assert [(use.exchange, use.how, use.came, use.left) for use in uses] == [
        (1, "asked", [1], []),
        (2, "by a child", [], [2]),
        (3, "not asked", [], [3]),
    ]
