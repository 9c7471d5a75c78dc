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
from msgspec import Struct

from rerail.errors import TapeAltered, UserError
from rerail.tape.merkle import MerkleTree, leaf_hash
from rerail.tape.reader import Tape
from rerail.tape.script_records import ScriptAnswered, ScriptPaused, ScriptStarted

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


class Signer(Struct, frozen=True):
    """Makes and checks keyed hashes (HMAC-SHA-256) for one run of one script.

    `code` is the SHA-256 of the script's text.
    """

    key: bytes
    run_id: str
    code: bytes

    def of_script(self, event: ScriptStarted) -> bytes:
        """Over what the script was given, and its limits."""
        inputs = event.inputs.digest if event.inputs else b""
        return self._hash(["script", inputs, sorted(event.limits.items())])

    def of_pause(self, event: ScriptPaused, told: bytes) -> bytes:
        """Over a saved state, the place where it was saved, and all that led there.

        `told` is the digest of all that the script had been told until then: see `history.Told`.
        """
        said = ["pause", event.pause, event.token, event.call, event.tool, event.calls]
        return self._hash([*said, event.arguments.digest, event.state.digest, told])

    def of_answer(self, event: ScriptAnswered) -> bytes:
        """The same over an answer."""
        said = ["answer", event.pause, event.token, event.raised, event.answer.digest]
        return self._hash(said)

    def check_script(self, event: ScriptStarted) -> None:
        """Raises NotOurs where the run was not begun with this key."""
        if not hmac.compare_digest(event.witness, self.of_script(event)):
            what = "the script, or what it was given, is not as you began it on this machine"
            raise NotOurs(what, hint=_OF_OTHERS)

    def check_pause(self, event: ScriptPaused, told: bytes) -> None:
        """Raises NotOurs where the state was not saved with this key, after just that."""
        if not hmac.compare_digest(event.witness, self.of_pause(event, told)):
            what = f"the state of pause {event.pause}, or what led there, is not"
            raise NotOurs(f"{what} as you saved it on this machine", hint=_OF_OTHERS)

    def check_answer(self, event: ScriptAnswered) -> None:
        """Raises NotOurs where the answer was not given with this key."""
        if not hmac.compare_digest(event.witness, self.of_answer(event)):
            what = f"the answer to pause {event.pause} is not as you gave it on this machine"
            raise NotOurs(what, hint=_OF_OTHERS)

    def _hash(self, said: list[object]) -> bytes:
        return hmac.digest(self.key, _ENCODER.encode([self.run_id, self.code, *said]), "sha256")


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
