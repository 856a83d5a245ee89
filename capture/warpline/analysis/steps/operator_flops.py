"""Floating-point operations and rates of operators."""

from __future__ import annotations

import numpy as np

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table, Values
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.tables import (
    combine_keys,
    name_targets,
    name_texts,
    ratio,
    scope_text,
)
from warpline.i18n import english

_MISSING = NotRecorded(
    english("floating-point operations were not recorded"),
    english("record a PyTorch program with --torch-shapes 3"),
)


def operator_flops(view: View, _options: Options) -> Table | NotRecorded:
    """Operators by name and input shapes: calls, floating-point operations (PyTorch's count) and rates."""
    if not view.has("operator") or "flops" not in view.capture.kinds["operator"].attributes:
        return _MISSING
    events = view.events("operator")
    flops = np.ma.filled(view.column("operator", "flops", events.index), 0).astype(np.int64)
    events, flops = events.take(flops > 0), flops[flops > 0]
    if not len(events):
        return _MISSING
    shape = np.ma.filled(view.column("operator", "input_shapes", events.index), 0).astype(np.int64)
    key, first = combine_keys(events.name.astype(np.int64), shape)
    count = np.bincount(key, minlength=len(first))
    total, duration = (np.zeros(len(first), np.int64) for _ in range(2))
    np.add.at(total, key, flops)
    np.add.at(duration, key, events.duration)
    place = np.argsort(-total, kind="stable")
    first, count, total, duration = first[place], count[place], total[place], duration[place]
    name = events.name[first]
    data: dict[str, Values] = {
        "name": name_texts(view, name),
        "input_shapes": view.capture.strings.get(shape[first].tolist()),
        "ratio": ratio(total, int(total.sum())),
        "count": count,
        "flops": total,
        "total_ns": duration,
        "gflops_per_second": total / np.maximum(duration, 1),
    }
    columns = (
        Column("name", "Name", Role.NAME, key=True),
        Column("input_shapes", "Input shapes", Role.TEXT, key=True),
        Column("ratio", "FLOPs", Role.SHARE, of=english("all recorded FLOPs"), heat=True, lead=1),
        Column("count", "Calls", Role.COUNT),
        Column("flops", "FLOPs", Role.COUNT),
        Column("total_ns", "Time", Role.DURATION),
        Column("gflops_per_second", "GFLOP/s", Role.NUMBER),
    )
    return Table(
        columns,
        data,
        targets=name_targets(view, name, "operator"),
        scope=scope_text(view, english("Operators with shapes")),
        notes=(english("Rates refer to the time of the CPU call; GPU work launched by it may take longer."),),
    )


report = ReportSpec(
    "operator_flops", "Operator FLOPs", "framework", operator_flops, needs=("operator",), place=217
)
