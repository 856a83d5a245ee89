"""Turns samples of /proc into counters and, where perf was refused, into estimated thread states."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from warpline.i18n import english
from warpline.model.track_titles import CORE_LOAD, RESIDENT_MEMORY
from warpline.recording.sources.facts import THREAD_STATES
from warpline.recording.sources.procfs import records
from warpline.recording.sources.procfs.cpu_rates import most_threads, reading_times
from warpline.recording.sources.procfs.estimates import add_estimates
from warpline.recording.sources.procfs.process_counters import (
    add_allowed_cores,
    add_page_faults,
    add_rate,
    counter_track,
    of_processes,
)
from warpline.recording.spool.gaps import with_gaps
from warpline.recording.spool.reader import SpoolFile, rows_of
from warpline.recording.spool.spool_to_tracks import Translation
from warpline.recording.spool.threads import ThreadLife
from warpline.storage import CaptureBuilder

Int64Array = npt.NDArray[np.int64]
Float64Array = npt.NDArray[np.float64]
Rows = npt.NDArray[np.void]


def translate(translation: Translation, spools: Sequence[SpoolFile], builder: CaptureBuilder) -> None:
    """Add utilization per core, CPU time and memory per process, and the scheduler's accounting per thread."""
    _add_core_utilization(translation, builder, rows_of(spools, records.CORE_TIMES, records.core_times))
    samples = rows_of(spools, records.THREAD_SAMPLE, records.thread_sample)
    thread = translation.threads.lookup(samples["pid"], samples["tid"], samples["time_ns"])
    # After the lookup, which adds sampled threads.
    _add_processes(translation, builder, rows_of(spools, records.PROCESS_SAMPLE, records.process_sample))
    add_page_faults(translation, builder, rows_of(spools, records.PAGE_FAULTS, records.page_faults))
    add_allowed_cores(translation, builder, spools)
    if not len(samples):
        return
    order = np.lexsort((samples["time_ns"], thread))
    samples, thread = samples[order], thread[order]
    _add_accounting(translation, builder, samples, thread)
    if THREAD_STATES not in translation.provided:
        add_estimates(translation, builder, samples, thread)


def _add_core_utilization(translation: Translation, builder: CaptureBuilder, rows: Rows) -> None:
    for cpu in np.unique(rows["cpu"]).tolist():
        own = rows[rows["cpu"] == cpu]
        own = own[np.argsort(own["time_ns"], kind="stable")]
        times = translation.capture_time(own["time_ns"])
        busy, total = np.diff(own["busy"].astype(np.float64)), np.diff(own["total"].astype(np.float64))
        # A sample covers the time before it; without a tick in between the value is unknown.
        ratio = np.divide(busy, total, out=np.full(len(total), np.nan), where=total > 0)
        add_rate(
            translation,
            builder,
            translation.core_track(cpu),
            name=CORE_LOAD,
            unit="ratio",
            times=times,
            rates=np.clip(ratio, 0, 1),
        )


def _add_processes(translation: Translation, builder: CaptureBuilder, rows: Rows) -> None:
    threads: dict[int, list[ThreadLife]] = {}
    for life in translation.threads.threads:
        threads.setdefault(life.process, []).append(life)
    for process, part in of_processes(translation, rows):
        cpu = counter_track(translation, builder, process, key="cpu", title=english("CPU"), place=1)
        times, cores = _cores(translation, part, threads.get(process, []))
        add_rate(translation, builder, cpu, name="CPU", unit=english("cores"), times=times, rates=cores)
        times = translation.capture_time(part["time_ns"])
        memory = counter_track(translation, builder, process, key="memory", title=RESIDENT_MEMORY, place=2)
        values = part["rss_bytes"].astype(np.float64)
        builder.add_counter(memory, RESIDENT_MEMORY, "bytes", *with_gaps(times, values, translation.pauses))


def _cores(
    translation: Translation, rows: Rows, threads: Sequence[ThreadLife]
) -> tuple[Int64Array, Float64Array]:
    """Times of readings of a process's CPU time, and its cores between them: int64 [n], float64 [n-1]."""
    read_ns, within, cpu_ns = (rows[name].astype(np.int64) for name in ("time_ns", "within_ns", "cpu_ns"))
    most = most_threads(threads, (read_ns - within)[:-1], (read_ns + within)[1:])
    times = reading_times(read_ns, within, cpu_ns, most)
    elapsed = np.diff(times).astype(np.float64)
    used = np.diff(cpu_ns).astype(np.float64)
    cores = np.divide(used, elapsed, out=np.full(len(elapsed), np.nan), where=elapsed > 0)
    return translation.capture_time(times), np.maximum(cores, 0)


def _add_accounting(
    translation: Translation, builder: CaptureBuilder, samples: Rows, thread: Int64Array
) -> None:
    """Add the kernel's own totals per thread at its last sample: run time and wait for a core."""
    last = np.r_[np.flatnonzero(np.diff(thread)), len(thread) - 1]
    builder.meta["thread_accounting"] = [
        {
            "thread": translation.thread_index(int(thread[row])),
            "tid": int(samples["tid"][row]),
            "run_ns": int(samples["run_ns"][row]),
            "run_queue_ns": int(samples["wait_ns"][row]),
            "slices": int(samples["slices"][row]),
            "time_ns": int(translation.capture_time(samples["time_ns"][row])),
        }
        for row in last.tolist()
    ]
