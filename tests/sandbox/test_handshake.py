"""What a forked child and its parent tell each other."""

import errno
import socket

import pytest

from rerail.sandbox.handshake import EXEC, ExecFailed, Handshake, LastWordsSaid, SandboxFailed


def test_a_word_that_was_waited_for_is_taken() -> None:
    ours, theirs = Handshake.pair()
    theirs.say(b"u")
    ours.expect(b"u")
    ours.close()
    theirs.close()


def test_silence_means_that_the_command_was_executed() -> None:
    ours, theirs = Handshake.pair()
    theirs.close()
    ours.await_exec()
    ours.close()


def test_a_socket_goes_over_and_is_not_inheritable() -> None:
    ours, theirs = Handshake.pair()
    with socket.create_server(("127.0.0.1", 0)) as server:
        theirs.send_descriptors(server.fileno())
        with socket.socket(fileno=ours.receive_descriptors()[0]) as received:
            assert received.getsockname() == server.getsockname()
            assert not received.get_inheritable()
    ours.close()
    theirs.close()


@pytest.mark.parametrize("waiting", ["expect", "receive_descriptors", "await_exec"])
def test_the_name_of_a_failed_step_arrives(waiting: str) -> None:
    ours, theirs = Handshake.pair()
    with pytest.raises(LastWordsSaid), theirs.step("bring up the loopback interface"):
        raise PermissionError(errno.EPERM, "no")
    theirs.close()
    wait = getattr(ours, waiting)
    with pytest.raises(SandboxFailed, match=r"cannot bring up the loopback interface.*EPERM"):
        wait(b"u") if waiting == "expect" else wait()
    ours.close()


def test_a_command_that_cannot_be_executed_is_an_error_of_the_system() -> None:
    ours, theirs = Handshake.pair()
    with pytest.raises(LastWordsSaid), theirs.step(EXEC):
        raise FileNotFoundError(errno.ENOENT, "no")
    theirs.close()
    with pytest.raises(ExecFailed) as caught:
        ours.await_exec()
    assert caught.value.errno == errno.ENOENT
    ours.close()


def test_a_child_that_says_nothing_more_has_died() -> None:
    ours, theirs = Handshake.pair()
    theirs.close()
    with pytest.raises(SandboxFailed, match="ended before it began"):
        ours.expect(b"u")
    with pytest.raises(SandboxFailed, match="ended before it began"):
        ours.receive_descriptors()
    ours.close()
