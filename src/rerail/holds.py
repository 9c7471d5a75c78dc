"""What this machine remembers of runs beyond their tapes: holds, approvals, actions under way.

One SQLite file in the user's state folder, each change on the disk before it is acted on. An
approval is used up in the same transaction that begins an attempt and holds its task: so whatever
dies when, an approval is never used twice and an action never repeated unseen. Each change of an
approval leaves a keyed hash over it: one that the user's key did not make is worth nothing. Knows
no tape.
"""

import hashlib
import hmac
import os
import secrets
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import Final, Literal, Self, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rerail.clock import wall_ns
from rerail.errors import UserError

PATIENCE_SECONDS: Final = 10.0
VERSION: Final = 3

ApprovalState = Literal["waiting", "granted", "refused", "used", "withdrawn"]
AttemptState = Literal["open", "accepted", "rejected", "applied", "not applied", "partly applied"]
WhyNot = Literal[
    "expired",
    "used",
    "other proposal",
    "other target",
    "other contract",
    "other programs",
    "not granted",
    "not yours",
    "unknown",
]

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS hold(
  id TEXT PRIMARY KEY, run_id TEXT NOT NULL, task_id TEXT NOT NULL, reason TEXT NOT NULL,
  placed_by TEXT NOT NULL, placed INTEGER NOT NULL, case_folder TEXT NOT NULL,
  attempt_id TEXT NOT NULL, released INTEGER, released_by TEXT, release_reason TEXT);
CREATE TABLE IF NOT EXISTS approval(
  id TEXT PRIMARY KEY, run_id TEXT NOT NULL, task_id TEXT NOT NULL, tape TEXT NOT NULL,
  proposal TEXT NOT NULL, target TEXT NOT NULL, summary TEXT NOT NULL, expires INTEGER NOT NULL,
  who TEXT NOT NULL, state TEXT NOT NULL, decided_by TEXT NOT NULL, how TEXT NOT NULL,
  reason TEXT NOT NULL, attempt_id TEXT NOT NULL, contract TEXT NOT NULL DEFAULT '',
  programs TEXT NOT NULL DEFAULT '', witness BLOB NOT NULL DEFAULT x'');
CREATE TABLE IF NOT EXISTS attempt(
  id TEXT PRIMARY KEY, run_id TEXT NOT NULL, task_id TEXT NOT NULL, tape TEXT NOT NULL,
  folder TEXT NOT NULL, target TEXT NOT NULL, proposal TEXT NOT NULL, approval_id TEXT NOT NULL,
  begun INTEGER NOT NULL, state TEXT NOT NULL, session INTEGER NOT NULL);
"""

_SINCE_1: Final = "ALTER TABLE approval ADD COLUMN contract TEXT NOT NULL DEFAULT '';"
"""What a file of version 1 lacks: an approval of then holds for no contract."""

_SINCE_2: Final = """
ALTER TABLE approval ADD COLUMN programs TEXT NOT NULL DEFAULT '';
ALTER TABLE approval ADD COLUMN witness BLOB NOT NULL DEFAULT x'';
"""
"""What a file of version 2 lacks: whose an approval of then is, nobody can tell."""

Key = Callable[[], bytes]
"""Gives the user's key for approvals, when it is needed."""

_Row = TypeVar("_Row", bound=Struct)


class StateUnusable(UserError):
    """The file of holds cannot be read or written."""


class NotYours(UserError):
    """An approval that this user, on this machine, has neither asked for nor decided."""


class TaskHeld(UserError):
    """A hold stands on the task: no run of it starts by itself."""


class Hold(Struct, frozen=True):
    """No run of this task starts by itself until it is released. Times are ns since 1970.

    `attempt_id` names the action whose outcome has to be known first, empty for a person's hold.
    """

    id: str
    run_id: str
    task_id: str
    reason: str
    placed_by: str
    placed: int
    case_folder: str = ""
    attempt_id: str = ""
    released: int | None = None
    released_by: str | None = None
    release_reason: str | None = None


class Approval(Struct, frozen=True):
    """What was asked, and what became of it. `proposal` and `contract` are in hexadecimal.

    `programs` are the digests of the files that the contract's commands name, as JSON. `witness` is
    the keyed hash over all the rest.
    """

    id: str
    run_id: str
    task_id: str
    tape: str
    proposal: str
    target: str
    summary: str
    expires: int
    who: str
    state: ApprovalState = "waiting"
    decided_by: str = ""
    how: str = ""
    reason: str = ""
    attempt_id: str = ""
    contract: str = ""
    programs: str = ""
    witness: bytes = b""

    def sealed(self, key: bytes) -> "Approval":
        """The same with its keyed hash."""
        return replace(self, witness=self._hash(key))

    def is_of(self, key: bytes) -> bool:
        """Whether it is as somebody with this key left it."""
        return hmac.compare_digest(self.witness, self._hash(key))

    def _hash(self, key: bytes) -> bytes:
        said = msgspec.msgpack.encode(replace(self, witness=b""))
        return hmac.digest(key, b"rerail approval\0" + said, "sha256")

    @property
    def deciders(self) -> list[str]:
        """The users who may decide; nobody named: whoever can."""
        return self.who.split("\n") if self.who else []


class Attempt(Struct, frozen=True):
    """An action that was sent, or was about to be. `open`: how it ended is not known.

    `session` is that of its command's processes on this machine, 0 before it was started.
    """

    id: str
    run_id: str
    task_id: str
    tape: str
    folder: str
    target: str
    proposal: str
    approval_id: str
    begun: int
    state: AttemptState = "open"
    session: int = 0


def state_folder(environment: Mapping[str, str]) -> Path:
    """`$XDG_STATE_HOME/rerail` (XDG base directories, 0.8)."""
    state = Path(environment.get("XDG_STATE_HOME", ""))
    if not state.is_absolute():
        home = environment.get("HOME") or str(Path.home())
        state = Path(home).absolute() / ".local" / "state"
    return state / "rerail"


def _own_key(environment: Mapping[str, str]) -> bytes:
    """The key for approvals, out of the user's key for whole tapes."""
    from rerail.proxy.certs import Authority, default_folder

    secret = Authority.open_or_create(default_folder(environment)).witness_key
    return hashlib.sha256(b"rerail approval\0" + secret).digest()


def gone_past(
    environment: Mapping[str, str], *, run_id: str, task_id: str, despite: str, hint: str
) -> list[Hold]:
    """The holds that stand on a run and its task, where somebody says why to go on all the same.

    Raises TaskHeld with this hint where one stands and nobody does; StateUnusable.
    """
    holds = Holds.open_if_there(environment)
    if holds is None:
        return []
    with holds:
        standing = holds.on(run_id=run_id, task_id=task_id)
    if standing and not despite:
        raise _held(standing[0], hint)
    return standing


def _held(hold: Hold, hint: str) -> TaskHeld:
    named = hold.task_id or hold.run_id
    return TaskHeld(f"{named} is held on this machine ({hold.id}): {hold.reason}", hint=hint)


def new_id(kind: str) -> str:
    """A name that nobody else has: `A-…` an approval, `T-…` an attempt, `H-…` a hold."""
    return f"{kind}-{secrets.token_hex(5)}"


class Holds:
    """The file, open. Use it in a `with` block, in one thread at a time."""

    def __init__(self, path: Path, key: Key = bytes) -> None:
        self._path = path
        self._key = key
        with self._saying("opened"):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.parent.chmod(0o700)
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            self._connection = sqlite3.connect(
                path, timeout=PATIENCE_SECONDS, isolation_level=None, check_same_thread=False
            )
            self._connection.execute("PRAGMA trusted_schema = OFF")
            self._connection.execute("PRAGMA synchronous = FULL")
            self._prepare()

    @classmethod
    def open(cls, environment: Mapping[str, str]) -> Self:
        """Open the user's. Raises StateUnusable."""
        return cls(state_folder(environment) / "holds.sqlite", partial(_own_key, environment))

    @classmethod
    def open_if_there(cls, environment: Mapping[str, str]) -> Self | None:
        """The same, None where nothing was ever held: then nothing is made either."""
        path = state_folder(environment) / "holds.sqlite"
        return cls(path, partial(_own_key, environment)) if path.exists() else None

    def close(self) -> None:
        """Give the file up."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    # Holds.

    def place(self, *, run_id: str, task_id: str, reason: str, by: str, case: str = "") -> Hold:
        """Hold a run and its task; one that stands for the same reason is not placed again."""
        with self._changing():
            for hold in self.on(run_id=run_id, task_id=task_id):
                if (hold.run_id, hold.task_id, hold.reason) == (run_id, task_id, reason):
                    return hold
            hold = Hold(new_id("H"), run_id, task_id, reason, by, wall_ns(), case)
            self._insert("hold", hold)
        return hold

    def release(self, hold_id: str, *, reason: str, by: str) -> bool:
        """Release a hold; False where it is not there, or not held any more."""
        sql = (
            "UPDATE hold SET released = ?, released_by = ?, release_reason = ? "
            "WHERE id = ? AND released IS NULL"
        )
        with self._changing():
            return self._connection.execute(sql, (wall_ns(), by, reason, hold_id)).rowcount == 1

    def on(self, *, run_id: str = "", task_id: str = "") -> list[Hold]:
        """The holds that stand on this run or this task, the oldest first."""
        return [
            hold
            for hold in self.every()
            if hold.released is None
            and ((task_id and hold.task_id == task_id) or (run_id and hold.run_id == run_id))
        ]

    def refuse_if_held(self, task_id: str) -> None:
        """Raises TaskHeld with the reason where a hold stands on the task."""
        for hold in self.on(task_id=task_id):
            mend = (
                f"`rerail reconcile {hold.attempt_id}` finds out what it did"
                if hold.attempt_id
                else f"`rerail runs release {hold.id}` once it may go on"
            )
            raise _held(hold, mend)

    def every(self) -> list[Hold]:
        """All holds there ever were, the oldest first."""
        return self._rows(Hold, "SELECT * FROM hold ORDER BY placed, id")

    # Approvals.

    def ask(self, approval: Approval) -> None:
        """Put down that somebody is asked."""
        with self._changing():
            self._insert("approval", approval.sealed(self._secret))

    def decide(self, approval_id: str, *, grant: bool, by: str, how: str, reason: str) -> bool:
        """Grant or refuse; False where nobody waits for that any more. Raises NotYours."""
        state: ApprovalState = "granted" if grant else "refused"
        return self._go_on(
            approval_id, {"waiting"}, state=state, decided_by=by, how=how, reason=reason
        )

    def take_back(self, approval_id: str, *, by: str, how: str, reason: str) -> bool:
        """Refuse what was granted; False where it is not granted, or used already."""
        state: ApprovalState = "refused"
        return self._go_on(
            approval_id, {"granted"}, state=state, decided_by=by, how=how, reason=reason
        )

    def withdraw(self, approval_id: str) -> bool:
        """Make it worth nothing, unless it has been used; what is not ours is worth nothing."""
        others: set[ApprovalState] = {"waiting", "granted", "refused", "withdrawn"}
        try:
            return self._go_on(approval_id, others, state="withdrawn")
        except NotYours:
            return False

    def _go_on(self, approval_id: str, states: set[ApprovalState], **changes: str) -> bool:
        """Change an approval that is in one of these states, and is ours."""
        with self._changing():
            found = self.approval(approval_id)
            if found is None or found.state not in states:
                return False
            if not self.is_own(found):
                what = f"{approval_id} is not as it was asked for by you on this machine"
                raise NotYours(what, hint="run the task again: it is asked for anew")
            self._replace(replace(found, **changes))
        return True

    def is_own(self, approval: Approval) -> bool:
        """Whether this user, on this machine, left it as it is."""
        return approval.is_of(self._secret)

    @cached_property
    def _secret(self) -> bytes:
        return self._key()

    def _replace(self, approval: Approval) -> None:
        row = approval.sealed(self._secret)
        names = row.__struct_fields__
        sql = f"UPDATE approval SET {', '.join(f'{name} = ?' for name in names)} WHERE id = ?"  # noqa: S608 - our names
        self._connection.execute(sql, [*(getattr(row, name) for name in names), row.id])

    def approval(self, approval_id: str) -> Approval | None:
        """One of them."""
        found = self._rows(Approval, "SELECT * FROM approval WHERE id = ?", approval_id)
        return found[0] if found else None

    def approvals(self) -> list[Approval]:
        """All of them, in the order of asking."""
        return self._rows(Approval, "SELECT * FROM approval ORDER BY rowid")

    def why_not(
        self,
        approval_id: str,
        *,
        proposal: str,
        target: str,
        now: int,
        contract: str | None = None,
        programs: str | None = None,
    ) -> WhyNot | None:
        """Why this approval does not let this proposal be applied to this target; None: it does.

        By which `contract` and `programs` it may be is not asked for None.
        """
        found = self.approval(approval_id)
        if found is None:
            return "unknown"
        if not self.is_own(found):
            return "not yours"
        if found.state == "used" or any(one.approval_id == found.id for one in self.attempts()):
            return "used"
        if found.proposal != proposal:
            return "other proposal"
        if found.target != target:
            return "other target"
        if contract not in (None, found.contract):
            return "other contract"
        if programs not in (None, found.programs):
            return "other programs"
        if found.state not in ("granted", "waiting"):
            return "not granted"
        if found.expires <= now:
            return "expired"
        return None if found.state == "granted" else "not granted"

    # Attempts.

    def begin(self, attempt: Attempt, *, reason: str, by: str) -> Hold | WhyNot:
        """Use the approval up, put the attempt down and hold its task, all at once or not at all.

        Returns the hold, or why the approval is worth nothing. Raises TaskHeld where the task is
        held already: another run of it may have an action under way.
        """
        with self._changing():
            self.refuse_if_held(attempt.task_id)
            why = self.why_not(
                attempt.approval_id,
                proposal=attempt.proposal,
                target=attempt.target,
                now=attempt.begun,
            )
            if why is not None:
                return why
            approval = self.approval(attempt.approval_id)
            assert approval is not None
            self._replace(replace(approval, state="used", attempt_id=attempt.id))
            self._insert("attempt", attempt)
            hold = Hold(
                new_id("H"), attempt.run_id, attempt.task_id, reason, by, attempt.begun,
                attempt_id=attempt.id,
            )  # fmt: skip
            self._insert("hold", hold)
        return hold

    def started(self, attempt_id: str, session: int) -> None:
        """Its command runs, in this session: until none of it does, nothing can be found out."""
        with self._changing():
            sql = "UPDATE attempt SET session = ? WHERE id = ?"
            self._connection.execute(sql, (session, attempt_id))

    def settle(
        self, attempt_id: str, state: AttemptState, *, reason: str, by: str, free: bool
    ) -> list[Hold]:
        """It is known what an attempt did; `free` releases the holds it had placed."""
        with self._changing():
            sql = "UPDATE attempt SET state = ? WHERE id = ?"
            self._connection.execute(sql, (state, attempt_id))
            standing = [
                hold
                for hold in self.every()
                if hold.attempt_id == attempt_id and hold.released is None
            ]
            if free:
                self._connection.execute(
                    "UPDATE hold SET released = ?, released_by = ?, release_reason = ? "
                    "WHERE attempt_id = ? AND released IS NULL",
                    (wall_ns(), by, reason, attempt_id),
                )
        return standing if free else []

    def attempts(self) -> list[Attempt]:
        """All attempts there ever were, the oldest first."""
        return self._rows(Attempt, "SELECT * FROM attempt ORDER BY begun, id")

    # The file.

    def _prepare(self) -> None:
        found = self._version()
        if found > VERSION:
            raise StateUnusable(
                f"{self._path} was written by a later version of rerail",
                hint="use that version, or another folder in XDG_STATE_HOME",
            )
        if found < VERSION:
            with self._changing():
                # Another process may have been faster.
                script = {0: _SCHEMA, 1: _SINCE_1 + _SINCE_2, 2: _SINCE_2}.get(self._version(), "")
                for statement in script.split(";"):
                    self._connection.execute(statement)
                self._connection.execute(f"PRAGMA user_version = {VERSION}")

    def _version(self) -> int:
        return int(self._connection.execute("PRAGMA user_version").fetchone()[0])

    def _insert(self, table: str, row: Struct) -> None:
        names = row.__struct_fields__
        places = ", ".join("?" for _ in names)
        sql = f"INSERT INTO {table}({', '.join(names)}) VALUES ({places})"  # noqa: S608 - our names
        self._connection.execute(sql, [getattr(row, name) for name in names])

    def _rows(self, kind: type[_Row], sql: str, *values: object) -> list[_Row]:
        with self._saying("read"):
            cursor = self._connection.execute(sql, values)
            names = [column[0] for column in cursor.description]
            return [kind(**dict(zip(names, row, strict=True))) for row in cursor]

    @contextmanager
    def _changing(self) -> Iterator[None]:
        with self._saying("written"):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                # On a full disk SQLite may have taken it back by itself.
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _saying(self, what: str) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise StateUnusable(
                f"{self._path} cannot be {what}: {error}",
                hint="it holds which runs are held and which approvals are used: mend it, or set "
                "XDG_STATE_HOME to another folder",
            ) from error
