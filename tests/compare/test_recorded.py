"""A recorded request as the matcher holds it."""

from types import SimpleNamespace

from rerail.compare.canon import head_key
from rerail.compare.recorded import Entry, Recorded
from rerail.compare.volatile import Rules


def entry(item: Recorded) -> Entry:
    return Entry(0, item, head_key(item.request, Rules()))


def test_a_body_is_read_once_and_not_before_it_is_wanted(make: SimpleNamespace) -> None:
    reads = []
    whole = make.recorded(1, make.request({"a": 1}))

    def load() -> bytes | None:
        reads.append(1)
        return whole.load()

    held = entry(Recorded(1, whole.request, load, 1, 2))
    assert (held.by_value, held.references, reads) == (None, (), [])
    assert held.read(()) is held.read(())
    assert held.by_value is not None
    assert reads == [1]


def test_requests_overlap_where_one_began_before_the_other_ended(make: SimpleNamespace) -> None:
    spans = [(1, 5), (4, 9), (6, 7), (5, 6)]
    first, second, third, after = (
        entry(make.recorded(1, make.request(), started=start, ended=end)) for start, end in spans
    )
    assert first.overlaps(second)
    assert second.overlaps(third)
    assert not first.overlaps(third)
    assert not first.overlaps(after)


def test_the_whole_request_has_the_body_that_was_recorded(make: SimpleNamespace) -> None:
    item = make.recorded(1, make.request({"a": 1}))
    assert item.request.body is None
    assert item.whole() == make.request({"a": 1})
