"""Builds mixed stacks: replaces the interpreter's own frames with sampled Python frames."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from warpline.recording.agent import records
from warpline.recording.agent.python_stacks import PythonStacks
from warpline.recording.sources.native_stacks.chains import NativeFrame
from warpline.recording.spool.reader import SpoolFile
from warpline.recording.spool.threads import ThreadTable
from warpline.storage import NO_STACK, CaptureBuilder

_MOST_APART_PERIODS = 3
_CALLING = re.compile(
    r"(_?Py(Object|Eval|Vectorcall|Function|Method)_?(Fast|MakeTp)?(Vectorcall|Call)\w*|\w*vectorcall\w*"
    r"|do_call_core|call_function|trace_call_function|method_call|slot_tp_call) "
)
"""Functions that the interpreter's versions use to call others."""


class Sureness(IntEnum):
    """How certain the Python frames of a native sample are; `model.kinds.PYTHON_FRAMES` has the texts."""

    NONE = 0
    AGREED = 1
    NEARER = 2


@dataclass(frozen=True)
class PythonAt:
    """The Python stack at a given time: ids of the stack and its innermost frame, and how certain they are."""

    stack: int
    place: int
    sureness: Sureness


class PythonSamples:
    """The sampled Python stacks of each thread, by time."""

    def __init__(self, threads: ThreadTable, spools: Sequence[SpoolFile], builder: CaptureBuilder) -> None:
        self._by_thread: dict[int, tuple[list[int], list[int], list[int]]] = {}
        period = 0
        for spool in spools:
            rows = spool.records(records.PYTHON_SAMPLE, records.python_sample)
            if not len(rows.values):
                continue
            stacks = PythonStacks(spool, builder)
            keep = rows.values["stack"] != 0
            samples = rows.values[keep]
            is_outside = spool.header.producer != "agent"
            pid = rows.free[keep] if is_outside else np.full(len(samples), spool.header.pid)
            time_ns = samples["time_ns"].astype(np.int64)
            thread = threads.lookup(pid, samples["tid"], time_ns)
            stack = stacks.stacks(samples["stack"]).filled(NO_STACK)
            place = stacks.places(samples["stack"])
            order = np.lexsort((time_ns, thread))
            for part in np.split(order, np.flatnonzero(np.diff(thread[order])) + 1):
                if len(part):
                    self._add(int(thread[part[0]]), time_ns[part], stack[part], place[part])
                    period = max(period, _period(time_ns[part]))
        self._most_apart_ns = _MOST_APART_PERIODS * (period or 10_000_000)

    def _add(
        self,
        thread: int,
        time_ns: npt.NDArray[np.int64],
        stack: npt.NDArray[np.integer],
        place: npt.NDArray[np.integer],
    ) -> None:
        self._by_thread[thread] = (time_ns.tolist(), stack.tolist(), place.tolist())

    def at(self, thread: int, time_ns: int) -> PythonAt | None:
        """The Python stack of a thread at a time; None if there is no sample close to it."""
        times, stacks, places = self._by_thread.get(thread, ([], [], []))
        after = bisect_left(times, time_ns)
        near = [
            index
            for index in (after - 1, after)
            if 0 <= index < len(times)
            and abs(times[index] - time_ns) <= self._most_apart_ns
            and stacks[index] != NO_STACK
        ]
        if not near:
            return None
        best = min(near, key=lambda index: abs(times[index] - time_ns))
        agree = len(near) == 2 and stacks[near[0]] == stacks[near[1]]
        return PythonAt(stacks[best], places[best], Sureness.AGREED if agree else Sureness.NEARER)


def _period(times: npt.NDArray[np.int64]) -> int:
    return int(np.median(np.diff(times))) if len(times) > 1 else 0


def below_python(frames: tuple[NativeFrame, ...]) -> tuple[NativeFrame, ...]:
    """The native frames (innermost first) that Python code called: those inside the innermost Python evaluation.

    The interpreter's own calling functions are left out. Without a Python evaluation, all frames are returned.
    """
    for number, frame in enumerate(frames):
        if frame.is_evaluation:
            while number and frames[number - 1].is_interpreter and _CALLING.match(frames[number - 1].text):
                number -= 1
            return frames[:number]
    return frames
