"""Makes the golden tapes of format version 1: `python spec/golden/make_v1.py FOLDER`.

Golden tapes are made once and only added to: what they hold must be readable for ever, so a changed
writer is no reason to make them anew. The script stays as the account of what is in them.
"""

import shutil
import stat
import sys
from hashlib import sha256
from pathlib import Path

import msgspec

from rerail.tape.clean import CleanBytes, CleanRecord
from rerail.tape.plane_records import (
    ActionAttempted,
    ActionReconciled,
    ActionResult,
    AgentContained,
    ApprovalConsumed,
    ApprovalDecided,
    ApprovalRequested,
    ApprovalUnusable,
    ApprovalWithdrawn,
    BaselineLoaded,
    BudgetChanged,
    CheckEnded,
    CheckResult,
    CheckStarted,
    CleanupDone,
    HoldMet,
    HoldPlaced,
    HoldReleased,
    ObservationRead,
    ProposalMade,
    RetryDecided,
    ScratchMade,
    TargetRead,
    TaskAccepted,
    TaskEnded,
    TaskFollows,
    VerdictEmitted,
)
from rerail.tape.proposals import encode_proposal, proposal
from rerail.tape.reader import Tape
from rerail.tape.records import (
    Body,
    CaptureMissing,
    ConnectionFailed,
    Event,
    HttpFailed,
    HttpReplyBody,
    HttpReplyHead,
    HttpRequest,
    HttpRequestBody,
    NotCaptured,
    Parent,
    ProcessEnded,
    ProcessStarted,
    RunEnded,
    RunStarted,
    TunnelClosed,
    TunnelOpened,
    WorkspaceSnapshot,
    WsClosed,
    WsMessage,
    WsOpened,
)
from rerail.tape.reopening import reopen
from rerail.tape.script_records import (
    ScriptAnswered,
    ScriptAsked,
    ScriptCalled,
    ScriptEnded,
    ScriptForked,
    ScriptParked,
    ScriptPaused,
    ScriptPrinted,
    ScriptResumed,
    ScriptStarted,
)
from rerail.tape.trees import Entry, encode_tree
from rerail.tape.writer import TapeWriter

WALL = 1_790_000_000_000_000_000
ORIGIN = {"connection_id": 1, "scheme": "https", "host": "api.example.com", "port": 443}


class Recording:
    """A writer, and a clock that goes on by 1.234567 ms at each event."""

    def __init__(self, path: Path) -> None:
        self.writer = TapeWriter.create(path)
        self.at = 0

    def add(self, kind: type[Event], **fields: object) -> None:
        self.at += 1_234_567
        event = kind(at=self.at, wall=WALL + self.at, **fields)
        self.writer.append(CleanRecord(event))

    def body(self, exchange_id: int, side: str, *chunks: bytes, **how: object) -> Body | None:
        lane = f"POST api.example.com {side}"
        writer = self.writer.body(exchange_id=exchange_id, side=side, lane=lane)
        for chunk in chunks:
            self.at += 1_000_000
            writer.write(CleanBytes(chunk), at=self.at)
        return writer.finish(**how)

    def start(self) -> None:
        self.add(
            RunStarted,
            run_id="run-golden",
            task_id="task-1",
            writer="rerail 0.1.0",
            argv=["python3", "agent.py", "--näme", "ünïcode"],
            cwd="/home/me/project",
            environment={"AGENT_MODE": "careful"},
            capture={"http": "proxy variables"},
            facts={"user": "me", "timezone": "UTC"},
            parent=Parent(tape_id="sha256:" + "ab" * 32, step=3, relation="fork"),
        )
        argv = ["python3", "agent.py"]
        self.add(ProcessStarted, process_id=1, argv=argv, cwd="/home/me/project", pid=4711)

    def conversation(self) -> None:
        """Seventy turns: frames of bodies and of events begin anew within."""
        history = b"".join(b"turn %d went well; " % number for number in range(400))
        for turn in range(1, 71):
            request = b'{"messages": "' + history[: 3000 + 100 * turn] + b'"}'
            body = self.body(turn, "agent", request, framing="length")
            head = b"POST /v1/chat HTTP/1.1\r\nHost: api.example.com\r\n\r\n"
            self.add(HttpRequest, exchange_id=turn, head=head, body=body, process_id=1, **ORIGIN)
            head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Turn: %d\r\n\r\n" % turn
            self.add(HttpReplyHead, component="origin", exchange_id=turn, head=head)
            chunks = [b"data: answer %d.%d\n\n" % (turn, number) for number in range(4)]
            body = self.body(turn, "origin", *chunks, framing="chunked")
            self.add(HttpReplyBody, component="origin", exchange_id=turn, body=body)

    def oddities(self) -> None:
        """Every other kind of event, a large body, an empty content, chunk lines, trailers."""
        upload = {"exchange_id": 71, "head": b"PUT /file HTTP/1.1\r\n\r\n", "unfinished": True}
        self.add(HttpRequest, **upload, **ORIGIN)
        self.add(HttpReplyHead, exchange_id=71, head=b"HTTP/1.1 100 Continue\r\n\r\n")
        large = [number.to_bytes(4, "big") * 65536 for number in range(40)]
        body = self.body(71, "agent", *large, framing="chunked", chunk_lines=b"40000;x=y\r\n0\r\n")
        self.add(HttpRequestBody, exchange_id=71, body=body)
        self.add(HttpReplyHead, exchange_id=71, head=b"HTTP/1.1 201 Created\r\n\r\n")
        how = {"framing": "chunked", "trailers": b"Digest: sha-256=abc\r\n"}
        body = self.body(71, "origin", b"cut here", **how)
        self.add(HttpReplyBody, exchange_id=71, body=body, ended="cut")
        self.add(HttpRequest, exchange_id=72, head=b"GET / HTTP/1.1\r\n\r\n", **ORIGIN)
        self.add(HttpFailed, exchange_id=72, ended="reset", reason="connection reset by peer")
        self.websocket(73)
        where = {"host": "git.example.com", "port": 22, "process_id": 1}
        self.add(TunnelOpened, connection_id=9, why="not HTTP", **where)
        sent = self.body(0, "agent", b"SSH-2.0-client\r\n", framing="close")
        received = self.body(0, "origin", b"SSH-2.0-server\r\n", framing="close")
        self.add(TunnelClosed, connection_id=9, sent=sent, received=received)
        why = {"phase": "tls", "reason": "certificate expired", "shown": "expired"}
        self.add(ConnectionFailed, connection_id=10, host="old.example.com", port=443, **why)
        self.add(CaptureMissing, what="a connection passed by the proxy", detail="10.0.0.1:53")

    def websocket(self, exchange_id: int) -> None:
        head = b"GET /live HTTP/1.1\r\nUpgrade: websocket\r\n\r\n"
        self.add(HttpRequest, exchange_id=exchange_id, head=head, **ORIGIN)
        head = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"
        self.add(HttpReplyHead, exchange_id=exchange_id, head=head)
        self.add(WsOpened, exchange_id=exchange_id, extensions="permessage-deflate")
        for sender, opcode, data in (
            ("agent", "text", b"hello"),
            ("origin", "binary", bytes(range(256))),
            ("agent", "ping", b""),
        ):
            digest = self.writer.blob(CleanBytes(data), lane=f"socket {sender}")
            about = {"sender": sender, "opcode": opcode, "content": digest, "size": len(data)}
            self.add(WsMessage, exchange_id=exchange_id, **about)
        self.add(WsClosed, exchange_id=exchange_id, sender="origin", code=1000, reason="bye")

    def snapshot(self, files: dict[bytes, bytes], why: str, **fields: object) -> None:
        """A folder with these files, a link, a folder, and what was left out."""
        entries = [
            Entry(b"", "folder", stat.S_IFDIR | 0o755, 0, WALL),
            Entry(b".env", "left out", stat.S_IFREG | 0o600, 0, 0, b"may hold credentials"),
            Entry(b"link", "link", stat.S_IFLNK | 0o777, 0, WALL, b"src/caf\xe9.py"),
            Entry(b"src", "folder", stat.S_IFDIR | 0o700, 0, WALL),
        ]
        for path, content in files.items():
            digest = sha256(content).digest()
            entries.append(Entry(path, "file", stat.S_IFREG | 0o644, len(content), WALL, digest))
            if len(content) < 1 << 20:
                self.writer.blob(CleanBytes(content), lane="workspace")
            else:
                body = self.writer.body(exchange_id=0, side="workspace")
                body.write(CleanBytes(content), at=self.at)
                body.finish(framing="none")
        tree = encode_tree(tuple(sorted(entries, key=lambda entry: entry.path)))
        digest = self.writer.blob(CleanBytes(tree), lane="workspace tree")
        about = {"folder": "/home/me/project", "files": len(files), "left_out": 1, **fields}
        self.add(WorkspaceSnapshot, tree=digest, tree_size=len(tree), why=why, **about)

    def end(self) -> None:
        self.add(ProcessEnded, process_id=1, status=143, signal=15)
        self.add(RunEnded, status=143, signal=15)
        self.writer.close()


def make_run(path: Path) -> None:
    """A finished run with every kind of event."""
    recording = Recording(path)
    recording.start()
    recording.conversation()
    recording.oddities()
    recording.end()


def make_files(path: Path) -> None:
    """A run with the files of its folder, one of them large."""
    recording = Recording(path)
    recording.start()
    files = {b"large": bytes(10 << 20), b"src/caf\xe9.py": b"print(1)\n", b"empty": b""}
    left = [NotCaptured(path=".env", why="may hold credentials")]
    recording.snapshot(files, "start", not_captured=left, late=["src"], inconsistent=True)
    recording.add(HttpRequest, exchange_id=1, head=b"GET / HTTP/1.1\r\n\r\n", **ORIGIN)
    files[b"src/caf\xe9.py"] = b"print(2)\n"
    recording.snapshot(files, "step", exchange_id=1, changed=1)
    del files[b"empty"]
    recording.snapshot(files, "child", process_id=1, removed=1)
    recording.snapshot(files, "end", also=True)
    recording.end()


def make_lost(path: Path, aside: Path) -> None:
    """What a killed recorder leaves: the tape and its log, a reply half arrived."""
    recording = Recording(aside / path.name)
    recording.start()
    body = recording.body(1, "agent", b'{"question": 1}', framing="length")
    head = b"POST / HTTP/1.1\r\n\r\n"
    recording.add(HttpRequest, exchange_id=1, head=head, body=body, **ORIGIN)
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    recording.add(HttpReplyHead, exchange_id=1, head=head)
    writer = recording.writer.body(exchange_id=1, side="origin")
    writer.write(CleanBytes(b"data: half of"), at=recording.at)
    recording.writer.flush()
    writer.write(CleanBytes(b" an answer"), at=recording.at, continues=True)
    recording.writer.flush()
    for suffix in ("", "-wal"):
        shutil.copyfile(f"{aside / path.name}{suffix}", f"{path}{suffix}")
        Path(f"{path}{suffix}").chmod(0o644)
    recording.writer.close()


def make_script(path: Path) -> None:
    """A fork of a durable script: parked, taken up again on the same tape, and ended."""
    recording = Recording(path)
    recording.start()

    def kept(data: bytes) -> Body:
        digest = recording.writer.blob(CleanBytes(data), lane="script")
        return Body(digest=digest, size=len(data))

    code, inputs = kept(b"tool('ask', {'n': n})\n"), kept(b'{"n":1}')
    engine = {"engine": "pydantic-monty 1.4.0"}
    tools = {"limits": {"pauses": 9}, "tools": ["ask"], "repeatable": ["ask"]}
    recording.add(ScriptStarted, name="agent.py", code=code, inputs=inputs, **engine, **tools)
    told = [["tool", "ask", b"7", "", sha256(b'{"n":0}').digest()]]
    history = kept(msgspec.msgpack.encode(told))
    recording.add(ScriptForked, run_id="run-parent", pause=2, events=12, history=history)
    state = b"a state, which only its engine reads; " * 200
    asked = {"tool": "ask", "line": 1, "arguments": kept(b'{"n":1}')}
    at = {"pause": 2, "token": "0123456789abcdef"}
    about = {"call": 1, "state": kept(state), "witness": bytes(32), **asked}
    recording.add(ScriptPaused, component="agent", **at, **about)
    recording.writer.seal()
    recording.add(ScriptParked, pause=2)
    recording.writer.close()
    recording.writer = reopen(path)
    recording.add(ScriptResumed, pause=2, how="answers", **engine)
    recording.add(ScriptCalled, pause=2, attempt=1)
    refused = {"answer": kept(b'"not on a Friday"'), "raised": "PermissionError"}
    recording.add(ScriptAnswered, component="tool", **at, **refused, witness=bytes(32))
    recording.add(ScriptAsked, pause=2, name="time.time", value=msgspec.msgpack.encode(1.5))
    text = kept("gedruckt: ü\n".encode())
    recording.add(ScriptPrinted, component="agent", stream="stdout", text=text)
    about["state"] = kept(state + b"and one more")
    at = {"pause": 3, "token": "fedcba9876543210"}
    recording.add(ScriptPaused, calls=True, **at, **about)
    recording.writer.seal()
    recording.add(ScriptAnswered, component="runner", answer=kept(b"[1,2]"), **at)
    recording.add(ScriptEnded, component="agent", output=kept(b'{"n":2}'))
    recording.add(RunEnded, status=0)
    recording.writer.close()


class Planes:
    """A run in two planes, event by event, on a recording."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._base, self._tree = self._folder(b"limit: 3\n"), self._folder(b"limit: 5\n")
        made = encode_proposal(proposal(self._base, self._tree))
        self._size = len(made)
        self._ref = self._blob(made)

    def _blob(self, data: bytes) -> bytes:
        return self._recording.writer.blob(CleanBytes(data), lane="planes")

    def _kept(self, data: bytes) -> Body:
        return Body(digest=self._blob(data), size=len(data), framing="none")

    def _folder(self, content: bytes) -> tuple[Entry, ...]:
        folder = Entry(b"", "folder", stat.S_IFDIR | 0o755, 0, 0)
        mode, digest = stat.S_IFREG | 0o644, self._blob(content)
        return (folder, Entry("wiederholt-ü.yaml".encode(), "file", mode, len(content), 0, digest))

    def propose(self) -> None:
        """The agent's plane, from the contract to the proposal."""
        add, kept = self._recording.add, self._kept
        contract = kept(b"task: TASK-1061\n")
        about = {"task_id": "TASK-1061", "version": "8", "source": "task.yaml", "number": 2}
        add(TaskAccepted, component="runner", contract=contract, **about)
        before = {"run_id": "RUN-8893", "tape_id": "sha256:" + "cd" * 32, "relation": "retry"}
        add(TaskFollows, component="runner", **before)
        met = {"hold_id": "H-0", "reason": "we look at it", "went_on": True, "why": "to compare"}
        add(HoldMet, component="person", **met)
        name = {"name": "retry-policy", "version": "4", "wanted_version": "5"}
        where = {"source": "policy.json", "path": ".rerail-task/inputs/retry-policy"}
        rules = {"content": kept(b"never"), "wanted_digest": bytes(32), "problem": "another"}
        add(ObservationRead, component="sensor", **name, **where, **rules)
        name = {"name": "retry-cases", "version": "12", "wanted_version": "12"}
        cases = kept(b'{"version": "12"}')
        known = {"digest": cases.digest, "wanted_digest": cases.digest, "source": "cases.json"}
        add(BaselineLoaded, component="sensor", content=cases, **known, **name)
        base, tree = encode_tree(self._base), encode_tree(self._tree)
        left = [NotCaptured(path=".env", why="may hold credentials")]
        sizes = {"base": self._blob(base), "base_size": len(base), "left_out": left}
        place = {"folder": "/scratch/workspace", "source": "workspace", "files": 1, "size": 9}
        add(ScratchMade, component="runner", **place, **sizes)
        walls = {"layers": ["files"], "lacking": {"TCP": "too old"}, "hidden": ["/home/me"]}
        add(AgentContained, component="runner", writable=["/scratch"], **walls)
        add(BudgetChanged, component="runner", budget="turns", limit=6, used=7, spent=True)
        sizes |= {"size": self._size, "tree": self._blob(tree), "tree_size": len(tree)}
        counts = {"added": 0, "changed": 1, "removed": 0}
        add(ProposalMade, component="agent", proposal_ref=self._ref, **sizes, **counts)

    def judge(self) -> None:
        """The checker and the verdict."""
        add, kept = self._recording.add, self._kept
        by = {"component": "checker", "check_id": 1}
        refs = {"proposal_ref": self._ref, "read_ref": self._ref}
        add(CheckStarted, argv=["check"], version="3", folder="/state/check", **refs, **by)
        said = {"output": kept(b"{}"), "errors": kept("Vorsicht: ü\n".encode())}
        how = {"status": 137, "signal": 9, "timed_out": True, "problem": "it timed out"}
        add(CheckEnded, reported_ref=self._ref, **said, **how, **by)
        add(BaselineLoaded, name="retry-cases", version="11", reported=True, problem="old", **by)
        case = {"name": "before send", "outcome": "failed", "detail": "3, at most 1"}
        add(CheckResult, protected=True, tests="retry-policy", **case, **by)
        why = {"rule": "case failed", "detail": "before send", "checks": [1]}
        add(VerdictEmitted, component="verdict", verdict="STOP", proposal_ref=self._ref, **why)

    def apply(self) -> None:
        """The approval, the action, the target, the holds, the end."""
        add, kept = self._recording.add, self._kept
        scope = {"approval_id": "A-1", "proposal_ref": self._ref, "target": "client/live"}
        add(ApprovalRequested, component="approver", expires=WALL, who=["ada"], **scope)
        word = {"decision": "granted", "who": "ada", "how": "policy", "reason": "ja, natürlich"}
        add(ApprovalDecided, component="person", expires=WALL, evidence=kept(b"p"), **word, **scope)
        add(ApprovalConsumed, component="applier", approval_id="A-1", attempt_id="T-1")
        hold = {"run_id": "RUN-8894", "task_id": "TASK-1061", "who": "rerail run"}
        add(HoldPlaced, component="runner", hold_id="H-1", reason="T-1 was sent", **hold)
        add(ActionAttempted, component="applier", attempt_id="T-1", argv=["apply"], **scope)
        said = {"output": kept(b"half of"), "errors": kept(b"no reply")}
        how = {"status": 137, "signal": 9, "timed_out": True}
        about = {"attempt_id": "T-1", "outcome": "unknown", "reason": "no reply in time"}
        add(ActionResult, component="applier", **about, **said, **how)
        read = {"argv": ["read"], "target": "client/live", "attempt_id": "T-1", "moment": "after"}
        state = {"content": kept(b"live"), "errors": kept(b"slow"), "problem": "it timed out"}
        add(TargetRead, component="target", **read, **state, **how)
        found = {"attempt_id": "T-1", "state": "partly applied", "who": "ada", "how": "person"}
        add(ActionReconciled, component="person", status=1, reason="half", **said, **found)
        add(HoldReleased, component="person", hold_id="H-1", reason="put back", who="ada")
        add(ApprovalUnusable, component="applier", why="used", detail="by T-1", **scope)
        add(ApprovalWithdrawn, component="runner", approval_id="A-2")
        gone = {"folder": "/scratch/workspace", "outcome": "failed", "reason": "busy"}
        add(CleanupDone, component="applier", **gone)
        more = {"number": 2, "limit": 2, "scheduled": False, "reason": "there are no more retries"}
        add(RetryDecided, component="runner", **more)
        add(TaskEnded, component="runner", state="unresolved", reason="nobody knows")


def make_planes(path: Path) -> None:
    """A run in two planes with every kind of its events, every field of them filled."""
    recording = Recording(path)
    recording.start()
    run = Planes(recording)
    run.propose()
    run.judge()
    run.apply()
    recording.end()


def expected(path: Path) -> bytes:
    """What a reader must find on a tape, as JSON: bytes are in base 64."""
    with Tape.open(path) as tape:
        found = {
            "id": tape.id,
            "state": tape.state,
            "seals": [seal.tree_size for seal in tape.seals()],
            "contents": sorted(digest.hex() for digest in tape.evidence.digests()),
            "unfinished": [
                {"exchange_id": body.exchange_id, "content": body.content(), "chunks": body.chunks}
                for body in tape.unfinished()
            ],
            "events": list(tape.events()),
        }
    return msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n"


def main(folder: Path) -> None:
    """Write the tapes and what is expected of them; nothing that is there is overwritten."""
    names = ("run", "lost", "files", "script", "planes")
    run, lost, files, script, planes = (folder / f"v1-{name}.tape" for name in names)
    make_run(run)
    make_files(files)
    make_script(script)
    make_planes(planes)
    aside = folder / "aside"
    aside.mkdir()
    make_lost(lost, aside)
    shutil.rmtree(aside)
    for tape in (run, lost, files, script, planes):
        tape.with_suffix(".json").write_bytes(expected(tape))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
