"""A word is asked for, and waited for, wherever it comes from."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rerail.errors import UsageProblem
from rerail.holds import Approval, Holds
from rerail.task.account import Account
from rerail.task.approval import Question, ask, decide
from rerail.task.contract import Contract
from rerail.task.trees import Proposed


class Typing:
    """Somebody at the terminal; `meanwhile` happens while they type."""

    def __init__(self, word: bool | None, meanwhile: Callable[[Approval], None]) -> None:
        self._word = word
        self._meanwhile = meanwhile
        self.shown: list[Approval] = []

    def asked(self, approval: Approval) -> None:
        self.shown.append(approval)

    def word(self, seconds: float, *, heard: bool) -> bool | None:
        assert heard
        self._meanwhile(self.shown[0])
        return self._word


@pytest.fixture
def holds(tmp_path: Path) -> Iterator[Holds]:
    with Holds(tmp_path / "holds.sqlite") as opened:
        yield opened


@pytest.fixture
def question(
    contract: Callable[..., Contract], proposed: Proposed, tmp_path: Path
) -> Callable[..., Question]:
    def made(**approval: object) -> Question:
        terms = contract(approval=approval)
        return Question(terms, tmp_path, proposed, "RUN-1", tmp_path / "account.tape")

    return made


@pytest.mark.parametrize(("word", "state"), [(True, "granted"), (False, "refused")])
def test_the_word_at_the_terminal_decides(
    word: bool, state: str, account: Account, holds: Holds, question: Callable[..., Question]
) -> None:
    decided = ask(account, holds, question(), Typing(word, lambda _: None))
    assert (decided.state, decided.how) == (state, "terminal")


def test_a_word_from_elsewhere_while_a_person_types_is_the_one_that_holds(
    account: Account, holds: Holds, question: Callable[..., Question]
) -> None:
    def granted(approval: Approval) -> None:
        decide(holds, approval, grant=True, how="command", reason="seen")

    decided = ask(account, holds, question(), Typing(False, granted))
    assert (decided.state, decided.how) == ("granted", "command")


def test_a_word_that_comes_too_late_decides_nothing(
    account: Account, holds: Holds, question: Callable[..., Question]
) -> None:
    person = Typing(True, lambda approval: wait_until_over(approval))
    assert ask(account, holds, question(ttl="50ms"), person).state == "waiting"


def wait_until_over(approval: Approval) -> None:
    from rerail.clock import wall_ns

    while wall_ns() < approval.expires:
        pass


def test_a_second_word_is_told_what_the_first_was(
    account: Account, holds: Holds, question: Callable[..., Question]
) -> None:
    asked = ask(account, holds, question(), None)
    decide(holds, asked, grant=False, how="command", reason="")
    with pytest.raises(UsageProblem, match="is refused already"):
        decide(holds, asked, grant=True, how="command", reason="")


def test_a_grant_is_taken_back_by_command_until_it_is_used(
    account: Account, holds: Holds, question: Callable[..., Question]
) -> None:
    asked = ask(account, holds, question(), None)
    decide(holds, asked, grant=True, how="command", reason="")
    decide(holds, asked, grant=False, how="command", reason="too early")
    found = holds.approval(asked.id)
    assert found is not None
    assert (found.state, found.reason) == ("refused", "too early")


def test_without_anybody_to_ask_it_waits(
    account: Account, holds: Holds, question: Callable[..., Question]
) -> None:
    asked = ask(account, holds, question(), None)
    assert asked.state == "waiting"
    assert asked.summary == "M a.txt"
