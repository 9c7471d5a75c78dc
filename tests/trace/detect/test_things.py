import json

from rerail.trace.detect.things import described
from tests.trace.detect.stories import calls, reading, told

CARDS = {"cards": {"card_10001": {"last": "7447"}, "card_10002": {"last": "1907"}}}
LISTED = {"cards": [{"id": "card_10003", "kind": "gold"}, {"id": "card_10004", "kind": "iron"}]}


def test_alternatives_stand_beside_each_other() -> None:
    things = reading(calls("get"), told(json.dumps(CARDS))).things
    among = things.alternatives("card_10001", 2)
    assert among == {"card_10001": frozenset({"7447"}), "card_10002": frozenset({"1907"})}
    assert things.alternatives("card_10001", 1) == {}
    assert things.alternatives("card_99999", 2) == {}


def test_records_in_a_list_name_themselves() -> None:
    things = reading(calls("get"), told(json.dumps(LISTED))).things
    assert set(things.alternatives("card_10003", 2)) == {"card_10003", "card_10004"}
    assert "gold" in things.words("card_10003", 2)


def test_the_last_record_of_a_thing_is_its_own() -> None:
    first = {"order_id": "W5512", "status": "pending"}
    later = {"order_id": "W5512", "status": "sent"}
    other = {"ticket_id": "T1841", "order": {"order_id": "W5512", "status": "odd"}}
    things = reading(
        calls("get", "a"),
        told(json.dumps(first), "a"),
        calls("get", "b"),
        told(json.dumps(later), "b"),
        calls("get", "c"),
        told(json.dumps(other), "c"),
    ).things
    sight = things.record("w5512", "order_id", 4)
    assert sight is not None
    assert sight.record["status"] == "sent"
    assert things.record("w5512", "order_id", 1) is None


def test_what_names_its_field_describes_no_thing() -> None:
    paid = {"cards": CARDS["cards"], "paid": [{"kind": "payment", "payment_id": "card_10001"}]}
    words = reading(calls("get"), told(json.dumps(paid))).things.words("card_10001", 2)
    assert words == frozenset({"7447", "card_10001"})


def test_a_record_that_names_another_thing_first_is_not_its_own() -> None:
    order = {"order_id": "W5512", "customer_id": "C4471"}
    things = reading(calls("get"), told(json.dumps(order))).things
    assert [sight.key for sight in things.own("w5512", 2)] == ["order_id"]
    assert things.own("c4471", 2) == []


def test_what_is_no_json_tells_of_nothing() -> None:
    things = reading(calls("get"), told("W5512 is there")).things
    assert things.known("w5512", 2) == []


def test_truth_values_and_long_texts_describe_nothing() -> None:
    assert described({"a": True, "b": "x" * 100, "c": "x", "d": "gold"}) == frozenset({"gold"})
