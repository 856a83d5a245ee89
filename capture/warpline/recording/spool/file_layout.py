"""Where the parts of a spool file are (docs/spool.md)."""

from __future__ import annotations

import struct

MAGIC = b"WLSPOOL1"
VERSION = 1
HEADER_BYTES = 4096
HEADER = struct.Struct("<8sIIQQQQQII64sQ")
CHUNK_MAGIC = 0x4B4E4843
CHUNK = struct.Struct("<IIIIQQQ")
CHUNK_HEADER_BYTES = 64
PAGE = 4096

NEXT_OFFSET, LOST_OFFSET, PARENT_OFFSET, FINISHED_OFFSET, ERROR_OFFSET = 32, 40, 48, 56, 60
COMMITTED_OFFSET = 24
CLOSED_OFFSET = 40

STRING_RECORD = 1
