from rerail.trace.detect.ranking import candidates
from rerail.trace.finding import Evidence, Finding, Tier


def finding(detector: str, order: int, tier: Tier = "linkage", **more: object) -> Finding:
    here = (Evidence("run", f"message {order}"),)
    return Finding(detector, "agent", tier, "", here, order, **more)  # type: ignore[arg-type]


def test_places_of_which_more_detectors_speak_come_first() -> None:
    found = [finding("a", 3), finding("a", 9), finding("b", 9), finding("c", 1, "context")]
    assert [place.order for place in candidates(found)] == [9, 3, 1]
    assert candidates(found)[0].detectors == 2


def test_a_missing_record_blames_nobody() -> None:
    found = [finding("a", 1, missing=True), finding("b", 5)]
    assert [place.order for place in candidates(found)] == [5, 1]


def test_one_detector_that_speaks_twice_of_a_place_is_one() -> None:
    found = [finding("a", 9), finding("a", 9), finding("a", 4)]
    assert [place.order for place in candidates(found)] == [4, 9]


def test_what_contradicts_speaks_for_its_place() -> None:
    found = [finding("a", 1), finding("b", 1, contradicts="the rule"), finding("c", 1, "context")]
    (place,) = candidates(found)
    assert [one.detector for one in place.findings] == ["b", "a", "c"]


def test_nothing_found_is_no_place() -> None:
    assert candidates([]) == []
