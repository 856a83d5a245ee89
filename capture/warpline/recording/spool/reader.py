"""The spool format (docs/spool.md) and its reader, for files of Python and of the agent.

The reader trusts nothing: writers may have been killed at any moment, and files may be damaged.
"""

from __future__ import annotations

import copy
import errno
import os
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.model.errors import RecordingError
from warpline.platform.files import map_for_reading, open_regular
from warpline.recording.session import LATEST_NS
from warpline.recording.spool.file_layout import (
    CHUNK,
    CHUNK_HEADER_BYTES,
    CHUNK_MAGIC,
    CHUNK_PROCESS,
    CLOSED_OFFSET,
    HEADER,
    HEADER_BYTES,
    MAGIC,
    PAGE,
    PROCESS_OFFSET,
    STRING_RECORD,
    VERSION,
)
from warpline.recording.spool.record_layout import RecordLayout

_MOST = 1 << 53
"""Upper limit of any count in a file."""
_LARGEST_CHUNK = 1 << 20
"""Writers make no larger chunks. The reader checks larger ones for holes."""
_MOST_CHILDREN = 1024
"""The most processes that may share another one's file; chunks of further ones are left out."""

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, kw_only=True)
class SpoolHeader:
    """The header of a spool file; times are ns of CLOCK_MONOTONIC and CLOCK_REALTIME."""

    pid: int
    monotonic_ns: int
    realtime_ns: int
    lost: int
    parent_pid: int
    finished: bool
    error: int
    producer: str


@dataclass(frozen=True)
class Chunk:
    """A run of records of one type written by thread ``tid``; ``payload`` is the committed bytes as uint8 [n].

    ``process`` and ``parent`` are set where a child that was forked in a sandbox wrote into its parent's file. The
    chunk takes ``pages`` of the file from ``page`` on; no more is written to one that is ``closed``.
    """

    record_type: int
    record_bytes: int
    tid: int
    free: int
    payload: Bytes
    process: int = 0
    parent: int = 0
    page: int = 0
    pages: int = 0
    closed: bool = False


@dataclass(frozen=True)
class Records:
    """All records of one type: structured ``values`` [n], and for each the ``tid`` and ``free`` of its chunk [n]."""

    values: npt.NDArray[np.void]
    tid: npt.NDArray[np.uint32]
    free: npt.NDArray[np.uint64]


class SpoolFile:
    """A mapped spool file. It may still grow; its content is what was committed when it was opened."""

    def __init__(self, path: Path) -> None:
        """Raises RecordingError when the file is not a spool file, OSError when it cannot be read."""
        self.path = path
        with open(open_regular(path), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size < HEADER_BYTES:
                raise RecordingError(f"{path}: not a spool file, it ends inside its header")
            self._data: Bytes = np.frombuffer(map_for_reading(file.fileno(), size), np.uint8)
            self.header = parse_header(path, self._data[: HEADER.size].tobytes())
            self.chunks: tuple[Chunk, ...] = tuple(scan_chunks(self._data, file.fileno()))

    def by_process(self) -> list[SpoolFile]:
        """This file for each process that wrote into it: first its own, then children forked in a sandbox."""
        chunks: dict[int, list[Chunk]] = {0: []}
        parents: dict[int, int] = {}
        for chunk in self.chunks:
            if chunk.process in chunks or len(chunks) <= _MOST_CHILDREN:
                chunks.setdefault(chunk.process, []).append(chunk)
                parents.setdefault(chunk.process, chunk.parent)
        if len(chunks) == 1:
            return [self]
        return [
            self._of_process(process, parents.get(process, 0), chunks, parents) for process in sorted(chunks)
        ]

    def _of_process(
        self, process: int, parent: int, chunks: dict[int, list[Chunk]], parents: dict[int, int]
    ) -> SpoolFile:
        part = copy.copy(self)
        part.chunks = tuple(chunks[process])
        if process:
            part.header = replace(self.header, pid=process, parent_pid=parent, lost=0, error=0)
            # It continues the ids of its forefathers' strings; its own come first, because the first definition counts.
            for _generation in range(64):
                known = chunks.get(0 if parent == self.header.pid else parent, ())
                part.chunks += tuple(chunk for chunk in known if chunk.record_type == STRING_RECORD)
                if parent in (0, self.header.pid):
                    break
                parent = parents.get(parent, 0)
        return part

    def of_type(self, record_type: int, free: int | None = None) -> list[Chunk]:
        """The chunks of one record type in file order; with ``free``, only those with this value."""
        return [
            chunk
            for chunk in self.chunks
            if chunk.record_type == record_type
            and len(chunk.payload)
            and (free is None or chunk.free == free)
        ]

    def records(self, record_type: int, dtype: npt.DTypeLike, free: int | None = None) -> Records:
        """All records of a type (with ``free``: of chunks with this value) as one structured array, in file order.

        Records longer than ``dtype`` come from a newer writer that appended fields: their beginning is used. Chunks of
        shorter records and an incomplete last record of a chunk are left out.
        """
        wanted = np.dtype(dtype)
        return _joined(list(self._blocks(record_type, wanted, free)), wanted)

    def pieces(self, record_type: int, dtype: npt.DTypeLike, size: int = 1 << 14) -> Iterator[Records]:
        """All records of a type as from `records`, about ``size`` at a time, which fit the processor's cache."""
        wanted = np.dtype(dtype)
        waiting: list[tuple[Bytes, Chunk]] = []
        count = 0
        for block, chunk in self._blocks(record_type, wanted, None):
            for first in range(0, len(block), size * wanted.itemsize):
                part = block[first : first + size * wanted.itemsize]
                waiting.append((part, chunk))
                count += len(part) // wanted.itemsize
                if count >= size:
                    yield _joined(waiting, wanted)
                    waiting, count = [], 0
        if waiting:
            yield _joined(waiting, wanted)

    def _blocks(
        self, record_type: int, wanted: np.dtype[Any], free: int | None
    ) -> Iterator[tuple[Bytes, Chunk]]:
        """The whole records of each chunk, as bytes, cut to the wanted size."""
        for chunk in self.of_type(record_type, free):
            size = chunk.record_bytes
            if size < wanted.itemsize:
                continue
            count = len(chunk.payload) // size
            block = chunk.payload[: count * size]
            if size > wanted.itemsize:
                block = np.ascontiguousarray(block.reshape(count, size)[:, : wanted.itemsize]).reshape(-1)
            yield block, chunk

    def columns(
        self, record_type: int, dtype: npt.DTypeLike, names: Sequence[str], free: int | None = None
    ) -> list[npt.NDArray[Any]]:
        """Some fields of all records of a type (with ``free``: of chunks with this value), in file order: [n] per name.

        Like `records`, but without copying whole records, for millions of them.
        """
        wanted = np.dtype(dtype)
        parts: list[npt.NDArray[np.void]] = []
        for chunk in self.of_type(record_type, free):
            if chunk.record_bytes == wanted.itemsize:
                parts.append(
                    chunk.payload[: len(chunk.payload) // wanted.itemsize * wanted.itemsize].view(wanted)
                )
            elif chunk.record_bytes > wanted.itemsize:
                return [self.records(record_type, dtype, free).values[name] for name in names]
        total = sum(len(part) for part in parts)
        columns: list[npt.NDArray[Any]] = [np.empty(total, wanted[name]) for name in names]
        position = 0
        for part in parts:
            for column, name in zip(columns, names, strict=True):
                column[position : position + len(part)] = part[name]
            position += len(part)
        for column, name in zip(columns, names, strict=True):
            if name.endswith("_ns"):
                _limit_times(column)
        return columns

    def writers(
        self, record_type: int, dtype: npt.DTypeLike, free: int | None = None
    ) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint32]]:
        """``free`` and ``tid`` of the chunk of each record of `columns`: [n] each.

        Broadcast from one element if all values are equal.
        """
        size = np.dtype(dtype).itemsize
        chunks = [chunk for chunk in self.of_type(record_type, free) if chunk.record_bytes >= size]
        counts = [len(chunk.payload) // chunk.record_bytes for chunk in chunks]
        frees = np.array([chunk.free for chunk in chunks], np.uint64)
        tids = np.array([chunk.tid for chunk in chunks], np.uint32)

        def each(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
            if len(values) and (values == values[0]).all():
                return np.broadcast_to(values[0], sum(counts))
            return np.repeat(values, counts)

        return each(frees), each(tids)

    @cached_property
    def strings(self) -> dict[int, str]:
        """Interned strings by id; 0 is the empty string. Bytes that are not UTF-8 are replaced."""
        strings = {0: ""}
        for chunk in self.of_type(STRING_RECORD):
            add_strings(strings, chunk.payload.tobytes())
        return strings

    def text(self, number: int) -> str:
        """The string of an id; ``?`` for an id that was never defined."""
        return self.strings.get(int(number), "?")


def add_strings(strings: dict[int, str], payload: bytes) -> int:
    """Add the whole string records of a payload, unless their ids are known; returns how many bytes those took."""
    position = 0
    while position + 8 <= len(payload):
        number, length = struct.unpack_from("<II", payload, position)
        if position + 8 + length > len(payload):
            break
        strings.setdefault(number, payload[position + 8 : position + 8 + length].decode("utf-8", "replace"))
        position += 8 + length + -length % 8
    return position


def _with_limited_times(values: npt.NDArray[np.void]) -> npt.NDArray[np.void]:
    """The same records, with times limited to `LATEST_NS` so that signed columns and sums can hold them."""
    for name in values.dtype.names or ():
        if name.endswith("_ns"):
            _limit_times(values[name])
    return values


def _limit_times(times: npt.NDArray[Any]) -> None:
    if len(times) and times.dtype == np.uint64 and times.max() > LATEST_NS:
        np.minimum(times, LATEST_NS, out=times)


def _joined(blocks: Sequence[tuple[Bytes, Chunk]], wanted: np.dtype[Any]) -> Records:
    counts = [len(block) // wanted.itemsize for block, _chunk in blocks]
    return Records(
        # Joined as bytes, because records would be copied one by one.
        _with_limited_times(np.concatenate([block for block, _chunk in blocks]).view(wanted))
        if blocks
        else np.empty(0, wanted),
        np.repeat(np.array([chunk.tid for _block, chunk in blocks], np.uint32), counts),
        np.repeat(np.array([chunk.free for _block, chunk in blocks], np.uint64), counts),
    )


def read_spools(directory: Path) -> tuple[list[SpoolFile], list[str]]:
    """All readable spool files of a directory, sorted by name, and an error text for each unreadable one.

    A file that several processes wrote is there for each of them.
    """
    spools: list[SpoolFile] = []
    problems: list[str] = []
    for path in sorted(directory.glob("*.spool")):
        try:
            spools.extend(SpoolFile(path).by_process())
        except (RecordingError, OSError, ValueError) as error:
            problems.append(str(error))
    return spools, problems


def rows_of(spools: Sequence[SpoolFile], record_type: int, layout: RecordLayout) -> npt.NDArray[np.void]:
    """All records of a type in all files: structured [n], files one after the other."""
    parts = [spool.records(record_type, layout).values for spool in spools]
    parts = [part for part in parts if len(part)]
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.empty(0, layout)


def parse_header(path: Path, raw: bytes) -> SpoolHeader:
    fields = HEADER.unpack(raw)
    magic, version, pid, monotonic_ns, realtime_ns, _next, lost, parent, finished, error, producer, _cap = (
        fields
    )
    if magic != MAGIC:
        raise RecordingError(f"{path}: not a spool file")
    if version != VERSION:
        raise RecordingError(f"{path}: spool version {version}, this Warpline reads {VERSION}")
    name = producer.split(b"\0")[0].decode("utf-8", "replace")
    monotonic_ns, realtime_ns = min(monotonic_ns, LATEST_NS), min(realtime_ns, LATEST_NS)
    return SpoolHeader(
        pid=pid,
        monotonic_ns=monotonic_ns,
        realtime_ns=realtime_ns,
        lost=min(lost, _MOST),
        parent_pid=parent,
        finished=finished == 1,
        error=error,
        producer=name,
    )


def scan_chunks(data: Bytes, descriptor: int, page: int = 1) -> Iterator[Chunk]:
    """The chunks of an open file that is mapped as ``data``, from a page on."""
    pages = len(data) // PAGE
    position = _written_page(data, page, pages, descriptor)
    while position < pages:
        start = position * PAGE
        header = data[start : start + CHUNK_HEADER_BYTES].tobytes()
        magic, record_type, record_bytes, tid, size, committed, free = CHUNK.unpack_from(header)
        if magic != CHUNK_MAGIC or size < PAGE or size % PAGE or size > len(data) - start:
            return
        first, committed = start + CHUNK_HEADER_BYTES, min(committed, size - CHUNK_HEADER_BYTES)
        if committed > _LARGEST_CHUNK:
            committed = max(0, min(committed, _next_hole(descriptor, start, len(data)) - first))
        process, parent = CHUNK_PROCESS.unpack_from(header, PROCESS_OFFSET)
        yield Chunk(
            record_type,
            record_bytes,
            tid,
            free,
            data[first : first + committed],
            process,
            parent,
            position,
            size // PAGE,
            data[start + CLOSED_OFFSET] != 0,
        )
        position = _written_page(data, position + size // PAGE, pages, descriptor)


def _written_page(data: Bytes, position: int, pages: int, descriptor: int) -> int:
    """The next page that does not begin with zeros. Checks many pages at once: reserved files are mostly zeros.

    Passes over holes, which may be larger than all disks.
    """
    size = 1
    while position < pages:
        if size > 1:
            position = max(position, min(pages, _next_data(descriptor, position * PAGE, len(data)) // PAGE))
            if position == pages:
                break
        block = data[position * PAGE : min(position + size, pages) * PAGE]
        written = np.flatnonzero(block.reshape(-1, PAGE)[:, :4].any(1))
        if len(written):
            return position + int(written[0])
        position, size = position + size, min(2 * size, 4096)
    return pages


def _next_data(descriptor: int, offset: int, size: int) -> int:
    """Where the file has data again from ``offset`` on; ``size`` where it has none, ``offset`` where unknown."""
    if not hasattr(os, "SEEK_DATA"):
        return offset
    try:
        return os.lseek(descriptor, offset, os.SEEK_DATA)
    except OSError as error:
        return size if error.errno == errno.ENXIO else offset


def _next_hole(descriptor: int, offset: int, size: int) -> int:
    """Where the next hole of the file begins; ``size`` where unknown."""
    if not hasattr(os, "SEEK_HOLE"):
        return size
    try:
        return os.lseek(descriptor, offset, os.SEEK_HOLE)
    except OSError:
        return size
