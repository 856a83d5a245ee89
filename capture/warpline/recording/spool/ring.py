"""What a ring keeps of spool files: records of the last minutes, those that reach into them cut at its beginning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from warpline.recording.session import Session
from warpline.recording.spool.reader import Bytes, Chunk, SpoolFile
from warpline.recording.spool.schedule import Schedule

Places = tuple[int, int]
"""At which bytes of a record its start and its end stand (u64, CLOCK_MONOTONIC ns)."""


def in_ring(session: Session, schedule: Schedule) -> tuple[Session, Schedule]:
    """A recording that begins where its ring does; as it is when it has none, or is shorter."""
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
    """Leave out records that ended before ``start_ns``, and begin there those that reach beyond it.

    ``passing`` says of which types, and where their times stand; all others stay.
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
