"""Cuts spool files to the ring of a recording: older records are dropped, records that cross its start are cut."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from warpline.recording.session import Session
from warpline.recording.spool.reader import Bytes, Chunk, SpoolFile
from warpline.recording.spool.schedule import Schedule

Places = tuple[int, int]
"""Offsets of a record's start and end (u64, CLOCK_MONOTONIC ns)."""


def in_ring(session: Session, schedule: Schedule) -> tuple[Session, Schedule]:
    """The session and schedule cut to the ring; unchanged without a ring or if the recording is shorter."""
    start = schedule.stop_ns - session.options.ring_ns
    if not session.options.ring_ns or start <= schedule.start_ns:
        return session, schedule
    pauses = schedule.pauses[schedule.pauses[:, 1] > start]
    pauses = np.maximum(pauses, start)
    moved = start - session.start_monotonic_ns
    session = replace(
        session, start_monotonic_ns=start, start_realtime_ns=session.start_realtime_ns + moved, is_cut=True
    )
    return session, Schedule(start, schedule.stop_ns, pauses)


def cut_to_ring(spools: Sequence[SpoolFile], passing: Mapping[int, Places], start_ns: int) -> None:
    """Drop records that ended before ``start_ns``, and let those that cross it begin there.

    ``passing`` gives the record types and the offsets of their times; other records are kept.
    """
    for spool in spools:
        spool.chunks = tuple(
            _cut(chunk, passing[chunk.record_type], start_ns) if chunk.record_type in passing else chunk
            for chunk in spool.chunks
        )


def _cut(chunk: Chunk, places: Places, start_ns: int) -> Chunk:
    size, (first, last) = chunk.record_bytes, places
    count = len(chunk.payload) // size if size else 0
    if not count or max(places) + 8 > size:
        return chunk
    records = chunk.payload[: count * size].reshape(count, size)
    kept = _times(records, last) >= start_ns
    if not kept.all():
        records = records[kept]
    early = _times(records, first) < start_ns
    if first != last and early.any():
        records = records.copy()
        records[early, first : first + 8] = np.frombuffer(np.uint64(start_ns).tobytes(), np.uint8)
    return replace(chunk, payload=np.ascontiguousarray(records).reshape(-1))


def _times(records: Bytes, place: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return np.ascontiguousarray(records[:, place : place + 8]).view(np.uint64).reshape(-1)
