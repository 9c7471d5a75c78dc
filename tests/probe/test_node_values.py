"""Node's clock and randomness: given back by turn and place, and the agent sees no difference."""

import json
from pathlib import Path
from typing import Any

import pytest

from rerail.launch.run_folder import REAL_CLOCK, RunFolder
from rerail.probe import paths
from rerail.probe.log import read_hello
from tests.node import MAJORS, node_or_skip
from tests.probe.node_run import LATER, SECOND, NodeRun, next_turn

PROGRAMS = Path(__file__).parent / "programs"
EVERYTHING = (PROGRAMS / "everything.js").read_text()
REQUIRED = """
const modules = ["fs", "crypto", "util", "vm"].map(require);
told(...modules).then((all) => console.log(JSON.stringify(all)));
"""
IMPORTED = """
import fs from "node:fs"; import crypto from "node:crypto"; import util from "node:util";
import vm from "node:vm"; import { randomUUID } from "node:crypto";
import { mkdtempSync, rmdirSync } from "node:fs"; import { mkdtemp } from "node:fs/promises";
const named = [randomUUID(), mkdtempSync("d-"), await mkdtemp("e-")];
named.slice(1).forEach((folder) => rmdirSync(folder));
console.log(JSON.stringify({ named, ...(await told(fs, crypto, util, vm)) }));
"""


@pytest.fixture(params=MAJORS)
def node_run(request: pytest.FixtureRequest, tmp_path: Path) -> NodeRun:
    return NodeRun(node_or_skip(request.param), tmp_path)


@pytest.mark.parametrize(("name", "end"), [("agent.cjs", REQUIRED), ("agent.mjs", IMPORTED)])
def test_everything_is_given_back(node_run: NodeRun, name: str, end: str) -> None:
    recorded = json.loads(node_run.record(EVERYTHING + end, name=name))
    replayed = json.loads(node_run.replay(EVERYTHING + end, name=name))
    assert replayed == recorded
    node_run.logs.clear()
    without = json.loads(node_run.replay(EVERYTHING + end, name=name))
    derived = {"named", "random", "uuid", "folders"}
    for key in recorded.keys() - derived:
        assert without[key] != recorded[key], f"{key} would be the same without its log"
    assert len(set(recorded["uuid"])) == 3


def test_another_seed_gives_other_values(node_run: NodeRun, monkeypatch: Any) -> None:
    program = "console.log(Math.random(), require('crypto').randomUUID());"
    recorded = node_run.record(program)
    monkeypatch.setattr("tests.probe.node_run.SEED", "6f" * 32)
    assert node_run.replay(program) != recorded


TURNS = """
function turn(n) {
  const uuid = require("crypto").randomUUID();
  return `${n} ${new Date().toISOString()} ${Date.now()} ${Math.random()} ${uuid}`;
}
for (let n = 0; n < 5; n++) { console.log(turn(n)); step(); }
"""


def test_a_line_that_logs_shifts_nothing(node_run: NodeRun) -> None:
    recorded = node_run.record(TURNS)
    assert len(set(recorded.splitlines())) == 5
    logging = TURNS.replace(
        "  return `", "  globalThis.noted = [new Date(), Date.now(), Math.random()];\n  return `"
    ).replace("for (", "const before = new Date();\nfor (")
    assert node_run.replay(logging) == recorded


def test_a_longer_turn_leaves_the_next_ones_alone(node_run: NodeRun) -> None:
    program = "for (let n = 0; n < 4; n++) { for (let i = 0; i < COUNT; i++) var at = ask();\n"
    program += "  console.log(at); step(); }\nfunction ask() { return Math.random() + Date.now(); }"
    recorded = node_run.record(program.replace("COUNT", "2")).splitlines()
    longer = program.replace("COUNT", "(n === 1 ? 3 : 2)").replace("{ for", "{for")
    replayed = node_run.replay(longer).splitlines()
    assert [n for n in range(4) if replayed[n] != recorded[n]] == [1]


def test_one_line_minified_has_many_places(node_run: NodeRun) -> None:
    rest = "/" * 300
    program = f"f=()=>Date.now();/*{rest}*/g=()=>Date.now();/*{rest}*/console.log(f(),g(),f())"
    node_run.record(program)
    places = [line.split("\t")[2] for line in node_run.lines if line.startswith("s\t")]
    assert len(places) == 2
    assert {place.rpartition(":")[0] for place in places} == {"agent.cjs:f", "agent.cjs:g"}


def test_who_calls_a_package_is_part_of_the_place(node_run: NodeRun) -> None:
    package = node_run.place / "node_modules" / "@ids" / "maker"
    package.mkdir(parents=True)
    inner = "exports.id = () => exports.make();\nexports.make = () => Math.random();"
    (package / "index.js").write_text(inner)
    program = "const { id } = require('@ids/maker');\n"
    program += "const say = (text) => console.log(text, id());\n"
    more = program + "const noted = () => globalThis.noted = [id(), id()];\n"
    asking = "for (let n = 0; n < 3; n++) { say(n); }"
    recorded = node_run.record(program + asking)
    assert node_run.replay(more + asking.replace("{", "{ noted();")) == recorded
    # Nobody is outside the package: the place in it is all there is.
    own = "exports.id();\nconsole.log(exports.id(), new Error().stack.includes('maker'));"
    node_run.same_again(inner + own, name="node_modules/@ids/maker/main.cjs")


@pytest.mark.parametrize("major", [22, 24])
def test_a_translated_program_keeps_its_places(major: int, tmp_path: Path) -> None:
    run = NodeRun(node_or_skip(major), tmp_path)
    options = ("--experimental-transform-types", "--no-warnings")
    program = "enum Unit { Gram, Ounce }\nconsole.log(Unit.Ounce, Date.now(), Math.random());\n"
    program += "\n".join(f"// line {n}" for n in range(40))
    recorded = run.record(program, name="agent.ts", options=options)
    more = "enum More { One, Two, Three }\n" + program
    assert run.replay(more, name="agent.ts", options=options) == recorded


def test_what_is_new_goes_by_the_virtual_clock(node_run: NodeRun) -> None:
    node_run.record("")
    program = "const seen = []; for (let n = 0; n < 99; n++) seen.push(Date.now(), +new Date());\n"
    told = json.loads(node_run.replay(program + "console.log(JSON.stringify(seen));"))
    assert told == sorted(told)
    # Without a base of the monotonic clock it stands for the system's start.
    assert told[0] * 10**6 > LATER
    limit = {"wall_base": LATER, "wall_limit": LATER + 5 * SECOND}
    assert node_run.replay("console.log(Date.now());", page=limit) != "2000000005000\n"


def test_the_virtual_clock_waits_for_the_next_call(node_run: NodeRun) -> None:
    import time

    node_run.record("")
    base = {"wall_base": LATER, "mono_base": time.monotonic_ns() - SECOND}
    page = {**base, "wall_limit": LATER + SECOND // 2}
    assert node_run.replay("console.log(Date.now());", page=page) == "2000000000500\n"
    page = {**base, "mono_base": base["mono_base"] - 10 * SECOND, "wall_limit": LATER + SECOND}
    later = int(node_run.replay("console.log(Date.now());", page=page))
    assert 2_000_000_009_000 <= later <= 2_000_000_060_000


def test_the_clock_never_goes_back(node_run: NodeRun) -> None:
    program = "console.log(Date.now());\n"
    (recorded,) = node_run.record(program).split()
    added = program + "const more = Date.now();\nconsole.log(more);"
    first, second = node_run.replay(added, page={"wall_base": SECOND}).split()
    assert first == recorded
    assert second == recorded


def test_going_live_is_real(node_run: NodeRun) -> None:
    def go_live(folder: RunFolder) -> None:
        folder.page.flags |= REAL_CLOCK
        next_turn(folder)

    program = "const ask = () => [Date.now(), Math.random(), require('crypto').randomUUID()];\n"
    program += "console.log(ask().join()); step(); console.log(ask().join());"
    recorded = node_run.record(program).split()
    replayed = node_run.replay(program, on_step=go_live).split()
    again = node_run.replay(program, on_step=go_live).split()
    assert replayed[0] == recorded[0]
    assert set(replayed[1].split(",")).isdisjoint(recorded[1].split(","))
    assert set(replayed[1].split(",")[1:]).isdisjoint(again[1].split(",")[1:])


def test_children_and_workers_have_their_own_values(node_run: NodeRun) -> None:
    child = (
        "console.log([Date.now(), Math.random(), require('crypto').randomBytes(4).join()].join());"
    )
    (node_run.place / "child.cjs").write_text(child)
    program = """
        const { execFileSync } = require("child_process"), { Worker } = require("worker_threads");
        const run = () => execFileSync(process.execPath, ["child.cjs"], { encoding: "utf8" });
        process.stdout.write(run() + run());
        new Worker("./child.cjs").on("exit", () => console.log(Math.random()));
    """
    told = node_run.same_again(program).split()
    assert len(set(told)) == 4
    hellos = [read_hello(log.partition(b"\n")[0]) for log in node_run.logs.values()]
    kinds = sorted(hello.kind for hello in hellos if hello)
    assert kinds == ["node", "node", "node", "worker"]
    assert sorted(hello.n for hello in hellos if hello) == [0, 0, 0, 1]


def test_children_that_start_together_are_told_apart_by_their_words(node_run: NodeRun) -> None:
    (node_run.place / "child.cjs").write_text("console.log(process.argv[2], Math.random());")
    program = """
        const { execFileSync } = require("child_process");
        const run = (n) => execFileSync(process.execPath, ["child.cjs", n]);
        for (const n of ORDER) process.stdout.write(run(n));
    """
    recorded = node_run.record(program.replace("ORDER", "[0, 1, 2, 2]"))
    replayed = node_run.replay(program.replace("ORDER", "[2, 1, 0, 2]"))
    assert len(set(recorded.splitlines())) == 4
    assert sorted(replayed.splitlines()) == sorted(recorded.splitlines())


def test_a_worker_that_shares_the_environment_leaves_it_alone(node_run: NodeRun) -> None:
    program = """
        const { Worker, SHARE_ENV } = require("worker_threads");
        const now = () => JSON.stringify(process.env), before = now();
        const said = "postMessage(JSON.stringify(process.env))";
        const script = `require("worker_threads").parentPort.${said}`;
        const start = (options) => new Worker(script, { eval: true, ...options })
          .on("message", (env) => console.log(env === before, now() === before));
        start({ env: SHARE_ENV }).on("exit", () => start());
    """
    assert node_run.record(program) == "true true\nfalse true\n"
    assert len(node_run.logs) == 3


def test_a_process_carries_its_number(node_run: NodeRun) -> None:
    url = "http://p1:secret@127.0.0.1:9"
    own = "http://mine:secret@127.0.0.1:9"
    names = {"RERAIL_PROXY": url, "https_proxy": url, "HTTP_PROXY": url, "ALL_PROXY": own}
    program = """
        const { execFileSync } = require("child_process");
        console.log(process.env.RERAIL_PROXY, process.env.https_proxy, process.env.ALL_PROXY);
        if (!process.argv[2]) process.stdout.write(execFileSync(process.execPath, [__filename, 1]));
    """
    first, second = node_run.record(program, environment=names).splitlines()
    assert first.split() == [url, url, own]
    assert second.split() == [url.replace("p1", "p2"), url.replace("p1", "p2"), own]


def test_an_agent_sees_no_difference(node_run: NodeRun) -> None:
    looks = (PROGRAMS / "looks.cjs").read_text()
    plain = node_run.plain(looks)
    assert node_run.record(looks) == plain
    assert node_run.replay(looks) == plain


def test_whoever_replaces_the_clock_replaces_it(node_run: NodeRun) -> None:
    replaced = (PROGRAMS / "replaced.cjs").read_text()
    quiet = ("--no-warnings",)
    plain = node_run.plain(replaced, options=quiet)
    assert node_run.same_again(replaced, options=quiet) == plain


def test_a_loop_that_asks_without_end_is_kept_as_far_as_it_is_useful(node_run: NodeRun) -> None:
    program = """
        const crypto = require("crypto");
        for (let n = 0; n < 20000; n++) Date.now();
        let all = 0;
        for (let n = 0; n < 20000; n++) all += Math.random();
        for (let n = 0; n < 5000; n++) crypto.randomBytes(1);
        crypto.randomBytes(100000);
        console.log(all);
        step();
        console.log(Date.now());
    """
    recorded = node_run.record(program)
    kinds = [line.split("\t")[0] for line in node_run.lines]
    assert kinds.count("t") == 4096 + 1
    assert kinds.count("r") == 4096
    assert [line.split("\t")[1] for line in node_run.lines if line.startswith("missing")] == [
        "times past 4096 in one turn",
        "times past 16384 in one turn",
        "random values past 16384 in one turn",
        "entropy past what is kept",
    ]
    assert node_run.replay(program) == recorded


def test_a_temporary_folder_that_was_left_is_taken_over(node_run: NodeRun) -> None:
    program = """
        const fs = require("fs");
        fs.mkdtemp("c-", (error, third) => fs.promises.mkdtemp("p-").then((fourth) =>
          console.log(fs.mkdtempSync("s-"), third, fourth)));
    """
    told = node_run.same_again(program)
    folder = told.split()[0]
    assert (node_run.place / folder).stat().st_mode & 0o777 == 0o700
    (node_run.place / folder / "left").touch()
    other = node_run.replay(program)
    assert other.split()[1:] == told.split()[1:]
    assert other.split()[0].startswith("s-")
    assert [line for line in node_run.lines if line.startswith("missing")] == [
        f"missing\ta temporary folder has another name\t{folder} is still there"
    ]


def test_a_page_that_is_being_written_says_which_turn_it_is(node_run: NodeRun) -> None:
    """A recorder may be kept from going on in the middle of it, for longer than anybody waits."""

    def in_the_middle(folder: RunFolder) -> None:
        folder.turn_begins(1)
        counter = int.from_bytes(folder._shown[8:16], "little")
        folder._shown[8:16] = (counter + 1).to_bytes(8, "little")

    program = "const say = () => console.log(Math.random());\nsay(); step(); say();"
    recorded = node_run.record(program)
    assert node_run.replay(program, on_step=in_the_middle) == recorded


def test_two_folders_of_a_recording_have_two_names(node_run: NodeRun) -> None:
    program = "const make = () => require('fs').mkdtempSync('t-');\nconsole.log(make(), make());"
    first = node_run.record(program).split()
    second = node_run.record(program).split()
    assert len({*first, *second}) == 4


def test_only_what_is_asked_for_is_changed(node_run: NodeRun) -> None:
    program = "console.log(Date.now(), Math.random(), require('crypto').randomUUID());"
    clock = node_run.record(program, settings={"random": False}).split()
    replayed = node_run.replay(program, settings={"random": False}).split()
    assert replayed[0] == clock[0]
    assert set(replayed[1:]).isdisjoint(clock[1:])
    random = node_run.record(program, settings={"clock": False}).split()
    replayed = node_run.replay(program, settings={"clock": False}).split()
    assert replayed[1:] == random[1:]
    assert int(replayed[0]) * 10**6 < LATER


def test_a_replay_without_a_tape_logs_no_values(node_run: NodeRun) -> None:
    program = "Date.now(); require('crypto').randomBytes(4);"
    node_run.record(program)
    assert [line.split("\t")[0] for line in node_run.lines] == ["hello", "s", "t", "r"]
    node_run.replay(program, settings={"log": False})
    assert [line.split("\t")[0] for line in node_run.lines] == ["hello"]


def test_a_tape_of_a_replay_replays(node_run: NodeRun) -> None:
    program = EVERYTHING + REQUIRED
    recorded = node_run.record(program)
    node_run.replay(program)
    node_run.logs = dict.fromkeys(node_run.logs, node_run.said[0])
    assert node_run.replay(program) == recorded


def test_a_damaged_log_gives_what_it_can(node_run: NodeRun) -> None:
    program = "console.log(Date.now());\nglobalThis.rest = new Date();"
    recorded = node_run.record(program)
    (name,) = node_run.logs
    whole = node_run.logs[name]
    node_run.logs[name] = whole.replace(b"\nt", b"\nt\nr\t\nx\ty\tz\ns\nt", 1)[:-4]
    assert node_run.replay(program) == recorded


@pytest.mark.parametrize("broken", ["no folder", "no settings", "no page", "torn settings"])
def test_without_a_usable_folder_nothing_changes(node_run: NodeRun, broken: str) -> None:
    from rerail.launch.run_folder import ProbeSettings

    with RunFolder.make(ProbeSettings(mode="record", seed="00" * 32)) as folder:
        if broken == "no folder":
            folder.remove()
        elif broken == "torn settings":
            (folder.path / "settings.json").write_text("{")
        else:
            (folder.path / {"no settings": "settings.json", "no page": "page"}[broken]).unlink()
        variables = node_run._variables(folder)
        told = node_run.plain(
            "console.log(Date.now(), String(Math.random));", environment=variables
        )
    assert "native code" in told
    assert int(told.split()[0]) > 1.7e12


def test_a_folder_that_goes_while_the_agent_runs_is_not_missed(node_run: NodeRun) -> None:
    program = (
        "const at = Date.now();\nstep();\nconsole.log(new Date() - at < 60000, Math.random() < 1);"
    )
    assert node_run.record(program, on_step=RunFolder.remove) == "true true\n"


@pytest.mark.parametrize("major", [22, 24])
def test_the_permission_model_leaves_the_agent_alone(major: int, tmp_path: Path) -> None:
    run = NodeRun(node_or_skip(major), tmp_path)
    options = ("--permission", f"--allow-fs-read={tmp_path}", "--no-warnings")
    told = run.record("console.log(Date.now(), Math.random());", options=options)
    assert int(told.split()[0]) > 1.7e12
    assert run.lines == []


def test_frozen_intrinsics_have_no_places_and_go_by_order(node_run: NodeRun) -> None:
    options = ("--frozen-intrinsics", "--no-warnings")
    program = "console.log(Date.now(), Math.random(), new Date() instanceof Date);"
    told = node_run.same_again(program, options=options)
    assert told.split()[2] == "true"
    assert "s\t1\t-" in node_run.lines


def test_what_cannot_be_changed_is_said(node_run: NodeRun) -> None:
    frozen = node_run.place / "frozen.cjs"
    frozen.write_text("Object.freeze(Math); Object.freeze(Date.prototype);")
    preloads = f"--require {frozen} --require {paths().node_preload}"
    program = "console.log(Date.now() > 1e12, Math.random() < 1);"
    assert node_run.record(program, environment={"NODE_OPTIONS": preloads}) == "true true\n"
    (said,) = [line for line in node_run.lines if line.startswith("missing")]
    assert said.startswith("missing\tclock and random of a Node\tCannot redefine property: ")


def test_a_program_without_a_file_has_places_too(node_run: NodeRun) -> None:
    program = "console.log([eval('Date.now()'), new Function('return Math.random()')()].join())"
    node_run.same_again(f"process.exitCode = 0; {program}")


def test_what_an_agent_does_to_the_builtins_harms_nothing(node_run: NodeRun) -> None:
    program = """
        const crypto = require("crypto"), fs = require("fs"), { hrtime } = process;
        const broken = () => { throw new Error("not yours"); };
        globalThis.Buffer = undefined;
        fs.readSync = fs.writeSync = fs.openSync = fs.readFileSync = fs.mkdirSync = broken;
        crypto.createHmac = crypto.createHash = hrtime.bigint = broken;
        Error.captureStackTrace = Error.prepareStackTrace = broken;
        Error.stackTraceLimit = 0;
        console.log(Date.now(), Math.random(), crypto.randomUUID(), crypto.randomInt(99));
        const folder = fs.mkdtempSync("x-");
        fs.rmdirSync(folder);
        console.log(folder, Error.stackTraceLimit, Error.prepareStackTrace === broken);
    """
    told = node_run.same_again(program)
    assert told.split()[-2:] == ["0", "true"]


def test_a_work_folder_that_is_gone_harms_nothing(node_run: NodeRun) -> None:
    gone = node_run.place / "gone"
    child = "const at = Date.now(); console.log(at > 1e12);"
    program = f"""
        const fs = require("fs"), {{ execFileSync }} = require("child_process");
        fs.mkdirSync({str(gone)!r});
        const go = 'cd {gone} && rmdir {gone} && exec "$0" -e "{child}"';
        process.stdout.write(execFileSync("sh", ["-c", go, process.execPath]));
    """
    node_run.record(program)
    assert len(node_run.logs) == 2


def test_deep_recursion_ends_as_ever(node_run: NodeRun) -> None:
    program = """
        let deepest = 0;
        const down = (n) => { deepest = n; Math.random(); new Date(); down(n + 1); };
        try { down(0); } catch (error) { console.log(error instanceof RangeError, deepest > 1000); }
    """
    assert node_run.record(program) == "true true\n"
