"""Paddle's user-defined summary and its benchmark."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table, Values, unrecorded
from warpline.analysis.framework.selection import GPU_KINDS, View
from warpline.analysis.framework.tables import combine_keys, missing, name_targets, name_texts, scope_text
from warpline.analysis.framework.thread_columns import thread_titles
from warpline.analysis.paddle.cpu_gpu import both_sides, side_columns, side_data
from warpline.analysis.structure.event_types import is_memory_operation, type_code
from warpline.analysis.structure.host_events import HostEvents, threads_with_events
from warpline.analysis.structure.overlap import covered_ns
from warpline.analysis.structure.steps import find_steps, missing_steps, phase_intervals

Int64Array = npt.NDArray[np.int64]


def user_defined(view: View, options: Options) -> Table | NotRecorded:
    """Ranges a user marked (RecordEvent, record_function, NVTX), by name."""
    if not view.has("range", "phase"):
        return missing("range")
    code = type_code("PythonUserDefined")
    parts: list[HostEvents] = [
        found.events.take(np.flatnonzero(found.events.type == code)) for found in threads_with_events(view)
    ]
    names = np.concatenate([np.empty(0, np.uint32), *(part.name for part in parts)])
    strings = view.capture.strings
    distinct, inverse = np.unique(names, return_inverse=True)
    copies = np.array([is_memory_operation(text) for text in strings.get(distinct.tolist())] + [False])
    keep = ~copies[inverse] if len(names) else np.empty(0, bool)

    def column(attribute: str) -> Int64Array:
        joined: Int64Array = np.concatenate(
            [np.empty(0, np.int64), *(getattr(part, attribute) for part in parts)]
        )
        kept: Int64Array = joined[keep]
        return kept

    name = names[keep].astype(np.int64)
    thread = column("thread") if options.by_thread else np.zeros(len(name), np.int64)
    key, first = combine_keys(thread, name)
    sides = both_sides(key, column("cpu_ns"), column("gpu_ns"))
    of_group = first[sides.cpu.key]
    order = np.lexsort((-sides.cpu.total, thread[of_group]))
    steps = find_steps(view, options)
    inside = int((np.minimum(steps.stop, view.stop_ns) - np.maximum(steps.start, view.start_ns)).sum())
    of = "the time of all steps" if inside else "the selected range"
    whole = inside or view.duration_ns
    group_name = name[of_group][order]
    data: dict[str, Values] = {"name": name_texts(view, group_name)}
    columns = [Column("name", "Name", Role.NAME, key=True)]
    if options.by_thread:
        titles = thread_titles(view)
        data["thread"] = [titles(int(number)) for number in thread[of_group][order].tolist()]
        columns.append(Column("thread", "Thread", Role.TEXT, key=True))
    data.update(side_data(sides, order, whole, whole))
    if not view.has(*GPU_KINDS):
        for key_name in [k for k in data if k.startswith("gpu_")]:
            data[key_name] = unrecorded(len(order), np.float64)
    return Table(
        (*columns, *side_columns(of, of)),
        data,
        targets=name_targets(view, group_name, None),
        scope=scope_text(view, "Ranges of the user"),
        notes=("GPU time is that of the work launched inside a range, on its thread.",),
    )


def benchmark(view: View, options: Options) -> Table | NotRecorded:
    """Reader cost, batch cost and steps per second."""
    steps = find_steps(view, options)
    if not len(steps):
        return missing_steps(options)
    batch = steps.stop - steps.start
    reader = np.zeros(len(steps), np.int64)
    wide = view.everything()
    for process, rank in sorted(set(zip(steps.process.tolist(), steps.rank.tolist(), strict=True))):
        here = np.flatnonzero((steps.process == process) & (steps.rank == rank))
        loading = phase_intervals(wide, "Dataloader", process, rank)
        reader[here] = covered_ns(loading, steps.start[here], steps.stop[here])
    has_reader = bool(reader.any())
    rate = 1e9 / np.maximum(batch, 1)
    nan = float("nan")
    times = [
        (float(values.mean()), float(values.max()), float(values.min())) if present else (nan, nan, nan)
        for values, present in ((reader, has_reader), (batch, True))
    ]
    notes = ["ips counts steps; its average is one step / the average batch cost."]
    if not has_reader:
        notes.append(
            "Reader cost: not recorded, because no event loads data; mark it with a range named Dataloader."
        )
    share = float(reader.sum()) / float(batch.sum()) if has_reader and batch.sum() else nan
    return Table(
        (
            Column("name", "Name", Role.NAME, key=True),
            Column("avg_ns", "Avg", Role.DURATION),
            Column("max_ns", "Max", Role.DURATION),
            Column("min_ns", "Min", Role.DURATION),
            Column("avg_per_second", "Avg steps/s", Role.NUMBER),
            Column("max_per_second", "Max steps/s", Role.NUMBER),
            Column("min_per_second", "Min steps/s", Role.NUMBER),
            Column("ratio", "Reader ratio", Role.SHARE, "the batch cost", heat=True, lead=1),
        ),
        {
            "name": ["reader_cost", "batch_cost", "ips"],
            "avg_ns": np.array([times[0][0], times[1][0], nan]),
            "max_ns": np.array([times[0][1], times[1][1], nan]),
            "min_ns": np.array([times[0][2], times[1][2], nan]),
            "avg_per_second": np.array([nan, nan, 1e9 / max(times[1][0], 1)]),
            "max_per_second": np.array([nan, nan, float(rate.max())]),
            "min_per_second": np.array([nan, nan, float(rate.min())]),
            "ratio": np.array([share, nan, nan]),
        },
        scope=scope_text(view, "Steps"),
        notes=tuple(notes),
    )
