"""Whether a tape was recorded here: what a replay may run by itself. Pure; the key is given.

A replay runs the command that its tape names, in the folder and with the variables it names: of a
stranger's tape that would be a stranger's program. So whoever records leaves a keyed hash over
these in the first event, and only who has the key (the user, on the machine) can make one. The
program may be one of the recorded files: so each snapshot has such a hash too. They say nothing of
the rest of the tape: see `seal` for that.
"""

import hashlib
import hmac

import msgspec

from rerail.tape.codec import decode, encode
from rerail.tape.records import Event, RunStarted, WorkspaceSnapshot


def witness(key: bytes, event: RunStarted) -> bytes:
    """The keyed hash (HMAC-SHA-256) over what a replay of this run would run."""
    read = _as_read(event)
    assert isinstance(read, RunStarted)
    said: list[object] = [read.run_id, read.argv, read.cwd, sorted(read.environment.items())]
    if read.stray:
        said.append(True)
    return hmac.digest(key, msgspec.msgpack.encode(said), "sha256")


def recorded_here(key: bytes, run: RunStarted) -> bool:
    """Whether this run's first event was made with `key`."""
    return hmac.compare_digest(run.witness, witness(key, run))


def files_witness(key: bytes, run_id: str, snapshot: WorkspaceSnapshot) -> bytes:
    """The same over the files of a snapshot, and where they were."""
    folder = snapshot.folder.encode("utf-8", "backslashreplace").decode()
    said = ["files", run_id, folder, snapshot.tree]
    return hmac.digest(key, msgspec.msgpack.encode(said), "sha256")


def files_recorded_here(key: bytes, run: RunStarted, snapshot: WorkspaceSnapshot) -> bool:
    """Whether a snapshot of this run was made with `key`."""
    return hmac.compare_digest(snapshot.witness, files_witness(key, run.run_id, snapshot))


def witness_key(secret: bytes) -> bytes:
    """The key that belongs to a secret of the user, which may be used for other things too."""
    return hashlib.sha256(b"rerail witness\0" + secret).digest()


def _as_read(event: RunStarted) -> Event:
    """Text that is no Unicode comes back from a tape spelled out."""
    return decode(encode(event, 1))
