"""What happened in a replay, written down."""

from rerail.playback.ledger import Ledger


def test_requests_are_numbered_and_told_by_how_they_were_answered() -> None:
    ledger = Ledger()
    for how in ("exact", "refused", "exact"):
        ledger.answered[ledger.next_request()] = how  # type: ignore[assignment]
    assert ledger.requests == 3
    assert ledger.numbers("exact") == [1, 3]
    assert ledger.numbers("live") == []
