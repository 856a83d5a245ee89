"""Reads a spool that grows, again and again, at the cost of what is new in it.

Of the records that a ring may drop (`passing_records`, see `warpline.recording.sources.source`), only those written
since a given time are read, and the last one of each lane where records last. All others are read every time.
"""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from pathlib import Path

import numpy as np

from warpline.model.errors import RecordingError
from warpline.platform.files import open_regular
from warpline.recording.spool.file_layout import CHUNK_HEADER_BYTES, HEADER, HEADER_BYTES, PAGE, STRING_RECORD
from warpline.recording.spool.reader import (
    Bytes,
    Chunk,
    SpoolFile,
    add_strings,
    parse_header,
    scan_chunks,
)

LOOK_BACK_NS = 10_000_000_000
_DISORDER_NS = 2_000_000_000
"""How much earlier a chunk's last record may end than another record in it: GPU work arrives out of order."""
_MOST_CODES = 1 << 14
"""Up to about this many keys are told apart without sorting."""
_Lane = tuple[int, int, int, int, int, int]
"""Record type and size, thread, `free`, process and its parent of the chunks that a lasting record is of"""


@dataclass
class _Growing:
    """A chunk of records that pass: how much of it was written by when."""

    chunk: Chunk
    written: list[tuple[int, int]] = field(default_factory=list)
    """(time, bytes), ascending"""

    @property
    def is_over(self) -> bool:
        chunk = self.chunk
        room = chunk.pages * PAGE - CHUNK_HEADER_BYTES
        # Strings, which differ in size, take at least eight bytes.
        return chunk.closed or room - len(chunk.payload) < max(chunk.record_bytes, 8)

    def note(self, now_ns: int) -> None:
        """Note how much the chunk holds at this time."""
        if not self.written or self.written[-1][1] != len(self.chunk.payload):
            self.written.append((now_ns, len(self.chunk.payload)))
        elif self.written[-1][0] > now_ns:  # what `note_end` assumed
            self.written[-1] = now_ns, len(self.chunk.payload)

    def note_end(self, place: int) -> None:
        """Note the end of a finished chunk: hardly anything in it ended later than its last record does (at ``place``).

        So a reader that starts late need not read everything recorded before.
        """
        size, payload = self.chunk.record_bytes, self.chunk.payload
        if size < place + 8 or len(payload) < size:
            return
        last = len(payload) // size * size - size
        end_ns = int.from_bytes(payload[last + place : last + place + 8].tobytes(), "little")
        if end_ns:  # otherwise it is still open
            self.written.append((end_ns + _DISORDER_NS, len(payload)))

    def skipped(self, since_ns: int, place: int | None = None) -> int:
        """Bytes that were written before ``since_ns``; ``place`` is that of the time in records that ascend in it."""
        written = self.written
        after = bisect_right(written, since_ns, key=itemgetter(0))
        count = written[after - 1][1] if after else 0
        if place is None or after == len(written):
            return count
        # What was written by the next time that is known: some of it before this one.
        size, payload = self.chunk.record_bytes, self.chunk.payload

        def time_of(row: int) -> int:
            at = row * size + place
            return int.from_bytes(payload[at : at + 8].tobytes(), "little")

        return size * bisect_left(range(written[after][1] // size), since_ns, count // size, key=time_of)

    def forget(self, before_ns: int) -> None:
        """Forget earlier times: nobody will ask for them again."""
        while len(self.written) > 1 and self.written[1][0] <= before_ns:
            del self.written[0]


class GrowingSpool:
    """One file. Finished chunks older than what is asked for are never looked at again."""

    def __init__(
        self,
        path: Path,
        passing: frozenset[int],
        lasting: Mapping[int, tuple[int, int, int]],
        places: Mapping[int, tuple[int, int]],
    ) -> None:
        self._path, self._passing, self._lasting = path, passing, lasting
        self._ends = {kind: at for kind, (at, _first, _behind) in lasting.items()}
        self._ends.update((kind, stop) for kind, (_start, stop) in places.items())
        self._page = 1
        """Where the chunks that are not known yet begin"""
        self._recent: list[_Growing] = []
        self._kept: list[Chunk] = []
        self._last: dict[_Lane, dict[bytes, bytes]] = {}
        self._harvested: dict[int, int] = {}
        self._former: list[tuple[int, dict[_Lane, dict[bytes, bytes]], dict[int, int]]] = []
        """The last records as they were at earlier times, and how much of each chunk they are of"""
        self._strings: dict[int, str] = {0: ""}
        self._strings_read: dict[int, int] = {}

    def note(self, now_ns: int) -> None:
        """Remember that nothing that was read is later than ``now_ns``."""
        for growing in self._recent:
            growing.note(now_ns)

    def read(self, since_ns: int) -> list[SpoolFile]:
        """The file for each process that wrote into it, with the records since ``since_ns``.

        ``since_ns`` may be at most `LOOK_BACK_NS` earlier than in the last call; older records are left out. Raises
        RecordingError and OSError.
        """
        spool = SpoolFile.__new__(SpoolFile)
        with open(open_regular(self._path), "rb") as file:
            if os.fstat(file.fileno()).st_size < HEADER_BYTES:
                raise RecordingError(f"{self._path}: not a spool file, it ends inside its header")
            data: Bytes = np.asarray(np.memmap(file, np.uint8, "r"))
            spool.path = self._path
            spool.header = parse_header(self._path, data[: HEADER.size].tobytes())
            self._look(data, file.fileno())
        chunks = [*self._kept, *self._since(since_ns)]
        spool.chunks = (*self._carried(), *chunks)
        parts = spool.by_process()
        if len(parts) == 1:
            spool.__dict__["strings"] = self._known_strings()
        return parts

    def _look(self, data: Bytes, descriptor: int) -> None:
        self._kept = [self._now(chunk, data, descriptor) for chunk in self._kept]
        for growing in self._recent:
            growing.chunk = self._now(growing.chunk, data, descriptor)
        for chunk in scan_chunks(data, descriptor, self._page):
            self._page = chunk.page + chunk.pages
            if chunk.record_type in self._passing:
                growing = _Growing(chunk)
                if chunk.record_type in self._ends and growing.is_over:
                    growing.note_end(self._ends[chunk.record_type])
                self._recent.append(growing)
            else:
                self._kept.append(chunk)

    @staticmethod
    def _now(chunk: Chunk, data: Bytes, descriptor: int) -> Chunk:
        """A known chunk as it is now."""
        if _Growing(chunk).is_over:
            return chunk
        return next(scan_chunks(data, descriptor, chunk.page), chunk)

    def _since(self, since_ns: int) -> list[Chunk]:
        if self._former and since_ns < self._former[-1][0]:
            since_ns = self._go_back(since_ns)
        found, recent = [], []
        for growing in self._recent:
            lasting = self._lasting.get(growing.chunk.record_type)
            skipped = growing.skipped(since_ns, None if lasting is None else lasting[0])
            self._harvest(growing.chunk, skipped)
            if skipped < len(growing.chunk.payload):
                found.append(replace(growing.chunk, payload=growing.chunk.payload[skipped:]))
            growing.forget(since_ns - LOOK_BACK_NS)
            is_old = growing.skipped(since_ns - LOOK_BACK_NS) == len(growing.chunk.payload)
            if is_old and growing.is_over:
                self._harvested.pop(growing.chunk.page, None)
            else:
                recent.append(growing)
        self._recent = recent
        last = {lane: dict(rows) for lane, rows in self._last.items()}
        self._former.append((since_ns, last, dict(self._harvested)))
        while len(self._former) > 1 and self._former[1][0] <= since_ns - LOOK_BACK_NS:
            del self._former[0]
        return found

    def _go_back(self, since_ns: int) -> int:
        """Restore the last records as they were at or before ``since_ns``; returns that time."""
        while len(self._former) > 1 and self._former[-1][0] > since_ns:
            del self._former[-1]
        since_ns, self._last, self._harvested = self._former.pop()
        return since_ns

    def _harvest(self, chunk: Chunk, stop: int) -> None:
        """Keep the last record of each lane among those that are skipped."""
        lasting = self._lasting.get(chunk.record_type)
        start = self._harvested.get(chunk.page, 0)
        if lasting is None or stop <= start:
            return
        self._harvested[chunk.page] = stop
        _time, first, behind = lasting
        size = chunk.record_bytes
        rows = chunk.payload[start:stop].reshape(-1, size)
        lane = (chunk.record_type, size, chunk.tid, chunk.free, chunk.process, chunk.parent)
        last = self._last.setdefault(lane, {})
        for place in _last_rows(np.ascontiguousarray(rows[:, first:behind])):
            row = rows[place].tobytes()
            last[row[first:behind]] = row

    def _carried(self) -> list[Chunk]:
        """The records that were kept, in the order of their times."""
        chunks = []
        for lane, rows in self._last.items():
            record_type, size, tid, free, process, parent = lane
            at = self._lasting[record_type][0]
            ordered = sorted(rows.values(), key=lambda row: int.from_bytes(row[at : at + 8], "little"))
            payload = np.frombuffer(b"".join(ordered), np.uint8)
            chunks.append(Chunk(record_type, size, tid, free, payload, process, parent))
        return chunks

    def _known_strings(self) -> dict[int, str]:
        for chunk in self._kept:
            read = self._strings_read.get(chunk.page, 0)
            if chunk.record_type == STRING_RECORD and read < len(chunk.payload):
                more = add_strings(self._strings, chunk.payload[read:].tobytes())
                self._strings_read[chunk.page] = read + more
        return self._strings


def _last_rows(keys: Bytes) -> list[int]:
    """The last row of each distinct key; uint8 [n, bytes of a key]."""
    count, size = keys.shape
    if size == 4:  # two numbers, usually small
        first, second = keys.view("<u2").T
        codes = first.astype(np.int64) * (int(second.max()) + 1) + second
        if (most := int(codes.max())) < _MOST_CODES:
            # Of assignments to the same place, the last one counts.
            last = np.full(most + 1, -1)
            last[codes] = np.arange(count)
            found: list[int] = last[last >= 0].tolist()
            return found
    _keys, places = np.unique(keys[::-1].view(f"S{size}").reshape(-1), return_index=True)
    return [count - 1 - place for place in places.tolist()]


def earliest_start(spools: Sequence[SpoolFile], places: Mapping[int, tuple[int, int]], since_ns: int) -> int:
    """The earliest start of what ended at ``since_ns`` or later; ``since_ns`` where nothing began before it.

    ``places`` are the offsets of start and end in records of each type (u64, CLOCK_MONOTONIC ns).
    """
    earliest = since_ns
    for spool in spools:
        for chunk in spool.chunks:
            first, last = places.get(chunk.record_type, (0, 0))
            size = chunk.record_bytes
            count = len(chunk.payload) // size if size >= max(first, last) + 8 else 0
            if first == last or not count:
                continue
            rows = chunk.payload[: count * size].reshape(count, size)
            start, stop = (
                np.ascontiguousarray(rows[:, place : place + 8]).view("<u8").reshape(-1)
                for place in (first, last)
            )
            start = start[(stop >= since_ns) & (start > 0)]
            earliest = min(earliest, int(start.min()) if len(start) else earliest)
    return earliest


class GrowingSpools:
    """All spool files of a recording that runs."""

    def __init__(
        self,
        directory: Path,
        passing: frozenset[int],
        lasting: Mapping[int, tuple[int, int, int]],
        places: Mapping[int, tuple[int, int]],
    ) -> None:
        """``places`` are the offsets of start and end in the records of passing types, where they have them."""
        self._directory, self._passing, self._lasting, self._places = directory, passing, lasting, places
        self._files: dict[Path, GrowingSpool] = {}

    def note(self, now_ns: int) -> None:
        """Remember that nothing that was read is later than ``now_ns``."""
        for file in self._files.values():
            file.note(now_ns)

    def read(self, since_ns: int) -> tuple[list[SpoolFile], list[str]]:
        """As `warpline.recording.spool.reader.read_spools`, with the records since ``since_ns``."""
        spools: list[SpoolFile] = []
        problems: list[str] = []
        for path in sorted(self._directory.glob("*.spool")):
            file = self._files.get(path)
            if file is None:
                file = self._files[path] = GrowingSpool(path, self._passing, self._lasting, self._places)
            try:
                spools.extend(file.read(since_ns))
            except (RecordingError, OSError, ValueError) as error:
                problems.append(str(error))
        return spools, problems
