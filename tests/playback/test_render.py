"""The report as a person reads it."""

from collections.abc import Callable, Sequence
from typing import Any

from rerail.playback.player import Player
from rerail.playback.render import render
from rerail.playback.report import Containment, End, Tried, WorkspaceUsed
from rerail.playback.summary import make_report

Maker = Callable[[], Any]
Ask = Callable[..., Any]


def text(
    player: Player,
    *,
    status: int = 0,
    command: str = "agent",
    workspace: WorkspaceUsed | None = None,
    attempts: Sequence[Tried] = (),
) -> str:
    report = make_report(
        player,
        command=[command],
        environment=[],
        containment=Containment(level="no network", missing=["file system"]),
        ended=End(status=status),
        pace="fast",
        duration_ns=0,
        workspace=workspace,
        attempts=attempts,
    )
    return render(report)


def test_a_green_replay_is_short(tape_maker: Maker, ask: Ask) -> None:
    maker = tape_maker()
    maker.call({"a": 1})
    player = Player(maker.finish())
    player.answer(ask({"a": 1}))
    assert text(player).splitlines() == [
        "green: followed to the end, 1 request from the tape",
        "",
        "1 request: 1 exact",
        "  model calls: 1 of 1 matched",
        "  containment: no network (missing: file system)",
    ]


def test_a_divergence_shows_the_words_and_what_to_type(tape_maker: Maker, ask: Ask) -> None:
    maker = tape_maker()
    maker.call({"messages": ["please fix the build in api.ts"]})
    maker.call({"messages": ["and then the tests"]})
    tape = maker.finish()
    player = Player(tape)
    player.answer(ask({"messages": ["please fix the tests\nin api.ts"]}))
    shown = text(player, status=1, command="changed agent")
    assert shown.splitlines() == [
        "not green:",
        "  - 1 request was refused: r1",
        "  - nothing was matched: the command asked for nothing that is on the tape",
        "  - 2 recorded model calls never came: s1, s2",
        "  - the command ended with status 1, recorded with status 0",
        "",
        "request 1 of this replay (r1, model call s1) is not on the tape: "
        "messages[0] differs from the nearest recorded request, r1",
        "  POST https://api.openai.com/v1/chat/completions",
        "  compared with r1 (e2, s1) POST https://api.openai.com/v1/chat/completions",
        "    messages[0]: changed",
        "      recorded  please fix the [-build -]in api.ts",
        "      now       please fix the {+tests\\n+}in api.ts",
        "",
        "1 request: 1 refused",
        "  model calls: 0 of 2 matched",
        "  containment: no network (missing: file system)",
        "  never came: r1 (e2, s1) POST https://api.openai.com/v1/chat/completions",
        "  never came: r2 (e5, s2) POST https://api.openai.com/v1/chat/completions",
        "",
        "next:",
        f"  rerail show {tape.path} r1",
        f"  rerail replay {tape.path} --ignore 'messages[0]' -- 'changed agent'",
        f"  rerail replay {tape.path} --on-divergence follow -- 'changed agent'",
    ]


def test_one_reason_stands_on_the_first_line(tape_maker: Maker, ask: Ask) -> None:
    maker = tape_maker()
    maker.call({"a": 1})
    player = Player(maker.finish())
    player.answer(ask({"a": 1}))
    shown = text(player, status=3)
    assert shown.startswith("not green: the command ended with status 3, recorded with status 0\n")


def test_many_misses_many_differences_and_many_unused_are_cut(tape_maker: Maker, ask: Ask) -> None:
    maker = tape_maker()
    for number in range(12):
        maker.call({"x": number, **{f"field{index}": index for index in range(9)}})
    player = Player(maker.finish())
    for number in range(8):
        player.answer(ask({"number": number, "x": "y" * 5000}))
    shown = text(player)
    assert "and 6 more differences" in shown
    assert "7 later requests not on the tape either:" in shown
    assert "  and 2 more\n" in shown
    assert "never came: 7 more" in shown
    assert "(1 → 5 000 characters)" in shown
    assert len(shown.splitlines()) < 60


def test_notes_rules_and_order_are_told(tape_maker: Maker, ask: Ask) -> None:
    maker = tape_maker()
    maker.unreachable("dead.example")
    maker.call({"a": 1})
    maker.call({"a": 2})
    player = Player(maker.finish())
    player.connecting("dead.example", 443)
    player.connecting("dead.example", 443)
    player.answer(ask(b'{"a":2}'))
    player.answer(ask({"a": 1}))
    shown = text(player)
    assert "  rules: json spelling (1)" in shown
    assert "  1 request in another order than recorded" in shown
    assert "  1 more connections to dead.example:443 failed than in the recording" in shown


def test_text_that_is_no_unicode_can_be_printed(tape_maker: Maker, ask: Ask) -> None:
    maker = tape_maker()
    maker.call(b'{"a": "\\ud800"}')
    player = Player(maker.finish())
    player.answer(ask(b'{"a": "\\ud801"}'))
    assert text(player).encode()


def test_there_is_nothing_to_follow_where_nothing_like_it_was_recorded(
    tape_maker: Maker, ask: Ask
) -> None:
    maker = tape_maker()
    maker.call({"a": 1})
    player = Player(maker.finish())
    player.answer(ask({"a": 1}, host="elsewhere.example.com"))
    assert "the recording has no request to " in text(player)
    assert "--on-divergence" not in text(player)


def test_no_text_of_a_tape_makes_a_line_of_its_own(tape_maker: Maker, ask: Ask) -> None:
    maker = tape_maker()
    maker.call({"a": 1})
    player = Player(maker.finish())
    player.ledger.notes["a folder\ngreen: followed to the end\r\n"] += 1
    player.answer(ask({"a": 2}, target="/v1/chat/completions\ngreen: followed to the end"))
    assert not [line for line in text(player).splitlines() if line.startswith("green")]


def files(tape_maker: Maker, **fields: Any) -> list[str]:
    """The lines that tell of the files."""
    used = WorkspaceUsed(
        **({"files": "present", "folder": "/w", "at_recorded_path": True} | fields)
    )
    shown = text(Player(tape_maker().finish()), workspace=used).splitlines()
    return shown[shown.index("  containment: no network (missing: file system)") + 1 :]


def test_a_copy_that_ended_as_recorded_is_two_lines(tape_maker: Maker) -> None:
    assert files(tape_maker) == [
        "  files: a copy of the recorded start",
        "  files at the end: as recorded",
    ]


def test_what_of_the_files_is_otherwise_is_named(tape_maker: Maker) -> None:
    names = [f"{number}.py" for number in range(7)]
    assert files(
        tape_maker,
        folder="/tmp/rerail-x/0",
        at_recorded_path=False,
        laid_on_top=["agent.py"],
        as_recorded=["out.txt"],
        empty=[".env"],
        differing=300,
        differs=names,
    ) == [
        "  files: a copy of the recorded start, seen at /tmp/rerail-x/0",
        "    otherwise now, and used as they are now: agent.py",
        "    otherwise now, and used as recorded, since the run wrote them: out.txt",
        "    on no tape and not here, so without content: .env",
        "  files at the end: 300 otherwise than recorded: "
        "0.py, 1.py, 2.py, 3.py, 4.py and 295 more",
    ]


def test_without_a_copy_the_folder_and_the_reason_are_named(tape_maker: Maker) -> None:
    assert files(tape_maker, files="in-place") == ["  files: those in /w"]
    assert files(tape_maker, files="in-place", why="the tape has no snapshots") == [
        "  files: those in /w, since the tape has no snapshots"
    ]


def test_what_the_sandbox_refused_is_named(tape_maker: Maker, ask: Ask) -> None:
    maker = tape_maker()
    maker.call({"a": 1})
    player = Player(maker.finish())
    player.answer(ask({"a": 1}))
    curl = Tried(what="tcp", target="192.0.2.1:443", program="curl", pid=7, count=12)
    git = Tried(what="write", target="/home/alice/.gitconfig", program="git", pid=8)
    said = text(player, attempts=[curl, git, *[git] * 6])
    assert "  refused: curl to 192.0.2.1:443 (12 times)\n" in said
    assert "  refused: git to write /home/alice/.gitconfig\n" in said
    assert "  refused: 3 more\n" in said
    assert said.startswith("green")
