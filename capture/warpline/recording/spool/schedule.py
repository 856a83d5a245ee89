"""When was recorded: start, end and pauses, from the spool files of a recording."""

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

Int64Array = npt.NDArray[np.int64]

_RANGE = "capture range"
FOLLOWED = "capture range, as the recorder saw it"
"""Why the recorder says that recording began or stopped when it was the program that changed it. That is later than it
was, and only counts where no program could write down its own."""
# The recorder reads the clock after it has looked; the program may have gone on in between.
_LOOK_NS = 100_000_000


@dataclass(frozen=True)
class Schedule:
    """When was recorded, CLOCK_MONOTONIC ns: from ``start_ns`` to ``stop_ns`` without ``pauses`` (int64 [n, 2])."""

    start_ns: int
    stop_ns: int
    pauses: Int64Array


def read_schedule(
    session: Session, spools: Sequence[SpoolFile], timed_records: Mapping[int, int]
) -> Schedule:
    """Start, end and pauses; without a proper end, the last moment anything was recorded ends it.

    ``timed_records`` says at which byte of records of a type their CLOCK_MONOTONIC ns stands.
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
    """Times and states, in order."""
    found = sorted(
        (time_ns, state, spool.text(reason))
        for spool in spools
        for time_ns, state, reason in spool.records(
            records.RECORDING_STATE, records.recording_state
        ).values.tolist()
    )
    told = [(time_ns, state) for time_ns, state, reason in found if reason == _RANGE]
    changes: list[tuple[int, int]] = []
    followed_ns = -1
    for time_ns, state, reason in found:
        if reason != FOLLOWED or not _is_told(told, state, followed_ns, time_ns):
            changes.append((time_ns, state))
        if reason == FOLLOWED:
            followed_ns = time_ns
    return changes


def _is_told(told: Sequence[tuple[int, int]], state: int, after_ns: int, followed_ns: int) -> bool:
    """Whether a program wrote down what the recorder saw at ``followed_ns``, having seen another at ``after_ns``.

    A record may be lost, of a full spool say: what the recorder saw is then all there is of that change.
    """
    place = bisect_right(told, followed_ns, key=lambda change: change[0])
    contrary_ns = followed_ns
    for time_ns, told_state in reversed(told[:place]):
        if time_ns <= after_ns:
            return False
        if told_state == state:
            return followed_ns - contrary_ns <= _LOOK_NS
        contrary_ns = time_ns
    return False


def last_time(spools: Sequence[SpoolFile], start_ns: int, timed_records: Mapping[int, int]) -> int:
    """The latest CLOCK_MONOTONIC ns of any record of the collectors, ``start_ns`` when there is none."""
    latest = start_ns
    for spool in spools:
        for chunk in spool.chunks:
            offset = timed_records.get(chunk.record_type)
            count = len(chunk.payload) // chunk.record_bytes if chunk.record_bytes else 0
            if offset is not None and count and offset + 8 <= chunk.record_bytes:
                last = (count - 1) * chunk.record_bytes + offset
                time_ns = int(chunk.payload[last : last + 8].view("<u8")[0])
                # A day beyond the header's time can only be garbage.
                if time_ns < spool.header.monotonic_ns + 366 * 86_400_000_000_000:
                    latest = max(latest, time_ns)
    return latest
