"""The kept compiler says what the cold one says, over every kind of change."""

import json
import os
import random
import re
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from rerail.errors import ToolFailed, UsageProblem
from rerail.experiment.tasks.task import tasks
from rerail.tools import typescript_cold
from rerail.tools.kept import Files
from rerail.tools.typescript import TypeScript
from tests.tools.edits import Edits
from tests.typescript import typescript_or_skip

CONFIG = json.dumps(
    {
        "compilerOptions": {
            "strict": True,
            "target": "es2022",
            "lib": ["es2022"],
            "types": [],
            "noEmit": True,
        },
        "include": ["src"],
    }
)
FILES = {
    "tsconfig.json": CONFIG,
    "src/a.ts": "export const a: number = 1;\n",
    "src/b.ts": 'import { a } from "./a";\nexport const b: string = a;\n',
}


@pytest.fixture(scope="module")
def typescript() -> Iterator[TypeScript]:
    with TypeScript(typescript_or_skip()) as tool:
        yield tool


def codes(typescript: TypeScript, files: Files) -> list[str]:
    found = typescript.both(files)
    assert found.mismatch is None, found.mismatch.what
    return [each.code for each in found.kept.errors]


def with_options(**options: object) -> dict[str, str]:
    config = json.loads(CONFIG)
    config["compilerOptions"] |= options
    return {**FILES, "tsconfig.json": json.dumps(config)}


def test_errors_follow_the_contents(typescript: TypeScript) -> None:
    assert codes(typescript, FILES) == ["TS2322"]
    assert codes(typescript, {**FILES, "src/a.ts": "export const a = 'x';\n"}) == []
    assert codes(typescript, FILES) == ["TS2322"]


def test_a_message_has_what_is_behind_it(typescript: TypeScript) -> None:
    text = "export const q: Promise<{ a: { b: number } }> = (async () => ({ a: { b: 's' } }))();\n"
    (error,) = typescript.check({**FILES, "src/b.ts": text}).errors
    assert (
        error.message.splitlines()[-1] == "      Type 'string' is not assignable to type 'number'."
    )
    assert codes(typescript, {**FILES, "src/b.ts": text}) == ["TS2322"]


def test_columns_are_counted_alike(typescript: TypeScript) -> None:
    text = "\ufeff/* 𝄞 é */ export const b: string = /* 𝄞 */ 1;\r\n"
    text += "export const c: string = 2;\u2028let d: string = 3;\r"
    assert codes(typescript, {**FILES, "src/b.ts": text}) == ["TS2322"] * 3


def test_what_does_not_parse_is_told_alone_as_the_compiler_does(typescript: TypeScript) -> None:
    assert codes(typescript, {**FILES, "src/a.ts": "export const a = ;\n"}) == ["TS1109"]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (with_options(bogus=1), ["TS5023", "TS2322"]),
        (with_options(module=3), ["TS5024", "TS2322"]),
        (with_options(noLib=True), ["TS2318"] * 8),
        (with_options(types=["nothing"]), ["TS2688"]),
        (with_options(allowImportingTsExtensions=True, noEmit=False), ["TS5096"]),
        ({**FILES, "tsconfig.json": CONFIG[:-1]}, ["TS2322", "TS1005"]),
        ({**FILES, "tsconfig.json": '{"include": ["nowhere"]}'}, ["TS18003"]),
        ({**FILES, "tsconfig.json": '{"extends": "./nothing.json"}'}, ["TS5083"]),
        ({**FILES, "tsconfig.json": ""}, []),
        ({path: FILES[path] for path in FILES if path != "tsconfig.json"}, ["TS5081"]),
    ],
)
def test_errors_of_no_file_are_told_too(
    typescript: TypeScript, files: Files, expected: list[str]
) -> None:
    found = codes(typescript, files)
    if expected:
        assert set(expected) <= set(found)
    assert codes(typescript, FILES) == ["TS2322"]


@pytest.mark.parametrize("contained", [True, False])
def test_a_configuration_cannot_make_it_write_elsewhere(
    typescript: TypeScript, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, contained: bool
) -> None:
    if not contained:
        monkeypatch.setattr(typescript_cold, "WRITE_RULES", object())
    for option in ("outDir", "declarationDir", "tsBuildInfoFile"):
        place = str(tmp_path / option)
        writes = {"noEmit": False, "declaration": True, "incremental": True, option: place}
        with suppress(ToolFailed):  # where it cannot write it may even break down
            typescript.cold({**with_options(**writes), "src/b.ts": "export const b = 1;\n"})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "wrong", "told"),
    [
        ({"declaration": True}, False, True),
        ({"declaration": True}, True, True),
        ({"declaration": True, "noEmit": False, "rootDir": "src"}, True, True),
        ({"declaration": True, "noEmitOnError": True}, True, False),
        ({"declaration": True, "noEmitOnError": True}, False, True),
        ({"composite": True}, True, False),
        ({"composite": True}, False, True),
        ({"composite": True, "noEmit": False, "rootDir": "src"}, True, True),
        ({"declaration": True, "incremental": True, "outDir": "out"}, True, False),
        ({}, False, False),
    ],
)
def test_errors_of_declarations_are_told_where_a_compilation_comes_to_them(
    typescript: TypeScript, options: dict[str, object], wrong: bool, told: bool
) -> None:
    files = with_options(**options)
    files["src/a.ts"] = "export const a = class { private x = 1 };\n"
    files["src/b.ts"] = f"export const b: {'string' if wrong else 'number'} = 1;\n"
    found = codes(typescript, files)
    assert ("TS4094" in found, "TS2322" in found) == (told, wrong)


def test_a_compiler_that_is_killed_is_started_anew(typescript: TypeScript) -> None:
    assert codes(typescript, FILES) == ["TS2322"]
    assert typescript._talk is not None
    os.kill(typescript._talk.pid, signal.SIGKILL)
    assert codes(typescript, FILES) == ["TS2322"]


def test_a_compiler_that_is_stopped_is_an_error_within_its_time() -> None:
    with TypeScript(typescript_or_skip()) as tool:
        assert len(tool.check(FILES).errors) == 1
        assert tool._talk is not None
        patient, tool.seconds = tool.seconds, 0.5
        os.kill(tool._talk.pid, signal.SIGSTOP)
        with pytest.raises(ToolFailed, match="in time"):
            tool.check({**FILES, "src/c.ts": "export {};\n"})
        tool.seconds = patient
        assert len(tool.check(FILES).errors) == 1


def test_threads_that_share_a_compiler_get_their_own_answers(typescript: TypeScript) -> None:
    def asked(count: int) -> tuple[int, int]:
        text = "".join(f"export const c{each}: string = {each};\n" for each in range(count))
        files = {**FILES, "src/a.ts": "export const a = '';\n", "src/c.ts": text}
        return count, len(typescript.check(files).errors)

    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(asked, [*range(1, 9)] * 3))
    assert all(count == errors for count, errors in answers)


def test_a_path_that_leads_out_is_refused_and_the_next_check_is_well(
    typescript: TypeScript,
) -> None:
    with pytest.raises(UsageProblem):
        typescript.check({**FILES, "../out.ts": "x"})
    assert codes(typescript, FILES) == ["TS2322"]


def test_only_a_project_can_be_looked_into(typescript: TypeScript) -> None:
    with pytest.raises(UsageProblem):
        typescript.inspect({"src/a.ts": ""})


# 200 random edits, started afresh after every fourth.

EDITS = 200


def option_changed(choose: random.Random, files: dict[str, str]) -> None:
    name = choose.choice(["strict", "noUncheckedIndexedAccess", "noEmit", "exactOptional"])
    value = choose.choice(["true", "false", "3"])
    config = files["tsconfig.json"]
    files["tsconfig.json"] = re.sub(rf'"{name}\w*": \w+', f'"{name}": {value}', config, count=1)


def kind_of(codes: set[str]) -> str:
    """Where the syntax is wrong the compiler says nothing else: codes of four digits from 1000."""
    if not codes:
        return "nothing"
    return "syntax" if any(len(code) == 6 and code < "TS2" for code in codes) else "meaning"


@pytest.mark.timeout(300)
def test_kept_and_cold_agree_over_random_edits(typescript: TypeScript) -> None:
    edits = Edits(
        ending=".ts",
        words=("string", "number", "any", "unknown", "undefined", "x", "await", "readonly"),
        lines=(
            "export const more: string = 1;\n",
            'import { nothing } from "./nothing.js";\n',
            "// @ts-expect-error\nexport const fine = 1;\n",
            "/* é𝄞 */ export const tail: number[] = ['𝄞'];\n",
            "declare global { interface Array<T> { mine: T } }\n",
        ),
        seed=20261129,
        more=(option_changed,),
    )
    files: dict[str, str] = {}
    kinds = {"nothing": 0, "syntax": 0, "meaning": 0}
    codes: set[str] = set()
    for number in range(EDITS):
        if number % 4 == 0:
            task = edits.choose.choice(tasks())
            files = dict(edits.choose.choice([task.start_files, task.repair_files]))
        edits.edit(files)
        found = typescript.both(files)
        assert found.mismatch is None, f"edit {number}: {found.mismatch.what}"
        seen = {each.code for each in found.cold.errors}
        kinds[kind_of(seen)] += 1
        codes |= seen
    assert min(kinds.values()) >= EDITS // 20, kinds
    assert len(codes) >= 20, codes
