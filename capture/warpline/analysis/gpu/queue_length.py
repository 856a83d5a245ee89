"""Number of launched operations that wait on each stream."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table, Targets
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import GPU_KINDS, View
from warpline.analysis.framework.statistics import group_statistics
from warpline.analysis.framework.tables import scope_text
from warpline.analysis.structure.gpus import gpus, stream_titles
from warpline.analysis.structure.launches import has_launches, launch_starts
from warpline.i18n import english

Int64Array = npt.NDArray[np.int64]
_WEIGHTS = english(
    "Avg, Med and StdDev are over the moments at which the length changes; "
    "Avg over Time is weighted by duration."
)


def queue_lengths(call_start: Int64Array, work_start: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Sorted times at which the number of launched but not started operations changes, and the number after each.

    It rises at the start of each launching call and falls at the start of the work.
    """
    times = np.concatenate([call_start, work_start])
    steps = np.concatenate([np.ones(len(call_start), np.int64), np.full(len(work_start), -1, np.int64)])
    order = np.lexsort((-steps, times))
    return times[order], np.cumsum(steps[order])


def _queued(view: View, stream: int) -> tuple[Int64Array, Int64Array]:
    """`launch_starts` of all work of a stream."""
    kinds = [kind for kind in GPU_KINDS if kind in view.capture.kinds]
    parts = [launch_starts(view, kind, stream) for kind in kinds]
    return np.concatenate([calls for calls, _ in parts]), np.concatenate([starts for _, starts in parts])


def queue_length(view: View, _options: Options) -> Table | NotRecorded:
    """Number of launched operations that wait on each stream."""
    if not view.has(*GPU_KINDS):
        return missing("gpu")
    if not has_launches(view):
        return missing("launch")
    names: list[str | None] = []
    rows = []
    tracks: list[int] = []
    for gpu in gpus(view):
        streams = []
        for index in sorted(gpu.tracks):
            call_start, work_start = _queued(view, index)
            if not len(call_start):
                continue
            times, length = queue_lengths(call_start, work_start)
            stats = group_statistics(np.zeros(len(length), np.int64), np.maximum(length, 0))
            held = np.diff(np.clip(times, view.start_ns, view.stop_ns))
            weighted = float((held * length[:-1]).sum()) / max(view.duration_ns, 1)
            busy = float(held[length[:-1] > 0].sum()) / max(view.duration_ns, 1)
            streams.append(index)
            rows.append(
                (
                    len(call_start),
                    stats.avg[0],
                    stats.med[0],
                    stats.min[0],
                    stats.max[0],
                    stats.stddev[0],
                    weighted,
                    busy,
                )
            )
        tracks += streams
        names += [f"{gpu.title} · {title}" for title in stream_titles(view, streams)]
    columns = list(zip(*rows, strict=True)) if rows else [()] * 8
    integers = (0, 3, 4)
    keys = ("count", "avg", "med", "min", "max", "stddev", "time_avg", "waiting_ratio")
    return Table(
        (
            Column("name", "Stream", Role.NAME, key=True, ours=True),
            Column("count", "Launches", Role.COUNT),
            Column("avg", "Avg", Role.NUMBER),
            Column("med", "Med", Role.NUMBER),
            Column("min", "Min", Role.NUMBER),
            Column("max", "Max", Role.NUMBER),
            Column("stddev", "StdDev", Role.NUMBER),
            Column("time_avg", "Avg over Time", Role.NUMBER),
            Column("waiting_ratio", "Not Empty", Role.RATIO, of=english("the selected range")),
        ),
        {
            "name": names,
            **{
                key: np.array(columns[i], np.int64 if i in integers else np.float64)
                for i, key in enumerate(keys)
            },
        },
        targets=Targets(tracks=np.array(tracks, np.int32)),
        scope=scope_text(view, english("Launched operations that have not started")),
        notes=(_WEIGHTS,),
    )


report = ReportSpec(
    "queue_length",
    "Operations waiting on streams",
    "gpu",
    queue_length,
    needs=GPU_KINDS,
    place=405,
    of_tracks=True,
    of_launches=True,
)
