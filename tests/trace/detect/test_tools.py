import pytest

from rerail.trace.detect.tools import act_of, does, hands_over, is_write, only_reads


@pytest.mark.parametrize(
    ("name", "writes"),
    [
        ("cancel_order", True),
        ("get_order", False),
        ("updateAddress", True),
        ("SearchOrders", False),
        ("check_and_update", False),
        ("transfer_to_human_agents", False),
        ("transfer_money", True),
        ("think", False),
        ("TodoWrite", False),
        ("update_plan", False),
        ("frobnicate", False),
    ],
)
def test_whether_a_tool_changes_something(name: str, writes: bool) -> None:
    assert is_write(name) is writes


def test_a_name_that_says_nothing_may_change() -> None:
    assert only_reads("search")
    assert not only_reads("frobnicate")


def test_handing_over() -> None:
    assert hands_over("transfer_to_human_agents")
    assert not hands_over("list_agents")


def test_what_a_tool_does_is_a_word_of_its_name() -> None:
    assert act_of("cancel_pending_order") == "cancel"
    assert act_of("get_lamp") == ""
    assert does("cancelOrder", "Cancelled")
    assert does("update_order", "modified")
    assert not does("get_order", "modified")
    assert not does("cancel_order", "painted")
