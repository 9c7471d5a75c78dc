"""Evidence on its way to the file: each content once, and of it only what is new in its lane.

A lane is the series of bodies in which each repeats most of the one before (the requests to one
endpoint). Of each body, the bytes that begin and end the one before are only counted; what is left
in the middle becomes the next piece of the lane's frame. Knows no queue and no thread.
"""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from rerail.tape import form
from rerail.tape.frames import NOTHING, FrameWriter, compressed
from rerail.tape.likeness import common_head, common_tail
from rerail.tape.storage import Storage

_LANES_BYTES: Final = 32 << 20
_SMALLEST_WINDOW_LOG: Final = 18
_LARGEST_WINDOW_LOG: Final = 24
_DIGESTS_KEPT: Final = 100_000
_WORTH_COMPARING: Final = 4096


class _Lane(Struct):
    """A growing frame: its number, its blobs, and the last body in it.

    `new` are the blobs that are not rows yet, and `middles` what the frame is to get of them.
    """

    number: int
    frame: FrameWriter
    blobs: list[int] = []
    last: bytes = b""
    new: list[tuple[int, bytes, int, int, int]] = []
    middles: list[bytes] = []


class BlobKeeper:
    """Puts bodies into `blob` rows. Remembers a bounded number of lanes and of digests.

    `in_a_hurry` is set by whoever gives the work: frames are then left as they have grown.
    """

    def __init__(self, storage: Storage) -> None:
        self.in_a_hurry = False
        self._storage = storage
        self._ids = 0
        self._lanes: OrderedDict[str, _Lane] = OrderedDict()
        self._changed: dict[int, _Lane] = {}
        self._memory = 0
        self._known: OrderedDict[bytes, None] = OrderedDict()

    def take_up(self, digests: Mapping[bytes, int]) -> None:
        """Go on with a tape that has these contents already, each with its number."""
        self._ids = max(digests.values(), default=0)
        for digest in list(digests)[-_DIGESTS_KEPT:]:
            self._known[digest] = None

    def knows(self, digest: bytes) -> bool:
        """Whether this content is on the tape already, as far as this keeper remembers."""
        return digest in self._known

    def keep(self, digest: bytes, content: bytes, lane: str) -> None:
        """Store `content` unless it is there already."""
        if digest in self._known:
            return
        if lane:
            self._keep_in_lane(digest, content, lane)
        else:
            number = self._next_id(digest)
            self._storage.add_blob(number, digest, len(content), number, 0, 0, compressed(content))

    def write(self) -> None:
        """Make rows of all that was given."""
        for lane in self._changed.values():
            self._write(lane)
        self._changed.clear()

    def keep_parts(self, digest: bytes, size: int, body: int) -> None:
        """Say that the content with this digest is what the body's parts hold."""
        self._storage.add_blob_in_parts(self._next_id(digest), digest, size, body)

    @property
    def growing(self) -> int:
        """Bytes of content in the frames that are still growing."""
        return sum(lane.frame.content for lane in self._lanes.values())

    def finish(self, *, well: bool) -> None:
        """Pack the frames that are still growing; `well` takes its time."""
        while self._lanes:
            self._end_lane(next(iter(self._lanes)), well=well)

    def _keep_in_lane(self, digest: bytes, content: bytes, name: str) -> None:
        number = self._next_id(digest)
        lane = self._lanes.get(name)
        head, tail = _likeness(lane.last, content) if lane else (0, 0)
        if lane is None or _is_used_up(lane, len(content) - head - tail):
            lane, head, tail = self._new_lane(name, number, len(content)), 0, 0
        middle = content[head : len(content) - tail]
        lane.new.append((number, digest, len(content), head, tail))
        lane.middles.append(middle)
        self._changed[lane.number] = lane
        self._memory += len(middle) + len(content) - len(lane.last)
        lane.blobs.append(number)
        lane.last = content
        self._lanes.move_to_end(name)
        while self._memory > _LANES_BYTES and len(self._lanes) > 1:
            self._end_lane(next(iter(self._lanes)))

    def _new_lane(self, name: str, number: int, size: int) -> _Lane:
        if name in self._lanes:
            self._end_lane(name)
        window_log = min(max((2 * size).bit_length(), _SMALLEST_WINDOW_LOG), _LARGEST_WINDOW_LOG)
        lane = _Lane(number, FrameWriter(window_log))
        self._lanes[name] = lane
        self._memory += lane.frame.memory
        return lane

    def _end_lane(self, name: str, *, well: bool = False) -> None:
        lane = self._lanes.pop(name)
        self._write(lane)
        self._changed.pop(lane.number, None)
        self._memory -= lane.frame.memory + lane.frame.content + len(lane.last)
        data = None if self.in_a_hurry else lane.frame.packed(well=well)
        if data is not None:
            self._storage.pack_blobs(lane.blobs, data)

    def _write(self, lane: _Lane) -> None:
        middle = b"".join(lane.middles)
        data = lane.frame.piece(middle, rows=len(lane.new)) if middle else b""
        for number, digest, size, head, tail in lane.new:
            self._storage.add_blob(number, digest, size, lane.number, head, tail, data)
            data = NOTHING if middle else b""
        lane.new, lane.middles = [], []

    def _next_id(self, digest: bytes) -> int:
        self._ids += 1
        self._known[digest] = None
        if len(self._known) > _DIGESTS_KEPT:
            self._known.popitem(last=False)
        return self._ids


def _likeness(before: bytes, after: bytes) -> tuple[int, int]:
    """The lengths of the common beginning and end; short bodies are left to the frame."""
    if len(after) < _WORTH_COMPARING:
        return 0, 0
    head = common_head(before, after)
    return head, common_tail(before, after, head=head)


def _is_used_up(lane: _Lane, size: int) -> bool:
    """Whether what is new in the next body, `size` bytes, is better off in a new frame."""
    return (
        len(lane.blobs) >= form.BLOBS_PER_FRAME
        or lane.frame.content >= form.FRAME_CONTENT
        or size > lane.frame.window
    )
