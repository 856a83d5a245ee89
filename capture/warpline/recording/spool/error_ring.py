"""The last lines of the program's standard error: the agent copies them to a ring buffer in the spool directory
(docs/spool.md, *Standard error*).
"""

from __future__ import annotations

import contextlib
import os
import struct
from pathlib import Path

from warpline.platform.files import read_regular
from warpline.recording.spool.console_text import ConsoleText

STDERR_FILE = "stderr"
MAX_KEPT_LINES = 400
_MAGIC = b"WLSTDERR"
_HEAD = struct.Struct("<8sQQQ32x")
_RING_BYTES = 65536


def make_error_ring(directory: Path) -> None:
    """Create the ring buffer for our standard error, which the program inherits; nothing if it is closed.

    Raises OSError when the file cannot be made.
    """
    try:
        ours = os.fstat(2)
    except OSError:
        return
    descriptor = os.open(directory / STDERR_FILE, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.posix_fallocate(descriptor, 0, _HEAD.size + _RING_BYTES)
        os.write(descriptor, _HEAD.pack(_MAGIC, ours.st_dev, ours.st_ino, 0))
    finally:
        os.close(descriptor)


def read_error_tail(directory: Path) -> list[str] | None:
    """The kept lines without terminal escapes; None if there are none."""
    data = b""
    with contextlib.suppress(OSError):
        data = read_regular(directory / STDERR_FILE, _HEAD.size + _RING_BYTES)
    if len(data) != _HEAD.size + _RING_BYTES:
        return None
    magic, _device, _inode, written = _HEAD.unpack_from(data)
    if magic != _MAGIC or not written:
        return None
    ring = data[_HEAD.size :]
    at = written % _RING_BYTES
    text = ConsoleText(MAX_KEPT_LINES)
    if written <= _RING_BYTES:
        text.feed(ring[:written])
    else:
        # Drop the first line, which is incomplete.
        text.feed((ring[at:] + ring[:at]).partition(b"\n")[2])
    lines = text.text.splitlines()
    while lines and not lines[-1].strip():
        lines.pop()
    return lines or None
