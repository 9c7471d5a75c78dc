"""YAML as people mean it: every scalar is the text that stands there. Knows no contract.

YAML's own guesses are not made: `version: 1.10` is not the number 1.1, `no` is not false. What a
field is to be, its type says later. Only a document with fields of any type, in which 1.0 must be a
number, is read with them (`typed`). A key that stands twice is an error, not the last one.
"""

from typing import Any, Final

import yaml

from rerail.errors import UsageProblem

DOCUMENT_SIZE: Final = 1 << 20
"""Bytes of one document at most."""

_NODES: Final = 100_000
"""Values of one document at most, each counted as often as an alias repeats it."""


class _Loader(yaml.BaseLoader):
    """The loader whose scalars are all text."""


class _TypedLoader(yaml.SafeLoader):
    """The loader that makes YAML's own numbers, truth values and nothing."""


def _twice(key: yaml.Node) -> yaml.constructor.ConstructorError:
    return yaml.constructor.ConstructorError(
        None, None, f"the key `{key.value}` stands there twice", key.start_mark
    )


def _typed_mapping(loader: _TypedLoader, node: yaml.MappingNode) -> dict[Any, Any]:
    seen = set()
    for key, _ in node.value:
        if isinstance(key, yaml.ScalarNode):
            if key.value in seen:
                raise _twice(key)
            seen.add(key.value)
    return loader.construct_mapping(node, deep=True)


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, str):
            raise yaml.constructor.ConstructorError(
                None, None, "a key is not a text", key_node.start_mark
            )
        if key in found:
            raise _twice(key_node)
        found[key] = loader.construct_object(value_node, deep=True)
    return found


_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)
_TypedLoader.add_constructor("tag:yaml.org,2002:map", _typed_mapping)


def read_yaml(content: bytes, name: str, *, typed: bool = False) -> Any:
    """The one document in `content`: mappings, lists and texts. `name` is for the complaint.

    Raises UsageProblem with the line where it cannot be read.
    """
    if len(content) > DOCUMENT_SIZE:
        what = f"{name} is larger than {DOCUMENT_SIZE >> 20} MiB"
        raise UsageProblem(what, hint="it should name large files, not hold them")
    try:
        loader = (_TypedLoader if typed else _Loader)(content)
        try:
            node = loader.get_single_node()
            if node is None:
                return None
            _values(node, {})
            return loader.construct_document(node)
        finally:
            loader.dispose()
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise UsageProblem(
            f"{name} cannot be read as YAML: {_said(error)}", hint="mend that line"
        ) from error


def _values(node: yaml.Node, counted: dict[yaml.Node, int]) -> int:
    """How many values a node comes to, aliases written out: a few lines can say a billion."""
    if node not in counted:
        counted[node] = _NODES  # while it is counted: one that holds itself has no end
        inner: list[yaml.Node] = []
        if isinstance(node, yaml.MappingNode):
            inner = [one for pair in node.value for one in pair]
        elif isinstance(node, yaml.SequenceNode):
            inner = node.value
        counted[node] = 1 + sum(_values(one, counted) for one in inner)
    if counted[node] > _NODES:
        raise yaml.constructor.ConstructorError(
            None, None, "it says more than can be meant, by its aliases", node.start_mark
        )
    return counted[node]


def _said(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
    return f"line {mark.line + 1}: {problem}" if mark else problem
