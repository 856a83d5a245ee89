"""Where the parts of a spool file are (docs/spool.md)."""

from __future__ import annotations

import os
import struct

MAGIC = b"WLSPOOL1"
VERSION = 1
HEADER_BYTES = 4096
HEADER = struct.Struct("<8sIIQQQQQII64sQ")
CHUNK_MAGIC = 0x4B4E4843
CHUNK = struct.Struct("<IIIIQQQ")
CHUNK_PROCESS = struct.Struct("<II")
CHUNK_HEADER_BYTES = 64
PAGE = 4096

NEXT_OFFSET, LOST_OFFSET, PARENT_OFFSET, FINISHED_OFFSET, ERROR_OFFSET = 32, 40, 48, 56, 60
ALLOCATED_OFFSET = 136
COMMITTED_OFFSET = 24
CLOSED_OFFSET = 40
PROCESS_OFFSET = 44

STRING_RECORD = 1

LONGEST_GAP = 4 << 20
"""Upper bound of a gap: larger than any chunk of the agent."""


def chunk_behind_gap(descriptor: int, offset: int, end: int) -> int | None:
    """The offset of the first chunk behind a page without one; None if there is none nearby before ``end``.

    A process that shares the file took those pages, but has been killed or has not begun its chunk yet. Raises OSError.
    """
    if os.pread(descriptor, 4, offset) != bytes(4):
        return None
    magic = CHUNK_MAGIC.to_bytes(4, "little")
    places = range(offset + PAGE, min(end, offset + LONGEST_GAP + PAGE), PAGE)
    return next((place for place in places if os.pread(descriptor, 4, place) == magic), None)
