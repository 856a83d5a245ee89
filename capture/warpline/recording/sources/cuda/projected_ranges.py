"""The ranges of one process's host projected onto its GPU work."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warpline.recording.sources.host_ranges import HostRanges
from warpline.recording.spool.columns import join

Int64Array = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class StreamWork:
    """Kernels, copies and sets of one process: int64 [n]; times CLOCK_MONOTONIC ns."""

    correlation: Int64Array
    device: Int64Array
    context: Int64Array
    stream: Int64Array
    start_ns: Int64Array
    stop_ns: Int64Array


@dataclass(frozen=True)
class Calls:
    """CUDA API calls of one process: int64 [n]; times CLOCK_MONOTONIC ns, ``thread`` as in the translation."""

    correlation: Int64Array
    thread: Int64Array
    start_ns: Int64Array


@dataclass(frozen=True, kw_only=True)
class Projected:
    """Ranges projected onto streams: int64 [m], one row for each (range, stream) with work.

    ``row`` is the index of the host range. A row lasts from the start of the first work launched inside it to the end
    of the last.
    """

    row: Int64Array
    device: Int64Array
    context: Int64Array
    stream: Int64Array
    start_ns: Int64Array
    stop_ns: Int64Array


def project_ranges(ranges: HostRanges, calls: Calls, work: StreamWork) -> Projected:
    """Project host ranges onto the GPU: onto the work whose launching call began inside the range, on its thread."""
    thread, launched = _launched(calls, work)
    place = np.stack([work.device, work.context, work.stream, thread], axis=1)[launched >= 0]
    # Sorting a million rows would take seconds; there are only a few distinct places.
    changes: Int64Array = np.flatnonzero((place[1:] != place[:-1]).any(axis=1)) + 1
    streams = (
        {tuple(row) for row in place[np.r_[0, changes].astype(np.int64)].tolist()} if len(place) else set()
    )
    parts: list[Projected] = []
    for device, context, stream, owner in sorted(streams):
        mine = np.flatnonzero(
            (launched >= 0)
            & (thread == owner)
            & (work.stream == stream)
            & (work.context == context)
            & (work.device == device)
        )
        mine = mine[np.argsort(launched[mine], kind="stable")]
        hosts = np.flatnonzero(ranges.thread == owner)
        first = np.searchsorted(launched[mine], ranges.start_ns[hosts], "left")
        last = np.searchsorted(launched[mine], ranges.stop_ns[hosts], "left")
        some = last > first
        hosts, first, last = hosts[some], first[some], last[some]
        if not len(hosts):
            continue
        parts.append(
            Projected(
                row=hosts,
                device=np.full(len(hosts), device, np.int64),
                context=np.full(len(hosts), context, np.int64),
                stream=np.full(len(hosts), stream, np.int64),
                start_ns=_extremes(np.minimum, work.start_ns[mine], first, last),
                stop_ns=_extremes(np.maximum, work.stop_ns[mine], first, last),
            )
        )
    return join(Projected, parts)


def _launched(calls: Calls, work: StreamWork) -> tuple[Int64Array, Int64Array]:
    """Thread and time of the call that launched each piece of work; −1 if it was not recorded.

    When a runtime and a driver call share a correlation id, the earlier (outer) one counts.
    """
    order = np.lexsort((calls.start_ns, calls.correlation))
    keys = calls.correlation[order]
    none = np.full(len(work.correlation), -1, np.int64)
    if not len(keys):
        return none, none
    at = np.minimum(np.searchsorted(keys, work.correlation, "left"), len(keys) - 1)
    hit = (keys[at] == work.correlation) & (work.correlation != 0)
    return np.where(hit, calls.thread[order][at], -1), np.where(hit, calls.start_ns[order][at], -1)


def _extremes(function: np.ufunc, values: Int64Array, first: Int64Array, last: Int64Array) -> Int64Array:
    """``function`` over each slice values[first:last]; slices may overlap and must not be empty."""
    padded = np.r_[values, values[-1:]]  # reduceat takes no index one past the end
    pairs = np.empty(2 * len(first), np.int64)
    pairs[0::2], pairs[1::2] = first, last
    result: Int64Array = function.reduceat(padded, pairs)[0::2]
    return result
