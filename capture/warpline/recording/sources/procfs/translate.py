"""What /proc said becomes counters, and where perf was refused, estimated thread states."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from warpline.i18n import english
from warpline.model.flags import Flag
from warpline.model.track_titles import ESTIMATED_STATE
from warpline.recording.sources.facts import THREAD_STATES
from warpline.recording.sources.procfs import records
from warpline.recording.sources.thread_state import STATE_NAMES, State
from warpline.recording.spool.gaps import with_gaps
from warpline.recording.spool.reader import SpoolFile, rows_of
from warpline.recording.spool.spool_to_tracks import Translation
from warpline.storage import CaptureBuilder

Int64Array = npt.NDArray[np.int64]
Float64Array = npt.NDArray[np.float64]
Rows = npt.NDArray[np.void]

_KIND_FLAGS = np.array([0, 0, Flag.WAITING, Flag.IDLE], np.uint8) | np.uint8(Flag.ESTIMATED)
_RATIO_COUNTERS = (
    (State.RUNNING, english("Running")),
    (State.RUNNABLE, english("Runnable")),
    (State.BLOCKED, english("Blocked")),
)


def translate(translation: Translation, spools: Sequence[SpoolFile], builder: CaptureBuilder) -> None:
    """Adds utilization per core, CPU time and memory per process, and the scheduler's accounting per thread."""
    _add_core_utilization(translation, builder, rows_of(spools, records.CORE_TIMES, records.core_times))
    _add_processes(translation, builder, rows_of(spools, records.PROCESS_SAMPLE, records.process_sample))
    samples = rows_of(spools, records.THREAD_SAMPLE, records.thread_sample)
    if not len(samples):
        return
    thread = translation.threads.lookup(samples["pid"], samples["tid"], samples["time_ns"])
    order = np.lexsort((samples["time_ns"], thread))
    samples, thread = samples[order], thread[order]
    _add_accounting(translation, builder, samples, thread)
    if THREAD_STATES not in translation.provided:
        _add_estimates(translation, builder, samples, thread)


def _add_core_utilization(translation: Translation, builder: CaptureBuilder, rows: Rows) -> None:
    for cpu in np.unique(rows["cpu"]).tolist():
        own = rows[rows["cpu"] == cpu]
        own = own[np.argsort(own["time_ns"], kind="stable")]
        times = translation.capture_time(own["time_ns"])
        busy, total = np.diff(own["busy"].astype(np.float64)), np.diff(own["total"].astype(np.float64))
        # A sample tells about the time before it; no tick in between means nothing is known.
        ratio = np.divide(busy, total, out=np.full(len(total), np.nan), where=total > 0)
        _add_rate(
            translation,
            builder,
            translation.core_track(cpu),
            english("Utilization"),
            "ratio",
            times,
            np.clip(ratio, 0, 1),
        )


def _add_processes(translation: Translation, builder: CaptureBuilder, rows: Rows) -> None:
    for pid in np.unique(rows["pid"]).tolist():
        own = rows[rows["pid"] == pid]
        own = own[np.argsort(own["time_ns"], kind="stable")]
        which = np.array(
            [translation.threads.process_of(pid, time_ns) for time_ns in own["time_ns"].tolist()]
        )
        for process in np.unique(which).tolist():
            part = own[which == process]
            times = translation.capture_time(part["time_ns"])
            elapsed = np.diff(times).astype(np.float64)
            used = np.diff(part["cpu_ns"].astype(np.float64))
            cores = np.divide(used, elapsed, out=np.full(len(elapsed), np.nan), where=elapsed > 0)
            cpu = _counter_track(translation, builder, process, "cpu", english("CPU"), 1)
            _add_rate(translation, builder, cpu, "CPU", english("cores"), times, np.maximum(cores, 0))
            memory = _counter_track(translation, builder, process, "memory", english("Resident memory"), 2)
            values = part["rss_bytes"].astype(np.float64)
            builder.add_counter(
                memory, english("Resident memory"), "bytes", *with_gaps(times, values, translation.pauses)
            )


def _add_rate(
    translation: Translation,
    builder: CaptureBuilder,
    track: int,
    name: str,
    unit: str,
    times: Int64Array,
    rates: Float64Array,
) -> None:
    """A counter of rates between samples: each holds from the sample before to its own. ``rates`` has one less."""
    if not len(rates):
        return
    starts, stops = times[:-1], times[1:]
    # A rate across a pause mixes what was recorded with what was not.
    for pause_start, pause_stop in translation.pauses.tolist():
        rates = np.where((starts < pause_stop) & (stops > pause_start), np.nan, rates)
    builder.add_counter(track, name, unit, times, np.r_[rates, np.nan])


def _counter_track(
    translation: Translation, builder: CaptureBuilder, process: int, key: str, title: str, place: int
) -> int:
    return builder.add_track(
        translation.tracks.process_counter(translation.process_uri(process), key, title, place),
        parent=translation.process_track(process),
        process=translation.process_index(process),
    )


def _add_accounting(
    translation: Translation, builder: CaptureBuilder, samples: Rows, thread: Int64Array
) -> None:
    """The kernel's own totals per thread: how long it ran and how long it waited for a core, at the last look."""
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


def _add_estimates(
    translation: Translation, builder: CaptureBuilder, samples: Rows, thread: Int64Array
) -> None:
    """Between two samples of a thread, the share of each state; the largest one names the event."""
    names = builder.strings(STATE_NAMES)
    reason = builder.string(english("estimated from samples of /proc: the largest share of each interval"))
    times = translation.capture_time(samples["time_ns"])
    ratios = state_ratios(times, samples["run_ns"].astype(np.int64), samples["wait_ns"].astype(np.int64))
    borders = np.flatnonzero(np.diff(thread)) + 1
    starts, stops = np.r_[0, borders], np.r_[borders, len(thread)]
    for first, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        if stop - first < 2:
            continue
        moments, shares = times[first:stop], ratios[first : stop - 1]
        crossing = np.zeros(len(shares), bool)
        for pause_start, pause_stop in translation.pauses.tolist():
            crossing |= (moments[:-1] < pause_stop) & (moments[1:] > pause_start)
        start, end, state, row = dominant_states(moments, shares, ~crossing)
        index = int(thread[first])
        track = translation.below_thread(index, "state", title=ESTIMATED_STATE)
        cpu = samples["cpu"][first:stop][row].astype(np.int32)
        attributes = {
            "cpu": np.ma.MaskedArray(cpu, (state != State.RUNNING) | (cpu == 0xFFFF)),
            "reason": np.full(len(start), reason),
        }
        builder.add_events(
            track,
            "thread_state",
            start,
            end - start,
            names[state],
            flags=_KIND_FLAGS[state],
            attributes=attributes,
        )
        for number, (_state, title) in enumerate(_RATIO_COUNTERS):
            counter = translation.below_thread(index, f"counters/{title.lower()}")
            values = np.where(crossing, np.nan, shares[:, number])
            builder.add_counter(counter, title, "ratio", moments, np.r_[values, np.nan])


def state_ratios(times: Int64Array, run_ns: Int64Array, wait_ns: Int64Array) -> Float64Array:
    """Shares of running, runnable and blocked between consecutive samples: float64 [n − 1, 3], each row sums to 1.

    ``times`` and the cumulative ``run_ns`` and ``wait_ns`` are int64 [n].
    """
    elapsed = np.maximum(np.diff(times), 1).astype(np.float64)
    running = np.clip(np.diff(run_ns) / elapsed, 0, 1)
    runnable = np.clip(np.diff(wait_ns) / elapsed, 0, 1 - running)
    return np.stack((running, runnable, 1 - running - runnable), axis=1)


def dominant_states(
    times: Int64Array, ratios: Float64Array, valid: npt.NDArray[np.bool_]
) -> tuple[Int64Array, Int64Array, npt.NDArray[np.uint8], Int64Array]:
    """Events of the largest share: start, stop, state, and the sample each begins after; equal neighbours are one.

    ``times`` int64 [n]; ``ratios`` float64 [n − 1, 3]; ``valid`` bool [n − 1]: intervals to leave out are False.
    """
    state = (ratios.argmax(axis=1) + 1).astype(np.uint8)
    state[~valid] = State.NONE
    head = np.flatnonzero(np.r_[True, np.diff(state) != 0])
    tail = np.r_[head[1:], len(state)]
    keep = state[head] != State.NONE
    head, tail = head[keep], tail[keep]
    return times[head], times[tail], state[head], tail
