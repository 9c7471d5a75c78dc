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
        loader = _TypedLoader if typed else _Loader
        return yaml.load(content, loader)  # noqa: S506 - both make nothing but plain values
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise UsageProblem(
            f"{name} cannot be read as YAML: {_said(error)}", hint="mend that line"
        ) from error


def _said(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
    return f"line {mark.line + 1}: {problem}" if mark else problem
