"""References: stable, keyed, and spelled so that clients can carry them."""

from hypothesis import given
from hypothesis import strategies as st

from rerail.redact.reference import PLACEHOLDER, References, from_wire, text_to_wire, to_wire


def test_the_form_is_the_one_the_tape_promises() -> None:
    made = References(b"k" * 32).of(b"X-Api-Key", b"secret").decode()
    assert made.startswith("⟦redacted:x-api-key:")
    assert made.endswith("⟧")
    assert PLACEHOLDER.compiled.fullmatch(made.encode())


def test_the_same_secret_has_the_same_digits_wherever_it_stands() -> None:
    references = References(b"k" * 32)
    one, two = references.of(b"cookie", b"secret"), references.of(b"key", b"secret")
    assert one.split(b":")[2] == two.split(b":")[2]
    assert one == References(b"k" * 32).of(b"cookie", b"secret")


def test_another_key_gives_other_digits() -> None:
    assert References(b"a").of(b"x", b"secret") != References(b"b").of(b"x", b"secret")


def test_a_placeholder_is_not_hashed_again() -> None:
    references = References(b"k")
    made = references.of(b"cookie", b"secret")
    assert references.of(b"authorization", made) == made


def test_a_placeholder_comes_back_from_the_wire_as_it_was() -> None:
    made = References(b"k").of(b"cookie", b"secret")
    head = b"HTTP/1.1 200 OK\r\nSet-Cookie: a=" + made + b"; Path=/\r\n\r\n"
    assert to_wire(head).isascii()
    assert from_wire(to_wire(head)) == head


def test_an_argument_that_is_run_again_can_stand_in_a_header() -> None:
    made = References(b"k").of(b"api-key", b"secret").decode()
    assert text_to_wire(f"--api-key={made}").isascii()
    assert text_to_wire("caf\udce9 ⟦other⟧") == "caf\udce9 ⟦other⟧"


def test_what_is_remembered_stays_bounded() -> None:
    references = References(b"k")
    made = {references.of(b"x", b"%d" % number) for number in range(3000)}
    assert len(made) == 3000
    assert len(references._made) <= 1024


@given(st.binary(), st.binary())
def test_any_name_and_secret_give_a_well_formed_reference(what: bytes, secret: bytes) -> None:
    assert PLACEHOLDER.compiled.fullmatch(References(b"k").of(what, secret))


@given(st.binary())
def test_other_bytes_are_spelled_the_same_on_the_wire(content: bytes) -> None:
    assert to_wire(content) == content
