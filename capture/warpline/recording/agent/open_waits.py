"""Calls that had not ended when their thread did, or when the recording did: what each thread said it was in."""

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
    """As records of calls [n] (`records.osrt_call`) that end with their thread, or at ``stop_ns``; and its id [n].

    The stack is that of a sample taken since: a thread stands still while it waits.
    """
    found = spool.records(records.OSRT_WAITING, records.osrt_waiting).values
    start = found["start_ns"].astype(np.int64)
    found = found[(start != 0) & (start < stop_ns) & (found["function"] <= max(Function))]
    start = found["start_ns"].astype(np.int64)
    calls = np.zeros(len(found), records.osrt_call)
    if not len(found):
        return calls, found["tid"]
    for name in ("start_ns", "object", "function", "text", "holder", "caller"):
        calls[name] = found[name]
    lives = [
        threads.threads[index] for index in threads.lookup(spool.header.pid, found["tid"], start).tolist()
    ]
    stop = np.array([stop_ns if life.death_ns is None else min(life.death_ns, stop_ns) for life in lives])
    calls["end_ns"] = stop
    samples = spool.records(records.PYTHON_SAMPLE, records.python_sample).values
    samples = samples[samples["stack"] != 0]
    for row, (tid, since) in enumerate(zip(found["tid"].tolist(), start.tolist(), strict=True)):
        of_thread = samples[(samples["tid"] == tid) & (samples["time_ns"] > since)]
        if len(of_thread):
            calls["stack"][row] = of_thread["stack"][-1]
    keep = stop > start
    return calls[keep], found["tid"][keep]
