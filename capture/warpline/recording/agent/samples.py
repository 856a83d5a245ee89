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
    """Columns [n] sorted by thread, then time: int64 index of the thread, CLOCK_MONOTONIC ns, string id of the most
    relevant frame.
    """

    thread: Int64Array
    time_ns: Int64Array
    place: UInt32Array

    @staticmethod
    def of(spool: SpoolFile, threads: ThreadTable, stacks: PythonStacks) -> Samples:
        """The samples of one process."""
        samples = spool.records(records.PYTHON_SAMPLE, records.python_sample).values
        samples = samples[samples["stack"] != 0]
        time_ns = samples["time_ns"].astype(np.int64)
        return Samples(
            threads.lookup(spool.header.pid, samples["tid"], time_ns),
            time_ns,
            stacks.own_places(samples["stack"]),
        )

    @staticmethod
    def join(parts: Sequence[Samples]) -> Samples:
        """The samples of all processes, sorted."""
        if not parts:
            return Samples(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.uint32))
        thread, time_ns = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("thread", "time_ns")
        )
        order = np.lexsort((time_ns, thread))
        return Samples(thread[order], time_ns[order], np.concatenate([part.place for part in parts])[order])

    def last_place(self, thread: Int64Array, start_ns: Int64Array, stop_ns: Int64Array) -> UInt32Array:
        """Where each thread [n] was last sampled between two times [n]; `NO_PLACE` where it was not."""
        result = np.full(len(thread), NO_PLACE, np.uint32)
        if not len(self.thread) or not len(thread):
            return result
        # One sorted column of (thread, time): 48 bits hold the times of three days.
        origin = int(min(self.time_ns.min(), start_ns.min()))
        keys = (self.thread << 48) + (self.time_ns - origin)
        at = np.searchsorted(keys, (thread << 48) + (stop_ns - origin), "right") - 1
        is_inside = at >= 0
        is_inside[is_inside] = keys[at[is_inside]] >= (
            (thread[is_inside] << 48) + (start_ns[is_inside] - origin)
        )
        result[is_inside] = self.place[at[is_inside]]
        return result
