"""The form of a tape file: its identity, its tables and its limits. Holds constants, no behaviour.

`spec/tape.md` says the same for people who read a tape without rerail.
"""

from typing import Final, Literal

APPLICATION_ID: Final = 0x7252744C
"""SQLite's `application_id`: "rRtL"."""

VERSION: Final = 1
"""SQLite's `user_version`: the version of the format. Readers refuse a later one."""

PAGE_SIZE: Final = 4096
"""Bytes a page while recording: large pages take large bodies fast."""

SMALL_PAGE_SIZE: Final = 512
"""Bytes a page of a small finished tape: each table takes at least one."""

TABLES: Final = (
    "CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE event(seq INTEGER PRIMARY KEY, size INTEGER NOT NULL, data BLOB NOT NULL)",
    "CREATE TABLE blob(id INTEGER PRIMARY KEY, digest BLOB NOT NULL, size INTEGER NOT NULL,"
    " body INTEGER, frame INTEGER, head INTEGER, tail INTEGER, data BLOB)",
    "CREATE TABLE part(id INTEGER PRIMARY KEY, exchange_id INTEGER NOT NULL, side INTEGER NOT NULL,"
    " size INTEGER NOT NULL, chunks BLOB NOT NULL, data BLOB NOT NULL)",
    "CREATE TABLE seal(tree_size INTEGER PRIMARY KEY, root BLOB NOT NULL, envelope BLOB)",
)
"""The whole schema; a file whose schema differs by a byte is not a tape of this version."""

Giver = Literal["agent", "origin", "workspace"]
"""Who a body comes from: one side of a connection, or a file of the workspace."""

SIDES: Final[tuple[Giver, ...]] = ("agent", "origin", "workspace")
"""What `part.side` counts."""

EVENTS_PER_FRAME: Final = 256
"""Events 1–256 are the content of one Zstandard frame, 257–512 of the next, and so on."""

EVENTS_PER_SEAL: Final = 1000
"""How often the writer seals what it has."""

BLOBS_PER_FRAME: Final = 64
"""Blobs in one frame at most, so that any of them opens fast."""

FRAME_CONTENT: Final = 32 << 20
"""A frame that holds this many bytes takes no more blobs."""

WINDOW_LOG: Final = 25
"""Largest window a frame may ask its reader for: 32 MiB."""

EVENT_SIZE: Final = 16 << 20
"""Bytes of one encoded event at most."""

BLOB_SIZE: Final = 8 << 20
"""A body up to this size is one blob row; a larger one stays in its parts."""

PART_SIZE: Final = 1 << 20
"""Bytes of one part at most."""

PARTS_PER_BODY: Final = 1 << 24
"""`part.id` is the body's number times this, plus the part's own number from 0."""
