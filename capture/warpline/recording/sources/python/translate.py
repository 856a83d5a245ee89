"""Turns samples of Python stacks into events of the kind ``sample`` below each thread."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from warpline.i18n import english
from warpline.model import Flag
from warpline.recording.agent import records
from warpline.recording.agent.python_stacks import PythonStacks
from warpline.recording.agent.reported_sources import add_agent_source
from warpline.recording.spool.reader import SpoolFile
from warpline.recording.spool.spool_to_tracks import Translation
from warpline.recording.spool.string_columns import capture_strings
from warpline.storage import CaptureBuilder

_MAIN_THREAD = "MainThread"
FROM_OUTSIDE = "python"
"""Producer of the recorder's spool file; agents write their own."""


def name_threads(translation: Translation, spools: Sequence[SpoolFile]) -> None:
    """Give threads the names of the program; the main thread keeps the name of its process.

    For the kernel, threads have the name of the interpreter (before 3.14) or the first 15 bytes of their own.
    """
    threads = translation.threads
    for spool in spools:
        if spool.header.producer != "agent":
            continue
        named = spool.records(records.PYTHON_THREAD_NAME, records.python_thread_name).values
        if translation.session.is_cut:
            # Names of threads that ended before the ring are left over.
            named = named[np.isin(named["tid"], threads.thread_ids)]
        # New threads inherit a kernel name of the main thread.
        inherited = {
            old for life in threads.threads if life.tid == spool.header.pid for _since, old in life.names
        }
        index = threads.lookup(spool.header.pid, named["tid"], named["time_ns"])
        for thread, name in sorted(set(zip(index.tolist(), named["name"].tolist(), strict=True))):
            life, text = threads.threads[thread], spool.text(name)
            # Keep a name that the thread set itself: neither inherited nor the first 15 bytes of Python's name.
            has_own = not text.startswith(life.name) and life.name not in inherited
            if text and text != _MAIN_THREAD and not has_own:
                life.names = [(life.birth_ns, text)]


def translate(translation: Translation, spools: Sequence[SpoolFile], builder: CaptureBuilder) -> None:
    """Add the samples of Python stacks."""
    moved = 0
    for spool in spools:
        if spool.header.producer not in {"agent", FROM_OUTSIDE}:
            continue
        rows = spool.records(records.PYTHON_SAMPLE, records.python_sample)
        samples = rows.values
        # The recorder's file holds the samples of several processes.
        pid = rows.free if spool.header.producer == FROM_OUTSIDE else np.full(len(samples), spool.header.pid)
        time_ns = samples["time_ns"].astype(np.int64)
        inside = (time_ns >= translation.start_ns) & (time_ns <= translation.stop_ns)
        moved += int((samples["stack"][inside] == 0).sum())
        inside &= samples["stack"] != 0
        samples, time_ns, pid = samples[inside], time_ns[inside], pid[inside]
        if not len(samples):
            continue
        stacks = PythonStacks(spool, builder)
        thread = translation.threads.lookup(pid, samples["tid"], time_ns)
        present = np.unique(thread).tolist()
        track = np.zeros(present[-1] + 1, np.int64)
        for number in present:
            track[number] = translation.below_thread(number, "samples")
        builder.add_events(
            track[thread],
            "sample",
            translation.capture_time(time_ns),
            np.zeros(len(thread), np.int64),
            stacks.places(samples["stack"]),
            flags=np.full(len(thread), Flag.INSTANT, np.uint8),
            attributes={"stack": stacks.stacks(samples["stack"]), **_tasks(spool, builder, time_ns)},
        )
    if any(spool.header.producer == FROM_OUTSIDE for spool in spools):
        return  # the collector has reported itself
    never_used = english("no recorded process ran Python 3.11 to 3.15")
    add_agent_source(translation, spools, builder, name="python", never_used=never_used, lost=moved)


def _tasks(
    spool: SpoolFile, builder: CaptureBuilder, time_ns: npt.NDArray[np.int64]
) -> dict[str, npt.ArrayLike]:
    """The asyncio task of each sample [n], matched by its time, which is unique in a process; empty without tasks."""
    tasks = np.sort(spool.records(records.PYTHON_TASK, records.python_task).values, order="time_ns")
    if not len(tasks):
        return {}
    times = tasks["time_ns"].astype(np.int64)
    at = np.minimum(np.searchsorted(times, time_ns), len(times) - 1)
    names = capture_strings(spool, builder, tasks["name"])[at]
    return {"task": np.ma.MaskedArray(names, times[at] != time_ns)}
