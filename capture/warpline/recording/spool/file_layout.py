"""Where the parts of a spool file are (docs/spool.md)."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator

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


def chunks_of(descriptor: int, offset: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Offset, size and committed bytes of the chunks from an offset on, and behind gaps, up to ``end`` or the file's.

    Raises OSError.
    """
    end = min(end, os.fstat(descriptor).st_size)
    while offset + CHUNK.size <= end:
        magic, _type, _bytes, _tid, size, committed, _free = CHUNK.unpack(
            os.pread(descriptor, CHUNK.size, offset)
        )
        if magic == CHUNK_MAGIC and size >= PAGE and not size % PAGE and offset + size <= end:
            yield offset, size, min(committed, size - CHUNK_HEADER_BYTES)
            offset += size
        elif (behind := chunk_behind_gap(descriptor, offset, end)) is not None:
            offset = behind
        else:
            return


def chunk_behind_gap(descriptor: int, offset: int, end: int) -> int | None:
    """The offset of the first chunk behind a page without one; None if there is none nearby before ``end``.

    A process that shares the file took those pages, but has been killed or has not begun its chunk yet. Raises OSError.
    """
    if os.pread(descriptor, 4, offset) != bytes(4):
        return None
    magic = CHUNK_MAGIC.to_bytes(4, "little")
    places = range(offset + PAGE, min(end, offset + LONGEST_GAP + PAGE), PAGE)
    return next((place for place in places if os.pread(descriptor, 4, place) == magic), None)
