from rerail.llm.view import Message, ToolCall
from rerail.trace.detect.detector import Material
from rerail.trace.detect.detectors import detect
from tests.trace.detect.stories import calls, names, reading, says, story, told, user

LOOK = calls("get_order", "k", order_id="W5512")


def test_a_call_and_what_answers_it() -> None:
    found = reading(user("x"), LOOK, told("here"), says("Done."))
    (call,) = found.calls
    assert (call.asked, call.answered, call.told) == (1, 2, "here")
    assert call.things == {"w5512": "order_id"}
    assert found.answer_of(call) is found.said[2]


def test_a_call_that_is_told_again_before_its_answer_is_one() -> None:
    again = calls("get_order", "k", order_id="W5513")
    (call,) = reading(LOOK, again, told("here")).calls
    assert (call.asked, call.call.arguments) == (1, {"order_id": "W5513"})


def test_one_id_used_for_two_answered_calls_is_two_calls() -> None:
    first, second = reading(LOOK, told("a"), LOOK, told("b")).calls
    assert (first.told, second.told) == ("a", "b")


def test_calls_without_ids_are_answered_in_their_order() -> None:
    both = Message("assistant", (ToolCall("", "a", {}), ToolCall("", "b", {})))
    first, second = reading(both, told("one", ""), told("two", "")).calls
    assert (first.name, first.told, second.name, second.told) == ("a", "one", "b", "two")


def test_an_answer_to_nothing_is_no_call() -> None:
    assert reading(told("here")).calls == ()


def test_the_same_arguments_in_another_order_are_the_same() -> None:
    first, second = reading(calls("f", "a", x=1, y=2), calls("f", "b", y=2, x=1)).calls
    assert first.same == second.same


def test_an_identifier_is_found_however_it_is_parted() -> None:
    found = reading(user("card 7001-1"), says("I use Card 70012."))
    assert found.was_said("card_70011", 1)
    assert found.was_said("card_70012", 2)
    assert not found.was_said("card_70012", 1)


def test_a_check_after_an_edit_may_fail_again() -> None:
    run = calls("run", "a", command="python x.py")
    edit = calls("edit_file", "b", path="x.py")
    failed = told("Error: bad", "a")
    edited = [run, failed, edit, told("ok", "b"), run, failed]
    assert "error-repeated" not in names(detect(Material((story(user("x"), *edited),))))
    assert "error-repeated" in names(
        detect(Material((story(user("x"), run, failed, run, failed),)))
    )


def test_a_file_that_speaks_of_memory_is_no_trouble_of_the_machine() -> None:
    read = [calls("read_file", path="a.py"), told("except MemoryError: pass")]
    assert detect(Material((story(user("x"), *read, says("Done.")),))) == []


def test_an_agents_own_files_need_nobodys_word() -> None:
    found = reading(
        calls("Write", "a", file_path="a.py", content="x"),
        calls("apply_patch", "b", text="*** Begin Patch"),
        calls("cancel_order", "c", order_id="W5512"),
    )
    assert [call.name for call in found.writes] == ["Write", "apply_patch", "cancel_order"]
    assert [call.name for call in found.acts] == ["cancel_order"]
