"""Reading a tape: events by number, evidence by digest. Never writes; trusts nothing it reads.

What is damaged raises TapeAltered where it is met, so that everything else stays readable. Look-ups
are built in memory when first needed: a table of them would be outside the seal.
"""

import sqlite3
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Final, Literal, Self

from rerail.errors import NotOnTape, TapeAltered, TapeUnreadable
from rerail.tape import form
from rerail.tape.arriving import undo_part
from rerail.tape.chunks import Chunk, decode_chunks
from rerail.tape.codec import decode
from rerail.tape.frames import FrameError, FrameReader
from rerail.tape.merkle import MerkleTree, leaf_hash
from rerail.tape.opening import Opened, open_tape_file
from rerail.tape.records import Event, RunEnded, RunStarted, Side
