"""The compiler's own trees: comments, literals, assertions, as the compiler has them."""

import re
from collections.abc import Iterator

import pytest

from rerail.tools.typescript import TypeScript
from rerail.tools.typescript_inspect import Inspection
from rerail.tools.typescript_tree import FORM, Kind, UnknownForm, decode
from tests.typescript import typescript_or_skip

LOOSE = 'Object.getOwnPropertyDescriptor(globalThis, "x")'
ANY = 'PropertyDescriptor["value"]'
CONFIG = (
    '{"compilerOptions": {"strict": true, "target": "es2022", "module": "esnext", "types": []},'
    ' "include": ["*.ts"]}'
)


@pytest.fixture(scope="module")
def typescript() -> Iterator[TypeScript]:
    with TypeScript(typescript_or_skip()) as tool:
        yield tool


def looked_into(typescript: TypeScript, text: str) -> Inspection:
    return typescript.inspect({"tsconfig.json": CONFIG, "a.ts": text})["a.ts"]


def test_comments_are_those_of_the_compiler(typescript: TypeScript) -> None:
    text = r"""/* é 𝄞 one */ const a = "// no 𝄞"; // two
const b = `/* no */ ${/* three */ a} // no`;
const c = /\/\/ no/.test(a); /* four
over lines */
const d = a.length / 2 / 3;"""
    comments = looked_into(typescript, text).tree.comments
    assert comments == (
        "/* é \ud834\udd1e one */",
        "// two",
        "/* three */",
        "/* four\nover lines */",
    )


def test_nodes_have_their_own_text(typescript: TypeScript) -> None:
    tree = looked_into(
        typescript, "const 𝄞 = 1;\n/** 𝄞 */ const b: any = <string>(x as unknown);"
    ).tree
    found = {
        Kind(node.kind).name: tree.source(node)
        for node in tree.nodes
        if node.kind in (Kind.ANY, Kind.AS, Kind.ANGLE_ASSERTION)
    }
    assert found == {
        "ANY": "any",
        "ANGLE_ASSERTION": "<string>(x as unknown)",
        "AS": "x as unknown",
    }


def test_exports_are_those_that_others_can_import(typescript: TypeScript) -> None:
    text = """export const a = 1; const hidden = 2; export { hidden as seen };
export default function f() {} export interface I {} export type T = I; export enum E { x }"""
    assert looked_into(typescript, text).exports == {"a", "seen", "default", "I", "T", "E"}


def test_what_is_imported_is_told_as_it_is_written(typescript: TypeScript) -> None:
    text = """import "./side.js"; import type { A } from './a.js' with { type: "json" };
export * from "node:fs"; export { b } from "#b"; import c = require("c"); export const d = "./d.js";
import(`./plain.js`); import(d); import("./e" + ".js"); const f = () => "./f.js"; f("./g.js");"""
    imported = list(looked_into(typescript, text).tree.imported)
    assert imported == ["./side.js", "./a.js", "node:fs", "#b", "c", "./plain.js", None, None]


def test_a_script_exports_nothing(typescript: TypeScript) -> None:
    assert looked_into(typescript, "const a = 1;").exports == frozenset()


@pytest.mark.parametrize(
    ("text", "any_typed"),
    [
        ("const a = JSON.parse('1');", ["a = JSON.parse('1')", "JSON.parse('1')"]),
        ("let a: ReturnType<typeof JSON.parse>;", 2),
        ("eval('1');", ["eval('1')"]),
        ("const [a] = JSON.parse('1');", ["JSON.parse('1')", "a"]),
        (f"const a: string = {LOOSE}?.value;", [f"{LOOSE}?.value"]),
        ("class A { p = JSON.parse('1') }", ["p = JSON.parse('1')", "JSON.parse('1')"]),
        (f"class A {{ p: {ANY} }} const a: string = new A().p;", [f"p: {ANY}", ANY, "new A().p"]),
        (f"const a: {ANY}[] = []; const b: string = a[0];", [ANY, "a[0]"]),
        (f"const a: {ANY}[] = []; for (const b of a) `${{b}}`;", [ANY, "b"]),
        ("const a: { b: string }['b'] = ''; a.length;", []),
        ("const a = 'x'; const b: string = await import(a); export {};", ["await import(a)"]),
        ("const f = (x: string) => x.length; f('any');", []),
        ("const [a = '', b = ''] = 'x'.split(''); const { length } = a;", []),
        ("try { } catch (e) { }", []),
        ("let a; a = 1; const b: number = a;", []),
        ("const list = []; list.push(1); for (const each of list) each.toFixed();", []),
    ],
)
def test_what_is_any_without_saying_so(
    typescript: TypeScript, text: str, any_typed: list[str] | int
) -> None:
    found = looked_into(typescript, text)
    sources = [found.tree.source(node) for node in found.any_typed]
    if isinstance(any_typed, int):
        assert len(sources) == any_typed
    else:
        assert sorted(sources) == sorted(any_typed)


def test_the_kinds_are_numbered_as_the_compiler_numbers_them() -> None:
    program = typescript_or_skip()
    package = program.path.parents[3] / "typescript" / "dist"
    if not package.is_dir():
        pytest.skip("the compiler's JavaScript package is not beside it")
    enum = (package / "enums" / "syntaxKind.enum.js").read_text()
    numbers = {name: int(value) for name, value in re.findall(r'\["(\w+)"\] = (\d+)\]', enum)}
    names = {
        Kind.STRING: "StringLiteral",
        Kind.JSX_TEXT: "JsxText",
        Kind.REGULAR_EXPRESSION: "RegularExpressionLiteral",
        Kind.PLAIN_TEMPLATE: "NoSubstitutionTemplateLiteral",
        Kind.EXCLAMATION: "ExclamationToken",
        Kind.IMPORT: "ImportKeyword",
        Kind.ANY: "AnyKeyword",
        Kind.DECLARE: "DeclareKeyword",
        Kind.OBJECT_PATTERN: "ObjectBindingPattern",
        Kind.ARRAY_PATTERN: "ArrayBindingPattern",
        Kind.PROPERTY_ACCESS: "PropertyAccessExpression",
        Kind.ELEMENT_ACCESS: "ElementAccessExpression",
        Kind.CALL: "CallExpression",
        Kind.NEW: "NewExpression",
        Kind.TAGGED_TEMPLATE: "TaggedTemplateExpression",
        Kind.ANGLE_ASSERTION: "TypeAssertionExpression",
        Kind.AWAIT: "AwaitExpression",
        Kind.FOR_IN: "ForInStatement",
        Kind.FOR_OF: "ForOfStatement",
        Kind.MODULE_REFERENCE: "ExternalModuleReference",
        Kind.AS: "AsExpression",
        Kind.NON_NULL: "NonNullExpression",
    }
    for kind in Kind:
        name = names.get(kind, kind.name.title().replace("_", ""))
        assert numbers[name] == kind, name
    protocol = (package / "api" / "node" / "protocol.js").read_text()
    assert f"PROTOCOL_VERSION = {FORM};" in protocol


@pytest.mark.parametrize(
    "data", [b"", b"\0" * 44, bytes([0, 0, 0, FORM]), b"\0\0\0\x04" + b"\0" * 80]
)
def test_another_form_is_refused(data: bytes) -> None:
    with pytest.raises(UnknownForm):
        decode(data, "a.ts")
