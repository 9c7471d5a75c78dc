"""Do a tape's bytes agree with each other? Seven steps, numbered as in `spec/tape.md`.

*Intact* means that they do. It does not mean *signed* (by a key that one trusts) nor *anchored* (a
root also kept elsewhere): who rewrites a whole tape and its seals makes another intact one.
"""

from typing import Literal

from rerail.errors import TapeAltered
from rerail.tape.chunks import decode_chunks
from rerail.tape.codec import decode
from rerail.tape.damage import Damaged, Missing
from rerail.tape.merkle import MerkleTree, leaf_hash
from rerail.tape.reader import Seal, State, Tape
from rerail.tape.records import (
    Event,
    RunEnded,
    RunLost,
    RunStarted,
    UnknownEvent,
)
from rerail.tape.references import (
    Reference,
    begins_exchange,
    contents_of,
    contents_of_tree,
    exchange_of,
    trees_of,
)
from rerail.tape.stored import Stretch
from rerail.tape.verification import Code, Finding, Verification, counted


def verify(tape: Tape) -> Verification:
    """Check an open tape. Raises nothing for what is wrong with it: that is the result."""
    return _Verifier(tape).run()


class _Verifier:
    def __init__(self, tape: Tape) -> None:
        self._tape = tape
        self._findings: list[Finding] = []
        self._events = 0
        self._readable = True
        self._tree = MerkleTree()
        self._sealed = 0
        self._seals: list[Seal] = []
        self._signed: Literal["no", "unchecked"] = "no"
        self._named: dict[bytes, bool] = {}
        self._trees: set[bytes] = set()
        self._exchanges: set[int] = set()
        self._last: Event | None = None
        self._unknown = 0

    def run(self) -> Verification:
        # Step 1, that the file is a tape of a version that can be read, was done by opening it.
        self._read_seals()
        self._count_events()
        for stretch in self._tape.stored.walk():
            if stretch.damage is not None:
                self._lose(stretch, stretch.damage)
                continue
            self._tree.add(leaf_hash(stretch.data))
            self._check_seals(stretch.first)
            event = self._decoded(stretch.first, stretch.data)
            if event is not None:
                self._check_place(stretch.first, event)
                self._check_contents(stretch.first, event)
                self._check_links(stretch.first, event)
                self._last = event
        self._check_end()
        self._check_seals_reached()
        self._check_unnamed()
        self._check_unfinished()
        return self._result()

    # Step 2. Events are numbered 1, 2, 3 … without a gap, and each can be read.

    def _count_events(self) -> None:
        try:
            self._events = self._tape.stored.last()
        except Damaged as error:
            self._readable = False
            self._events = self._tape.stored.last_that_can_be_found()
            self._find("file-damaged", f"its events cannot be counted: {error}")

    def _lose(self, stretch: Stretch, damage: Damaged) -> None:
        """Some events cannot be read, so no root can be known."""
        self._readable = False
        missing = isinstance(damage, Missing)
        code: Code = "event-missing" if missing else "event-unreadable"
        self._find(code, f"{stretch.name} cannot be read: {damage}", stretch.first)

    def _decoded(self, seq: int, data: bytes) -> Event | None:
        try:
            return decode(data)
        except ValueError as error:
            self._find("event-unreadable", f"event {seq} cannot be read: {error}", seq)
            return None

    # Step 3. Each event says its own number; the run's start is the first, its end the last.

    def _check_place(self, seq: int, event: Event) -> None:
        if event.seq != seq:
            self._find("event-misplaced", f"event {event.seq} stands in the place of {seq}", seq)
        if isinstance(event, RunStarted) != (seq == 1):
            self._find("start-misplaced", f"event {seq} starts a run in the middle of one", seq)
        if isinstance(event, RunEnded | RunLost) and seq != self._events:
            self._find("end-misplaced", f"the run goes on after its end, event {seq}", seq)
        if isinstance(event, UnknownEvent):
            self._unknown += 1

    def _check_end(self) -> None:
        if self._readable and not isinstance(self._last, RunEnded | RunLost):
            message = "unfinished: there is no end record, so truncation cannot be excluded"
            self._find("end-missing", message, breaks=False)
        if self._unknown:
            message = f"{counted(self._unknown, 'event')} of a kind this version does not know"
            self._find("kind-unknown", message, breaks=False)

    # Step 4. Each seal's root is the root over that many events (RFC 9162 section 2.1).

    def _read_seals(self) -> None:
        try:
            self._seals = self._tape.seals()
        except TapeAltered as error:
            self._find("seal-malformed", error.what.removeprefix(f"{self._tape.path}: "))
        self._seals.reverse()
        if any(seal.envelope is not None for seal in self._seals):
            self._signed = "unchecked"
            message = "there is a signature, which this version cannot check"
            self._find("signature-unchecked", message, breaks=False)

    def _check_seals(self, seq: int) -> None:
        if self._tree.size != seq:
            return
        while self._seals and self._seals[-1].tree_size <= seq:
            seal = self._seals.pop()
            if seal.tree_size != seq or seal.root != self._tree.root():
                first = self._sealed + 1
                message = f"events {first} to {seal.tree_size} are not those that were sealed"
                self._find("seal-mismatch", message, seal.tree_size)
            self._sealed = max(self._sealed, seal.tree_size)

    def _check_seals_reached(self) -> None:
        if not self._readable:
            return
        if self._seals:
            missing = self._seals[0].tree_size - self._events
            message = f"truncated: {counted(missing, 'sealed event')} at the end are missing"
            self._find("truncated", message)
        tail = self._events - self._sealed
        if tail > 0:
            message = f"the last {counted(tail, 'event')} are not sealed"
            self._find("unsealed-tail", message, self._sealed + 1, breaks=False)

    # Step 5. Every content an event names is there, has its digest, and its chunks fit it.

    def _check_contents(self, seq: int, event: Event) -> None:
        for reference in contents_of(event):
            if reference.digest not in self._named:
                self._named[reference.digest] = self._check_content(seq, reference)
            self._check_chunks(seq, reference)
        for tree in trees_of(event):
            if tree.digest not in self._trees:
                self._trees.add(tree.digest)
                self._check_tree(seq, tree.digest)

    def _check_tree(self, seq: int, digest: bytes) -> None:
        """The files of a tree are contents too."""
        if not self._named[digest]:
            return
        try:
            files = contents_of_tree(self._tape.blob(digest))
        except ValueError as error:
            self._find("content-altered", f"the tree of event {seq} cannot be used: {error}", seq)
            return
        for file in files:
            if file.digest not in self._named:
                self._named[file.digest] = self._check_content(seq, file)

    def _check_content(self, seq: int, reference: Reference) -> bool:
        name = f"content {reference.digest.hex()[:12]} of event {seq}"
        evidence = self._tape.evidence
        try:
            row = evidence.find(reference.digest)
            if row is None:
                self._find("content-missing", f"{name} is missing", seq)
                return False
            for _ in evidence.pieces(reference.digest, row):
                pass
        except Damaged as error:
            self._find("content-altered", f"{name} is not what was recorded: {error}", seq)
            return False
        return True

    def _check_chunks(self, seq: int, reference: Reference) -> None:
        if reference.chunks is None:
            return
        try:
            total = sum(chunk.size for chunk in decode_chunks(reference.chunks))
        except ValueError:
            total = -1
        if reference.chunks and total != reference.size:
            self._find(
                "chunks-misfit", f"the chunk table of event {seq} does not fit its body", seq
            )

    def _check_unnamed(self) -> None:
        try:
            unnamed = len(set(self._tape.evidence.digests()) - set(self._named))
        except Damaged as error:
            self._find("file-damaged", f"its contents cannot be listed: {error}")
            return
        if unnamed and self._readable and not self._unknown:
            message = f"{counted(unnamed, 'content')} that no event names"
            self._find("content-unnamed", message, breaks=False)

    # Step 6. Every exchange an event belongs to has begun, and what was arriving is said.

    def _check_links(self, seq: int, event: Event) -> None:
        exchange = exchange_of(event)
        if begins_exchange(event):
            self._exchanges.add(exchange)
        elif exchange and exchange not in self._exchanges and self._tree.size == seq:
            self._exchanges.add(exchange)
            message = f"event {seq} belongs to exchange {exchange}, which has not begun"
            self._find("exchange-unknown", message, seq)

    def _check_unfinished(self) -> None:
        try:
            bodies = self._tape.unfinished()
        except TapeAltered as error:
            self._find("file-damaged", error.what.removeprefix(f"{self._tape.path}: "))
            return
        for body in bodies:
            who = f"exchange {body.exchange_id}" if body.exchange_id else "a tunnel"
            message = f"a body of {who}, from the {body.side}, is cut after {body.size} bytes"
            self._find("body-unfinished", message, breaks=False)

    # Step 7. Signatures and anchors: none are made by this version, and none are checked.

    def _result(self) -> Verification:
        run = self._tape.run
        known = self._readable and self._tree.size == self._events
        return Verification(
            path=str(self._tape.path),
            run_id=run.run_id,
            state=self._state(),
            tape_id=f"sha256:{self._tree.root().hex()}" if known else "",
            parent=run.parent.tape_id if run.parent else "",
            events=self._events,
            sealed=min(self._sealed, self._tree.size),
            contents=len(self._named),
            findings=tuple(self._findings),
            signed=self._signed,
        )

    def _state(self) -> State | None:
        try:
            return self._tape.state
        except TapeAltered:
            return None

    def _find(
        self, code: Code, message: str, seq: int | None = None, *, breaks: bool = True
    ) -> None:
        self._findings.append(Finding(code, message, seq, breaks))
