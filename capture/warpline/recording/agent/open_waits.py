"""Calls that were still open when their thread or the recording ended."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warpline.model.waits import Function
from warpline.recording.agent import records
from warpline.recording.spool.reader import SpoolFile
from warpline.recording.spool.threads import ThreadTable

UInt32Array = npt.NDArray[np.uint32]


def open_calls(
    spool: SpoolFile, threads: ThreadTable, stop_ns: int
) -> tuple[npt.NDArray[np.void], UInt32Array]:
    """Open calls as records [n] (`records.osrt_call`) and their thread ids [n].

    They end with their thread, or at ``stop_ns``. The stack is that of a sample taken since: a waiting thread does not
    move.
    """
    waiting = spool.records(records.OSRT_WAITING, records.osrt_waiting).values
    start = waiting["start_ns"].astype(np.int64)
    waiting = waiting[(start != 0) & (start < stop_ns) & (waiting["function"] <= max(Function))]
    start = waiting["start_ns"].astype(np.int64)
    calls = np.zeros(len(waiting), records.osrt_call)
    if not len(waiting):
        return calls, waiting["tid"]
    for name in ("start_ns", "object", "function", "text", "holder", "caller"):
        calls[name] = waiting[name]
    lives = [
        threads.threads[index] for index in threads.lookup(spool.header.pid, waiting["tid"], start).tolist()
    ]
    stop = np.array([stop_ns if life.death_ns is None else min(life.death_ns, stop_ns) for life in lives])
    calls["end_ns"] = stop
    samples = spool.records(records.PYTHON_SAMPLE, records.python_sample).values
    samples = samples[samples["stack"] != 0]
    for row, (tid, since) in enumerate(zip(waiting["tid"].tolist(), start.tolist(), strict=True)):
        of_thread = samples[(samples["tid"] == tid) & (samples["time_ns"] > since)]
        if len(of_thread):
            calls["stack"][row] = of_thread["stack"][-1]
    keep = stop > start
    return calls[keep], waiting["tid"][keep]
