"""Whose a saved state is, and whether it is as it was saved. Given bytes and a key; loads nothing.

An engine's state is not authenticated by the engine: changed by one byte it may load, and run. So
whoever saves one leaves a keyed hash over it, and over each answer, in the event that names it;
only the user, on the machine, has the key (`rerail.tape.witness`). Until tapes are signed, nobody
else's states can be told from forged ones.
"""

import hashlib
import hmac
from typing import Final

import msgspec

from rerail.errors import TapeAltered, UserError
from rerail.tape.merkle import MerkleTree, leaf_hash
from rerail.tape.reader import Tape
from rerail.tape.script_records import ScriptAnswered, ScriptPaused

_ENCODER: Final = msgspec.msgpack.Encoder()
_OF_OTHERS: Final = (
    "it may have been changed, and states of others cannot be checked before tapes are signed: "
    'trust="script" runs it again from its answers, with your tools; trust="states" loads them'
)


class NotOurs(UserError):
    """A state that this user, on this machine, has not saved."""


def script_key(witness_key: bytes) -> bytes:
    """The key for states and answers, out of the user's key for whole tapes."""
    return hashlib.sha256(b"rerail script\0" + witness_key).digest()


def witness_of_pause(key: bytes, run_id: str, code: bytes, event: ScriptPaused) -> bytes:
    """The keyed hash (HMAC-SHA-256) over a saved state and the place where it was saved.

    `code` is the SHA-256 of the script's text.
    """
    said = ["pause", run_id, code, event.pause, event.token, event.call]
    return _hash(key, [*said, event.arguments.digest, event.state.digest])


def witness_of_answer(key: bytes, run_id: str, code: bytes, event: ScriptAnswered) -> bytes:
    """The same over an answer."""
    said = ["answer", run_id, code, event.pause, event.token, event.raised]
    return _hash(key, [*said, event.answer.digest])


def check_pause(key: bytes, run_id: str, code: bytes, event: ScriptPaused) -> None:
    """Raises NotOurs where the state was not saved with this key."""
    if not hmac.compare_digest(event.witness, witness_of_pause(key, run_id, code, event)):
        raise NotOurs(
            f"the state of pause {event.pause} was not saved by you on this machine",
            hint=_OF_OTHERS,
        )


def check_answer(key: bytes, run_id: str, code: bytes, event: ScriptAnswered) -> None:
    """Raises NotOurs where the answer was not given with this key."""
    if not hmac.compare_digest(event.witness, witness_of_answer(key, run_id, code, event)):
        raise NotOurs(
            f"the answer to pause {event.pause} was not given by you on this machine",
            hint=_OF_OTHERS,
        )


def check_seals(tape: Tape) -> tuple[str, int]:
    """Each seal must be the root over its events: the tape's id, and how many they are.

    Raises TapeAltered.
    """
    seals = {seal.tree_size: seal.root for seal in tape.seals()}
    hint = f"see what is wrong with `rerail verify {tape.path}`"
    tree = MerkleTree()
    for seq, data in tape.stored_events():
        tree.add(leaf_hash(data))
        root = seals.pop(seq, None)
        if root is not None and root != tree.root():
            raise TapeAltered(f"{tape.path}: events up to {seq} are not those sealed", hint=hint)
    if seals:
        raise TapeAltered(f"{tape.path}: sealed events at its end are missing", hint=hint)
    return f"sha256:{tree.root().hex()}", tree.size


def _hash(key: bytes, said: list[object]) -> bytes:
    return hmac.digest(key, _ENCODER.encode(said), "sha256")
