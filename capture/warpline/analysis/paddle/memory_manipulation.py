"""Paddle's summary of memory copies and sets by call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.name_matches import matching_names
from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table, Targets, Texts
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.tables import combine_keys, name_targets, scope_text
from warpline.analysis.paddle.cpu_gpu import both_sides, side_columns, side_data
from warpline.analysis.paddle.phases import step_reference
from warpline.analysis.structure.event_types import MEMORY_OPERATION, event_types, type_code
from warpline.analysis.structure.host_events import TREE_KINDS, threads_with_events
from warpline.analysis.structure.launches import has_launches, launched_batches
from warpline.i18n import english

Int64Array = npt.NDArray[np.int64]


def memory_manipulation(view: View, options: Options) -> Table | NotRecorded:
    """Memory copies and sets: ranges named so, else the calls that launched GPU copies."""
    ranges = list(_memory_ranges(view))
    if ranges:
        name, cpu, gpu = (np.concatenate(column) for column in zip(*ranges, strict=True))
        texts: Any = view.capture.strings.__getitem__
    else:
        if not view.has("memcpy", "memset"):
            return missing("memory_operations")
        if not has_launches(view):
            return missing("launch")
        name, cpu, gpu, titles = _memory_calls(view)
        texts = titles.__getitem__
    sides = both_sides(name, cpu, gpu)
    order = np.argsort(-(sides.cpu.total + sides.gpu.total), kind="stable")
    whole, reference = step_reference(view, options)
    keys = sides.cpu.key[order]
    return Table(
        (Column("name", "Name", Role.NAME, key=True), *side_columns(reference, reference)),
        {"name": Texts(keys, texts), **side_data(sides, order, whole, whole)},
        targets=name_targets(view, keys, None) if ranges else Targets(),
        scope=scope_text(view, english("Copies and sets")),
    )


def _memory_ranges(view: View) -> Iterator[tuple[Int64Array, Int64Array, Int64Array]]:
    """(name, CPU time, launched GPU time) of ranges such as GpuMemcpyAsync:CPU->GPU."""
    wanted = matching_names(view.capture, MEMORY_OPERATION)
    types = [type_code("UserDefined"), type_code("PythonUserDefined")]
    # Most captures have such names only for API calls; looking for such ranges is cheaper than nesting all events.
    if not any(
        np.isin(event_types(view, kind, events), types).any()
        for kind in TREE_KINDS
        if kind in view.capture.kinds and wanted.any()
        for events in view.batches(kind, named=wanted)
    ):
        return
    for thread_events in threads_with_events(view):
        events = thread_events.events
        here = wanted[events.name] & np.isin(events.type, types)
        if here.any():
            yield events.name[here].astype(np.int64), events.cpu_ns[here], events.gpu_ns[here]


_SIDES = {1: "CPU->GPU", 2: "GPU->CPU", 8: "GPU->GPU", 9: "CPU->CPU", 10: "GPU->GPU (peer)"}


def _memory_calls(view: View) -> tuple[Int64Array, Int64Array, Int64Array, list[str]]:
    """(title, CPU time of the call, GPU time, titles) of copies and sets with a launching call."""
    capture = view.capture
    titles: dict[str, int] = {}
    keys, cpu, gpu = ([np.empty(0, np.int64)] for _ in range(3))
    for kind in ("memcpy", "memset"):
        if kind not in capture.kinds:
            continue
        for batch in launched_batches(view, kind):
            events, call = batch.events, view.names(batch.call).astype(np.int64)
            if kind == "memcpy":
                side = np.ma.filled(view.column(kind, "copy_kind", events.index), 0).astype(np.int64)
                pinned = np.ma.filled(view.column(kind, "src_kind", events.index), 255).astype(np.int64) == 1
            else:
                side = np.full(len(events), -1, np.int64)
                pinned = np.zeros(len(events), bool)
            key, first = combine_keys(call, side, pinned)
            codes = []
            for i in first.tolist():
                title = _memory_title(capture.strings[int(call[i])], int(side[i]), bool(pinned[i]))
                codes.append(titles.setdefault(title, len(titles)))
            keys.append(np.array([*codes, 0], np.int64)[key])
            cpu.append(batch.call_stop - batch.call_start)
            gpu.append(events.inside)
    return np.concatenate(keys), np.concatenate(cpu), np.concatenate(gpu), list(titles)


def _memory_title(call: str, side: int, is_pinned: bool) -> str:
    how = "Async" if "async" in call.casefold() or "launch" in call.casefold() else "Sync"
    if side < 0:
        return f"Memset{how} ({call})"
    direction = _SIDES.get(side, "unknown direction")
    if is_pinned and side == 1:
        direction = "CUDAPinned->GPU"
    return f"Memcpy{how}:{direction} ({call})"


report = ReportSpec(
    "memory_manipulation",
    "Memory manipulation",
    "framework",
    memory_manipulation,
    needs=("memcpy", "memset", "range"),
    place=209,
)
