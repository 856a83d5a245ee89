"""Reads start, end and pauses of a recording from its spool files."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warpline.recording.control_page import RecordingState
from warpline.recording.session import Session
from warpline.recording.spool import records
from warpline.recording.spool.reader import SpoolFile
from warpline.recording.spool.records import FOLLOWED

Int64Array = npt.NDArray[np.int64]

_RANGE = "capture range"
# The recorder reads the clock after the control page; the program may have changed it in between.
_LOOK_NS = 100_000_000


@dataclass(frozen=True)
class Schedule:
    """The recorded time in CLOCK_MONOTONIC ns: ``start_ns`` to ``stop_ns`` without ``pauses`` (int64 [n, 2])."""

    start_ns: int
    stop_ns: int
    pauses: Int64Array


def read_schedule(
    session: Session, spools: Sequence[SpoolFile], timed_records: Mapping[int, int]
) -> Schedule:
    """Start, end and pauses. If the end is missing, the last record ends the recording.

    ``timed_records`` gives the offset of the CLOCK_MONOTONIC ns in records of each type.
    """
    start = session.start_monotonic_ns
    stop = session.stop_monotonic_ns
    pauses: list[tuple[int, int]] = []
    paused_since: int | None = None
    for time_ns, state in _changes(spools):
        if state == RecordingState.PAUSED and paused_since is None:
            paused_since = time_ns
        elif state == RecordingState.RECORDING and paused_since is not None:
            if time_ns > start:
                pauses.append((max(paused_since, start), time_ns))
            paused_since = None
        elif state == RecordingState.STOPPED and stop is None:
            stop = time_ns
    if stop is None:
        stop = max(last_time(spools, start, timed_records), start)
    if paused_since is not None and paused_since < stop:
        pauses.append((paused_since, stop))
    return Schedule(start, stop, np.array(pauses, np.int64).reshape(-1, 2))


def _changes(spools: Sequence[SpoolFile]) -> list[tuple[int, int]]:
    """The changes of state: (time, state), in order."""
    reported = sorted(
        (time_ns, state, spool.text(reason))
        for spool in spools
        for time_ns, state, reason in spool.records(
            records.RECORDING_STATE, records.recording_state
        ).values.tolist()
    )
    by_program = [(time_ns, state) for time_ns, state, reason in reported if reason == _RANGE]
    changes: list[tuple[int, int]] = []
    followed_ns = -1
    for time_ns, state, reason in reported:
        if reason != FOLLOWED or not _is_recorded(by_program, state, followed_ns, time_ns):
            changes.append((time_ns, state))
        if reason == FOLLOWED:
            followed_ns = time_ns
    return changes


def _is_recorded(by_program: Sequence[tuple[int, int]], state: int, after_ns: int, followed_ns: int) -> bool:
    """Whether the program recorded the change that the recorder saw at ``followed_ns``, after one at ``after_ns``.

    The program's record may be lost, for example when the spool is full. The recorder's time is used then.
    """
    place = bisect_right(by_program, followed_ns, key=lambda change: change[0])
    contrary_ns = followed_ns
    for time_ns, program_state in reversed(by_program[:place]):
        if time_ns <= after_ns:
            return False
        if program_state == state:
            return followed_ns - contrary_ns <= _LOOK_NS
        contrary_ns = time_ns
    return False


def last_time(spools: Sequence[SpoolFile], start_ns: int, timed_records: Mapping[int, int]) -> int:
    """The latest time (CLOCK_MONOTONIC ns) in any timed record; ``start_ns`` without one."""
    latest = start_ns
    for spool in spools:
        for chunk in spool.chunks:
            offset = timed_records.get(chunk.record_type)
            count = len(chunk.payload) // chunk.record_bytes if chunk.record_bytes else 0
            if offset is not None and count and offset + 8 <= chunk.record_bytes:
                last = (count - 1) * chunk.record_bytes + offset
                time_ns = int(chunk.payload[last : last + 8].view("<u8")[0])
                # A time a year after the header's is damage.
                if time_ns < spool.header.monotonic_ns + 366 * 86_400_000_000_000:
                    latest = max(latest, time_ns)
    return latest
