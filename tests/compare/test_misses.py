"""What a miss says, and which paths are alike."""

import pytest

from rerail.compare.misses import path_template


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
