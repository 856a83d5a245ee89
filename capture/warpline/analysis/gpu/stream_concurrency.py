"""Number of streams of a GPU busy at the same time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.lane_sweep import times_together
from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import GPU_KINDS, View
from warpline.analysis.framework.tables import ratio, scope_text
from warpline.analysis.structure.gpus import Gpu, gpu_work, gpus, stream_titles, windows_of
from warpline.analysis.structure.overlap import concurrency_times
from warpline.i18n import english, english_n

Int64Array = npt.NDArray[np.int64]


def stream_concurrency(view: View, _options: Options) -> Table | NotRecorded:
    """Time of each GPU by number of busy streams, and each stream's share."""
    if not view.has(*GPU_KINDS):
        return missing("gpu")
    names: list[str | None] = []
    depth: list[int] = []
    busy: list[int] = []
    shares: list[float] = []
    for gpu in gpus(view):
        streams = [t for t in view.capture.tracks if t.index in gpu.tracks and t.role == "stream"]
        times, of_stream = _stream_times(view, gpu, [t.index for t in streams])
        names.append(gpu.title)
        depth.append(0)
        busy.append(int(times[1:].sum()))
        shares.append(float("nan"))
        used = int(np.max(np.flatnonzero(times), initial=0))
        for count in range(used + 1):
            names.append(english_n("{count} stream busy", "{count} streams busy", count))
            depth.append(1)
            busy.append(int(times[count]))
            shares.append(float("nan"))
        contexts: dict[int | None, int] = {}
        for track, value in zip(streams, of_stream, strict=True):
            contexts[track.context] = contexts.get(track.context, 0) + value
        titles = stream_titles(view, [t.index for t in streams])
        for track, title, value in zip(streams, titles, of_stream, strict=True):
            whole = contexts[track.context]
            names.append(title)
            depth.append(1)
            busy.append(value)
            shares.append(value / whole if whole else float("nan"))
    total = np.array(busy, np.int64)
    return Table(
        (
            Column("name", "GPU and streams", Role.NAME, key=True, ours=True),
            Column("total_ns", "Busy Time", Role.DURATION),
            Column("ratio", "Share", Role.SHARE, of=english("the selected range"), heat=True, lead=1),
            Column(
                "stream_ratio",
                "Stream Share",
                Role.RATIO,
                of=english("the busy time of all streams of its context"),
            ),
        ),
        {
            "name": names,
            "total_ns": total,
            "ratio": ratio(total, view.duration_ns),
            "stream_ratio": np.array(shares, np.float64),
        },
        depth=np.array(depth, np.int16),
        scope=scope_text(view, english("Streams")),
    )


def _stream_times(view: View, gpu: Gpu, streams: list[int]) -> tuple[Int64Array, list[int]]:
    """Time with exactly k streams busy, and the busy time of each stream."""
    everything = np.zeros(max(len(view.capture.strings), 1), np.uint8)
    places = {track: place for place, track in enumerate(streams)}
    swept = times_together(view, gpu.tracks, dict.fromkeys(GPU_KINDS, everything), len(streams), places)
    if swept is not None:
        return swept.numbers, swept.busy.tolist()
    times = np.zeros(len(streams) + 1, np.int64)
    busy = [0] * len(streams)
    for window in windows_of(view, gpu.tracks):
        events = gpu_work(window, gpu)
        track = window.track_of(events.row) if len(events) else np.empty(0, np.int64)
        lanes = []
        for place, index in enumerate(streams):
            here = track == index
            lanes.append((events.start[here], events.stop[here]))
            busy[place] += int(concurrency_times([lanes[-1]], window.start_ns, window.stop_ns)[1])
        times += concurrency_times(lanes, window.start_ns, window.stop_ns)
    return times, busy


report = ReportSpec(
    "stream_concurrency", "Concurrent streams", "gpu", stream_concurrency, needs=GPU_KINDS, place=402
)
