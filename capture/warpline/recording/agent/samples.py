"""Where threads were when their Python stacks were sampled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warpline.recording.agent import records
from warpline.recording.agent.python_stacks import NO_PLACE, PythonStacks
from warpline.recording.spool.reader import SpoolFile
from warpline.recording.spool.threads import ThreadTable

Int64Array = npt.NDArray[np.int64]
UInt32Array = npt.NDArray[np.uint32]


@dataclass(frozen=True)
class Samples:
    """Columns [n] sorted by thread, then time: int64 index of the thread, CLOCK_MONOTONIC ns, string id of the
    program's own line, where there is one.
    """

    thread: Int64Array
    time_ns: Int64Array
    place: UInt32Array

    @staticmethod
    def of(spool: SpoolFile, threads: ThreadTable, stacks: PythonStacks) -> Samples:
        """Those of one process."""
        found = spool.records(records.PYTHON_SAMPLE, records.python_sample).values
        found = found[found["stack"] != 0]
        time_ns = found["time_ns"].astype(np.int64)
        return Samples(
            threads.lookup(spool.header.pid, found["tid"], time_ns),
            time_ns,
            stacks.telling_places(found["stack"]),
        )

    @staticmethod
    def join(parts: Sequence[Samples]) -> Samples:
        """All of them, sorted."""
        if not parts:
            return Samples(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.uint32))
        thread, time_ns = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("thread", "time_ns")
        )
        order = np.lexsort((time_ns, thread))
        return Samples(thread[order], time_ns[order], np.concatenate([part.place for part in parts])[order])

    def last_place(self, thread: Int64Array, start_ns: Int64Array, stop_ns: Int64Array) -> UInt32Array:
        """Where each thread [n] was last between two times [n]; `NO_PLACE` where it was not sampled."""
        result = np.full(len(thread), NO_PLACE, np.uint32)
        if not len(self.thread) or not len(thread):
            return result
        # One sorted column of (thread, time): times fit into 48 bits for three days of recording.
        origin = int(min(self.time_ns.min(), start_ns.min()))
        keys = (self.thread << 48) + (self.time_ns - origin)
        at = np.searchsorted(keys, (thread << 48) + (stop_ns - origin), "right") - 1
        found = at >= 0
        found[found] = keys[at[found]] >= (thread[found] << 48) + (start_ns[found] - origin)
        result[found] = self.place[at[found]]
        return result
