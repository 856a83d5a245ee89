"""Writes the mirror of a spool that lies on another machine. Nothing that arrives from there is trusted."""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from warpline.recording.remote.frames import FrameError, FrameType, file_of, packed_json
from warpline.recording.spool.file_layout import (
    CHUNK,
    CHUNK_HEADER_BYTES,
    CHUNK_MAGIC,
    HEADER_BYTES,
    LONGEST_GAP,
    MAGIC,
    PAGE,
    chunks_of,
)
from warpline.untrusted import read_json

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}(\.\d{1,20}){0,2}\.spool")
_SMALL_FILES = frozenset({"session.json", "control", "stderr"})
_MOST_FILES = 65_536
_MOST_OPEN = 64
"""Files open at a time: a program of many processes has more files than we may open."""
_LARGEST_CHUNK = 64 << 20
_LARGEST_FILE = 1 << 38
"""Apparent size: chunks that a ring has emptied are holes."""
_CHUNKS_AT_ONCE = 5_000
_MOST_COMPARISONS = 16
"""How often the far end may ask for a comparison of all that has arrived (`Keeper` does up to 5 times)."""


class Mirror:
    """The files of a spool directory, as far as they have arrived.

    All methods raise FrameError for content that no spool can have, and OSError when it cannot be written.
    """

    def __init__(
        self, directory: Path, output: Path, machine: str = "", *, most_bytes: int = 1 << 40
    ) -> None:
        """``output`` is where the capture belongs here, ``machine`` what the user calls the other machine."""
        self._output, self._machine = output, machine
        self._folder = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._directory = directory
        self._files: dict[str, int] = {}
        """Open descriptors, the oldest first."""
        self._chunks: dict[str, dict[int, int]] = {}
        """By file, sizes of the announced chunks by offset."""
        self._ends: dict[str, int] = {}
        self._left = most_bytes
        self._uncompared = _LARGEST_CHUNK
        """Bytes that may still be compared."""

    def close(self) -> None:
        """Close all files."""
        while self._files:
            os.close(self._files.popitem()[1])
        os.close(self._folder)

    def apply(self, kind: FrameType, body: bytes) -> None:
        """Apply a frame to the mirror."""
        name, offset, data = file_of(body)
        self._left -= len(data)
        self._uncompared += len(body) * _MOST_COMPARISONS
        if self._left < 0:
            raise FrameError("more data than allowed")
        if kind is FrameType.WHOLE:
            self._replace(name, data)
        elif kind is FrameType.PAGE:
            if len(data) != HEADER_BYTES or not data.startswith(MAGIC):
                raise FrameError("not the header of a spool file")
            os.pwrite(self._open(name), data, 0)
        elif kind is FrameType.CHUNK:
            self._announce(name, offset, data)
        else:
            self._fill(name, offset, data)

    def held(self) -> Iterator[bytes]:
        """Take what lies here from an earlier connection for arrived; frames that say what that is.

        Nothing in it has been compared: that happens at the end, as with everything.
        """
        for name in filter(_NAME.fullmatch, os.listdir(self._folder)):
            descriptor = self._open(name)
            rows: list[tuple[int, int, int]] = []
            for offset, size, committed in chunks_of(descriptor, HEADER_BYTES, _LARGEST_FILE):
                if size > _LARGEST_CHUNK:
                    break
                self._chunks[name][offset] = size
                self._ends[name] = offset + size
                self._uncompared += (CHUNK_HEADER_BYTES + committed) * _MOST_COMPARISONS
                rows.append((offset, size, committed))
            for first in range(0, len(rows), _CHUNKS_AT_ONCE):
                part = rows[first : first + _CHUNKS_AT_ONCE]
                yield packed_json(FrameType.HELD, {"name": name, "chunks": part, "is_last": False})
        yield packed_json(FrameType.HELD, {"is_last": True})

    def differing(self, values: dict[str, Any]) -> list[int]:
        """Offsets of the chunks in a *check* whose content differs here; -1 for the header page."""
        name, rows = values.get("name"), values.get("chunks")
        if not isinstance(name, str) or not isinstance(rows, list):
            raise FrameError("a check without chunks")
        descriptor = self._open(name)
        wrong: list[int] = []
        for row in rows:
            if not (isinstance(row, list) and len(row) == 4 and all(isinstance(value, int) for value in row)):
                raise FrameError("a check without checksums")
            offset, size, committed, checksum = row
            at, count = (0, HEADER_BYTES) if offset < 0 else (offset, CHUNK_HEADER_BYTES + committed)
            if offset >= 0 and (self._chunks[name].get(offset) != size or not 0 <= count <= size):
                wrong.append(offset)
                continue
            self._uncompared -= count
            if self._uncompared < 0:
                raise FrameError("more to compare than has arrived")
            own = 0
            for first in range(at, at + count, 1 << 20):
                own = zlib.crc32(os.pread(descriptor, min(1 << 20, at + count - first), first), own)
            if own != checksum:
                wrong.append(offset)
        return wrong

    def complete(self, sizes: Any) -> None:
        """Give every file its final size, and remove files that no longer exist on the other machine."""
        if not isinstance(sizes, dict):
            raise FrameError("sizes that are none")
        for name, size in sizes.items():
            _check_name(name)
            if not isinstance(size, int) or not 0 <= size <= _LARGEST_FILE:
                raise FrameError("a size that is none")
            if name in self._ends:
                end = self._ends[name]
                os.ftruncate(self._open(name), max(min(size, end + _LARGEST_CHUNK), end))
        for name in os.listdir(self._folder):
            if _NAME.fullmatch(name) and name not in sizes:
                os.unlink(name, dir_fd=self._folder)

    def _announce(self, name: str, offset: int, header: bytes) -> None:
        """Note a chunk that is new or has grown."""
        if len(header) != CHUNK_HEADER_BYTES:
            raise FrameError("not the header of a chunk")
        magic, _type, _bytes, _tid, size, committed, _free = CHUNK.unpack_from(header)
        descriptor = self._open(name)
        chunks = self._chunks[name]
        end = self._ends[name]
        is_new = offset not in chunks
        if magic != CHUNK_MAGIC or offset % PAGE or size % PAGE or not size >= PAGE:
            raise FrameError("not the header of a chunk")
        if offset < HEADER_BYTES or offset + size > _LARGEST_FILE or (is_new and offset > end + LONGEST_GAP):
            raise FrameError("a chunk that lies outside its file")
        # Neighbours that a ring has emptied become one large chunk without records.
        if size > _LARGEST_CHUNK and (committed or offset + size > end):
            raise FrameError("a chunk that is too large")
        if committed > size - CHUNK_HEADER_BYTES:
            raise FrameError("a chunk with more records than room")
        for other in [other for other in chunks if offset < other < offset + size]:
            del chunks[other]
        chunks[offset] = size
        os.pwrite(descriptor, header, offset)
        if offset + size > end:
            os.ftruncate(descriptor, offset + size)
            self._ends[name] = offset + size

    def _fill(self, name: str, offset: int, data: bytes) -> None:
        descriptor = self._open(name)
        chunks = self._chunks[name]
        start = _chunk_at(chunks, offset)
        if start is None or offset < start + CHUNK_HEADER_BYTES or offset + len(data) > start + chunks[start]:
            raise FrameError("bytes outside an announced chunk")
        written = 0
        while written < len(data):
            written += os.pwrite(descriptor, data[written:], offset + written)

    def _replace(self, name: str, data: bytes) -> None:
        if name not in _SMALL_FILES:
            raise FrameError("a file that no spool has")
        if name == "session.json":
            data = self._session(data)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(
            f"{name}.part" if name == "session.json" else name, flags, 0o600, dir_fd=self._folder
        )
        with open(descriptor, "wb") as file:
            file.write(data)
        if name == "session.json":
            os.replace(f"{name}.part", name, src_dir_fd=self._folder, dst_dir_fd=self._folder)

    def _session(self, data: bytes) -> bytes:
        """The session as valid here: marked as of another machine, with our output."""
        try:
            values = read_json(data)
            host = values.get("host")
            host = {**(host if isinstance(host, dict) else {}), "reached_as": self._machine}
            # The output comes first: `warpline.recording.session.SESSION_BEGINS`.
            values.pop("output", None)
            values = {"output": str(self._output), **values, "is_remote": True, "host": host}
        except (ValueError, AttributeError, TypeError) as error:
            raise FrameError("a session that makes no sense") from error
        return json.dumps(values, indent=1, ensure_ascii=True).encode()

    def _open(self, name: str) -> int:
        descriptor = self._files.get(name)
        if descriptor is None:
            _check_name(name)
            if name in _SMALL_FILES or len(self._ends) >= _MOST_FILES:
                raise FrameError("a file that no spool has")
            while len(self._files) >= _MOST_OPEN:
                os.close(self._files.pop(next(iter(self._files))))
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            descriptor = self._files[name] = os.open(name, flags, 0o600, dir_fd=self._folder)
            self._chunks.setdefault(name, {})
            self._ends.setdefault(name, HEADER_BYTES)
        return descriptor


def _chunk_at(chunks: dict[int, int], offset: int) -> int | None:
    """The chunk that a byte lies in; usually one of the last, since bytes arrive in order."""
    for start in reversed(chunks):
        if start <= offset < start + chunks[start]:
            return start
    return None


def _check_name(name: Any) -> None:
    if not isinstance(name, str) or (name not in _SMALL_FILES and not _NAME.fullmatch(name)):
        raise FrameError("a file that no spool has")
