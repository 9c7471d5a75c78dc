"""Evidence on its way to the file: each content once, compressed against what its lane said before.

A lane is the series of bodies in which each repeats most of the one before (the requests to one
endpoint). Its bodies are pieces of one growing frame. Knows no queue and no thread.
"""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from rerail.tape import form
from rerail.tape.frames import FrameWriter, compressed
from rerail.tape.storage import Storage

_LEVEL: Final = 3
_LANES_BYTES: Final = 32 << 20
_SMALLEST_WINDOW_LOG: Final = 18
_LARGEST_WINDOW_LOG: Final = 24
_LARGEST_TABLE_LOG: Final = 18
_BLOCK: Final = 128 << 10
_DIGESTS_KEPT: Final = 100_000


@dataclass(slots=True)
class _Lane:
    frame: FrameWriter
    last_blob: int
    memory: int


class BlobKeeper:
    """Puts bodies into `blob` rows. Remembers a bounded number of lanes and of digests."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._lanes: OrderedDict[str, _Lane] = OrderedDict()
        self._memory = 0
        self._known: OrderedDict[bytes, None] = OrderedDict()

    def knows(self, digest: bytes) -> bool:
        """Whether this content is on the tape already, as far as this keeper remembers."""
        return digest in self._known

    def keep(self, digest: bytes, content: bytes, lane: str) -> None:
        """Store `content` unless it is there already."""
        if digest in self._known:
            return
        if lane and content:
            self._keep_in_lane(digest, content, lane)
        else:
            self._keep_alone(digest, content)
        self._remember(digest)

    def keep_parts(self, digest: bytes, size: int, body: int) -> None:
        """Say that the content with this digest is what the body's parts hold."""
        self._storage.add_blob(digest, size, form.PARTS, body, None)
        self._remember(digest)

    def _keep_alone(self, digest: bytes, content: bytes) -> None:
        data = compressed(content, level=_LEVEL)
        if len(data) < len(content):
            self._storage.add_blob(digest, len(content), form.ZSTD, None, data)
        else:
            self._storage.add_blob(digest, len(content), form.RAW, None, content)

    def _keep_in_lane(self, digest: bytes, content: bytes, name: str) -> None:
        lane = self._lanes.get(name)
        if lane is None or _is_used_up(lane.frame, len(content)):
            lane = self._new_lane(name, len(content))
        self._lanes.move_to_end(name)
        base = lane.last_blob or None
        data = lane.frame.piece(content)
        lane.last_blob = self._storage.add_blob(digest, len(content), form.ZSTD, base, data)

    def _new_lane(self, name: str, size: int) -> _Lane:
        old = self._lanes.pop(name, None)
        if old is not None:
            self._memory -= old.memory
        window_log = (4 * size).bit_length()
        window_log = min(max(window_log, _SMALLEST_WINDOW_LOG), _LARGEST_WINDOW_LOG)
        table_log = min(window_log - 2, _LARGEST_TABLE_LOG)
        frame = FrameWriter(window_log=window_log, table_log=table_log, level=_LEVEL)
        lane = _Lane(frame, 0, frame.window + 2 * _BLOCK + (8 << table_log))
        self._lanes[name] = lane
        self._memory += lane.memory
        while self._memory > _LANES_BYTES and len(self._lanes) > 1:
            _, oldest = self._lanes.popitem(last=False)
            self._memory -= oldest.memory
        return lane

    def _remember(self, digest: bytes) -> None:
        self._known[digest] = None
        if len(self._known) > _DIGESTS_KEPT:
            self._known.popitem(last=False)


def _is_used_up(frame: FrameWriter, size: int) -> bool:
    """Whether the next body of `size` bytes is better off in a new frame."""
    return (
        frame.pieces >= form.LINKS_PER_FRAME
        or frame.content >= form.FRAME_CONTENT
        or size > frame.window
    )
