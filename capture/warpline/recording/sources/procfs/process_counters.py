"""Counters of processes, and the cores on which each may run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from warpline.i18n import english_n
from warpline.model.track_titles import DISK_FAULTS, PAGE_FAULTS
from warpline.recording.sources.procfs import records
from warpline.recording.spool.reader import SpoolFile
from warpline.recording.spool.spool_to_tracks import Translation
from warpline.storage import CaptureBuilder
from warpline.untrusted import number_in

Int64Array = npt.NDArray[np.int64]
Float64Array = npt.NDArray[np.float64]
Rows = npt.NDArray[np.void]


def add_page_faults(translation: Translation, builder: CaptureBuilder, rows: Rows) -> None:
    """Add page faults per second of each process: all, and those that read from a disk, if there are any."""
    if not len(rows):
        return
    builder.meta["page_fault_ns"] = int(rows["each_ns"].min())
    for process, own in of_processes(translation, rows):
        times = translation.capture_time(own["time_ns"])
        elapsed = np.diff(own["time_ns"].astype(np.int64)) / 1e9
        minor, major = (np.maximum(np.diff(own[name].astype(np.int64)), 0) for name in ("minor", "major"))
        for key, title, place, counts in (
            ("page-faults", PAGE_FAULTS, 3, minor + major),
            ("disk-faults", DISK_FAULTS, 4, major),
        ):
            if counts.any():
                track = counter_track(translation, builder, process, key=key, title=title, place=place)
                rates = np.divide(counts, elapsed, out=np.full(len(elapsed), np.nan), where=elapsed > 0)
                add_rate(translation, builder, track, name=title, unit="1/s", times=times, rates=rates)


def add_allowed_cores(translation: Translation, builder: CaptureBuilder, spools: Sequence[SpoolFile]) -> None:
    """Add ``allowed_cores`` to ``meta``: the cores on which each process (index) may run, and since when."""
    entries = []
    unread = 0
    for spool in spools:
        rows = spool.records(records.ALLOWED_CORES, records.allowed_cores).values
        if translation.session.is_cut:
            rows = _of_ring(translation, rows)
        for process, own in of_processes(translation, rows):
            for row in own:
                cores = [number_in(core) for core in spool.text(int(row["cores"])).split()]
                if min(cores, default=-1) < 0:
                    unread += 1
                    continue
                times = int(translation.capture_time(row["time_ns"]))
                index = translation.process_index(process)
                entries.append({"process": index, "time_ns": times, "cores": cores})
    if unread:
        builder.add_warning(
            english_n(
                "{count:,} record of the cores that a process may run on could not be read",
                "{count:,} records of the cores that a process may run on could not be read",
                unread,
            ),
            is_loss=True,
        )
    if entries:
        builder.meta["allowed_cores"] = entries


def _of_ring(translation: Translation, rows: Rows) -> Rows:
    """The rows in the ring. The last row of each living process before the ring is moved to its start."""
    kept = []
    for pid in np.unique(rows["pid"]).tolist():
        if translation.threads.has_process(pid):
            own = rows[rows["pid"] == pid]
            own = np.array(own[np.argsort(own["time_ns"], kind="stable")])
            first = max(int(np.searchsorted(own["time_ns"], translation.start_ns, "right")) - 1, 0)
            own["time_ns"] = np.maximum(own["time_ns"], np.uint64(translation.start_ns))
            kept.append(own[first:])
    return np.concatenate(kept) if kept else rows[:0]


def of_processes(translation: Translation, rows: Rows) -> Iterator[tuple[int, Rows]]:
    """The rows of each process, sorted by time."""
    for pid in np.unique(rows["pid"]).tolist():
        own = rows[rows["pid"] == pid]
        own = own[np.argsort(own["time_ns"], kind="stable")]
        which = np.array(
            [translation.threads.process_of(pid, time_ns) for time_ns in own["time_ns"].tolist()]
        )
        for process in np.unique(which).tolist():
            yield process, own[which == process]


def add_rate(
    translation: Translation,
    builder: CaptureBuilder,
    track: int,
    *,
    name: str,
    unit: str,
    times: Int64Array,
    rates: Float64Array,
) -> None:
    """Add a counter of rates between samples; ``rates`` is one shorter than ``times``."""
    if not len(rates):
        return
    starts, stops = times[:-1], times[1:]
    # Rates across a pause are unknown.
    for pause_start, pause_stop in translation.pauses.tolist():
        rates = np.where((starts < pause_stop) & (stops > pause_start), np.nan, rates)
    builder.add_counter(track, name, unit, times, np.r_[rates, np.nan])


def counter_track(
    translation: Translation, builder: CaptureBuilder, process: int, *, key: str, title: str, place: int
) -> int:
    """The track of a counter of a process."""
    return builder.add_track(
        translation.tracks.process_counter(translation.process_uri(process), key, title, place),
        parent=translation.process_track(process),
        process=translation.process_index(process),
    )
