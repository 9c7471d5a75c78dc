"""What a miss says, and which paths are alike."""

from types import SimpleNamespace

import pytest

from rerail.compare.divergence import differences
from rerail.compare.misses import Miss, explain, path_template
from rerail.compare.volatile import Rules


@pytest.mark.parametrize(
    ("path", "template"),
    [
        ("/v1/chat/completions", "/v1/chat/completions"),
        ("/orders/1841", "/orders/{}"),
        ("/runs/0198f0c2-aaaa-7000-8000-000000000001/steps/3", "/runs/{}/steps/{}"),
        ("/blobs/deadbeefcafe", "/blobs/{}"),
        ("/files/file-AbC123xyz456QQ78", "/files/{}"),
        ("/a-very-long-segment-of-words/x", "/a-very-long-segment-of-words/x"),
        ("/v1beta/models/gemini:generateContent", "/v1beta/models/gemini:generateContent"),
    ],
)
def test_identifiers_in_a_path_are_told_from_words(path: str, template: str) -> None:
    assert path_template(path) == template


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        (["a"], "a differs from the nearest recorded request, r1"),
        (["a", "b"], "a and 1 more place differ from the nearest recorded request, r1"),
        (["a", "b", "c"], "a and 2 more places differ from the nearest recorded request, r1"),
    ],
)
def test_how_many_places_differ_is_said(
    make: SimpleNamespace, fields: list[str], text: str
) -> None:
    recorded = make.recorded(1, make.request(dict.fromkeys("abc", 1)))
    request = make.request(dict.fromkeys("abc", 1) | dict.fromkeys(fields, 2))
    found = tuple(differences(recorded.whole(), request, Rules()))
    assert explain(Miss("different", request, recorded, found)) == text
