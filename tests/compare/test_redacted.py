"""Redacted values as typed wildcards."""

from rerail.compare.redacted import Correspondence, blank_bytes, blank_text, blank_value


def test_the_hash_is_taken_out_and_the_kind_stays() -> None:
    assert blank_text("key=⟦redacted:key:0123456789ab⟧&b=⟦redacted:sig:ffffffffffff⟧") == (
        "key=⟦redacted:key⟧&b=⟦redacted:sig⟧",
        ("key:0123456789ab", "sig:ffffffffffff"),
    )


def test_a_percent_encoded_placeholder_is_the_same_placeholder() -> None:
    assert blank_text("k=%E2%9F%A6redacted%3Akey%3A0123456789ab%E2%9F%A7") == (
        "k=⟦redacted:key⟧",
        ("key:0123456789ab",),
    )


def test_text_that_only_talks_of_redaction_stays() -> None:
    assert blank_text("it was redacted: see [redacted:x:y]") == (
        "it was redacted: see [redacted:x:y]",
        (),
    )


def test_bytes_that_are_no_utf8_keep_what_they_are() -> None:
    content = b"\xff\xfe" + "⟦redacted:a:00⟧".encode() + b"\x80"
    assert blank_bytes(content) == (b"\xff\xfe" + "⟦redacted:a⟧".encode() + b"\x80", ("a:00",))


def test_references_in_a_value_come_in_the_order_of_sorted_keys() -> None:
    value, references = blank_value(
        {"b": "⟦redacted:k:bb⟧", "a": ["x", "⟦redacted:k:aa⟧ and ⟦redacted:k:cc⟧"]}
    )
    assert value == {"b": "⟦redacted:k⟧", "a": ["x", "⟦redacted:k⟧ and ⟦redacted:k⟧"]}
    assert set(references) == {"k:aa", "k:bb", "k:cc"}
    again = blank_value({"a": ["x", "⟦redacted:k:aa⟧ and ⟦redacted:k:cc⟧"], "b": "⟦redacted:k:bb⟧"})
    assert again == (value, references)


def test_one_reference_stands_for_one_other_through_the_run() -> None:
    run = Correspondence()
    assert run.allows(("k:1",), ("k:9",))
    run.adopt(("k:1",), ("k:9",))
    assert run.allows(("k:1", "k:2"), ("k:9", "k:8"))
    assert not run.allows(("k:1",), ("k:8",))
    assert not run.allows(("k:2",), ("k:9",))
    assert not run.allows(("k:2",), ())


def test_within_one_request_too() -> None:
    run = Correspondence()
    assert not run.allows(("k:1", "k:1"), ("k:8", "k:9"))
    assert not run.allows(("k:1", "k:2"), ("k:9", "k:9"))
    assert run.allows(("k:1", "k:2", "k:1"), ("k:8", "k:9", "k:8"))


def test_a_reference_that_was_played_back_stands_for_itself() -> None:
    run = Correspondence()
    run.adopt(("sig:1",), ("sig:9",))
    assert run.allows(("sig:1",), ("sig:1",))
    run.adopt(("sig:1",), ("sig:1",))
    assert run.allows(("sig:1", "sig:1"), ("sig:1", "sig:9"))
    assert not run.allows(("sig:1",), ("sig:8",))
