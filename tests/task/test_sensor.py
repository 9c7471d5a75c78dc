"""The version of what was read is what it says itself, and nobody's guess."""

import pytest

from rerail.task.sensor import version_in

CASES = [
    (b'{"version": "4"}', "a.json", "4"),
    (b'{"version": 4}', "a.json", "4"),
    (b"version: 1.10\nrules: []\n", "a.yaml", "1.10"),
    (b"version: 08\n", "a.yml", "08"),
    (b'{"version": true}', "a.json", ""),
    (b'{"version": [4]}', "a.json", ""),
    (b'{"inner": {"version": "4"}}', "a.json", ""),
    (b"[1]", "a.json", ""),
    (b"{", "a.json", ""),
    (b"\xff\xfe\x00", "a.yaml", ""),
    (b"version: 4\n", "a.txt", ""),
    (b"", "a.json", ""),
    (b"[" * 100_000, "a.json", ""),
]


@pytest.mark.parametrize(("content", "path", "version"), CASES, ids=range(len(CASES)))
def test_a_document_says_its_version_at_its_top(content: bytes, path: str, version: str) -> None:
    assert version_in(content, path) == version
