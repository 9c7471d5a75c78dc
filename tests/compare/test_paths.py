"""Paths that people type."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rerail.compare.paths import at_index, at_key, parse_path, places
from rerail.compare.values import show
from rerail.errors import UsageProblem

VALUE = {
    "messages": [{"id": "a", "content": "x"}, {"id": "b", "odd.key": {"id": "c"}}],
    "metadata": {"user_id": "u"},
    "id": "top",
}

LEADS_TO = [
    ("messages[*].id", ["a", "b"]),
    ("$.messages[*].id", ["a", "b"]),
    ("messages[0].id", ["a"]),
    ("messages[-1].id", ["b"]),
    ("messages[7].id", []),
    ("messages.id", []),
    ("metadata.user_id", ["u"]),
    ("metadata.*", ["u"]),
    ("$['metadata']['user_id']", ["u"]),
    ('messages[1]["odd.key"].id', ["c"]),
    ("..id", ["top", "a", "b", "c"]),
    ("messages..id", ["a", "b", "c"]),
    ("nowhere.at.all", []),
]


@pytest.mark.parametrize(("text", "expected"), LEADS_TO)
def test_a_path_leads_to(text: str, expected: list[str]) -> None:
    assert [place.value for place in places(VALUE, parse_path(text))] == expected


@pytest.mark.parametrize(
    "text", ["", "$", "a[", "a[x]", "a]b", "[*", "a..", ".", "a[0]b", "a[*]b", "*"]
)
def test_what_is_no_path_is_said_with_the_grammar(text: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        parse_path(text)
    assert f"`{text}`" in caught.value.what
    assert caught.value.hint
    assert "messages[*].id" in caught.value.hint


@given(st.text(max_size=20))
def test_any_text_is_a_path_or_a_usage_problem(text: str) -> None:
    try:
        places(VALUE, parse_path(text))
    except UsageProblem as problem:
        assert problem.hint


@given(st.text(min_size=1, max_size=12).filter(lambda key: "'" not in key and '"' not in key))
def test_a_written_path_leads_back(key: str) -> None:
    path = at_index(at_key(at_key("", "outer"), key), 0)
    value = {"outer": {key: ["found"]}}
    if key.isprintable() and "\\" not in key:
        assert [show(place.value) for place in places(value, parse_path(path))] == ["found"]
