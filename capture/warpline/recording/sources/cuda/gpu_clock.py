"""Converts times of GPU records to CLOCK_MONOTONIC.

The agent asks CUPTI to use CLOCK_MONOTONIC. Versions that refuse, or that ignore it for times taken on the device, use
CLOCK_REALTIME, which is converted with the clock pairs in the spool.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.recording.session import LATEST_NS
from warpline.recording.spool import records
from warpline.recording.spool.reader import SpoolFile

Int64Array = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Intervals:
    """Times of records, CLOCK_MONOTONIC int64 [n]; only those with ``is_kept`` [n] belong in the capture."""

    start_ns: Int64Array
    stop_ns: Int64Array
    is_kept: npt.NDArray[np.bool_]
    unknown: int
    """Number of records with invalid times; the others that are not kept ended before the ring."""

    def of(self, values: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Int64Array, Int64Array]:
        """The kept records, with their starts and stops."""
        if self.is_kept.all():
            return values, self.start_ns, self.stop_ns
        return values[self.is_kept], self.start_ns[self.is_kept], self.stop_ns[self.is_kept]


@dataclass(frozen=True)
class GpuClock:
    """Converts the GPU times of one process; both arrays int64 [n], ``other_ns`` ascending."""

    other_ns: Int64Array
    monotonic_ns: Int64Array
    is_monotonic: bool
    since_ns: int = 0
    """Start of the ring (CLOCK_MONOTONIC), 0 without one; records that cross it are cut."""

    def intervals(self, values: npt.NDArray[np.void]) -> Intervals:
        """The times of records with a ``start_ns`` and an ``end_ns``."""
        start, stop = self.monotonic(values["start_ns"]), self.monotonic(values["end_ns"])
        is_known = are_valid(start, stop) & (values["start_ns"] > 0)
        is_kept = is_known if not self.since_ns else is_known & (stop >= self.since_ns)
        start = np.maximum(start, self.since_ns) if self.since_ns else start
        return Intervals(start, stop, is_kept, int((~is_known).sum()))

    def monotonic(self, times: npt.ArrayLike) -> Int64Array:
        """Recorded times as CLOCK_MONOTONIC ns, int64."""
        values = np.asarray(times).astype(np.int64)
        if not len(self.other_ns):
            return values
        # The two clocks are decades apart: realtime counts from 1970, monotonic from the boot.
        middle = (int(self.other_ns[0]) + int(self.monotonic_ns[0])) // 2
        is_other = values > middle if self.is_monotonic else np.full(values.shape, True)
        if not is_other.any():
            return values
        # Interpolates offsets, not times: a float64 holds offsets to the nanosecond.
        offset = self.monotonic_ns - self.other_ns
        shift = np.interp(
            (values - self.other_ns[0]).astype(np.float64),
            (self.other_ns - self.other_ns[0]).astype(np.float64),
            (offset - offset[0]).astype(np.float64),
        )
        converted = values + int(offset[0]) + np.rint(shift).astype(np.int64)
        return np.where(is_other, converted, values)


def gpu_clock(spool: SpoolFile, is_monotonic: bool, since_ns: int = 0) -> GpuClock:
    """The clock of a process from its clock pairs: CUPTI's own reading if present, else CLOCK_REALTIME."""
    pairs = spool.records(records.CLOCK_PAIR, records.clock_pair).values
    third, realtime = pairs["third_ns"].astype(np.int64), pairs["realtime_ns"].astype(np.int64)
    monotonic = pairs["monotonic_ns"].astype(np.int64)
    if not is_monotonic and (third > 0).any():
        other, monotonic = third[third > 0], monotonic[third > 0]
    else:
        other = realtime
    order = np.argsort(other, kind="stable")
    return GpuClock(other[order], monotonic[order], is_monotonic, since_ns)


def are_valid(start_ns: Int64Array, stop_ns: Int64Array) -> npt.NDArray[np.bool_]:
    """Which intervals are valid. CUPTI gives 0 when it cannot read a clock, and a file may be damaged."""
    return (start_ns > 0) & (stop_ns >= start_ns) & (stop_ns < LATEST_NS)
