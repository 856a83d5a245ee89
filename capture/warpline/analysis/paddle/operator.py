"""Paddle's operator summary: operators, their parts and the kernels they launch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from warpline.analysis.framework.nesting import window_pairs, windows
from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import View
from warpline.analysis.paddle.operator_groups import OperatorLines, compiled_groups, summed
from warpline.analysis.paddle.operator_table import merged, operator_lines, operator_table
from warpline.analysis.structure.event_types import type_code
from warpline.analysis.structure.host_events import ThreadEvents, threads_with_events


def operator(view: View, options: Options) -> Table | NotRecorded:
    """Operators with their parts and the GPU work launched in them."""
    if not view.has("operator"):
        return missing("operator")
    parts = compiled_groups(view, "Operator", by_thread=options.by_thread)
    if parts is None:
        parts = []
        for thread_events in threads_with_events(view):
            for line in _lines_of(view, thread_events, options):
                parts += summed([line])
    return operator_table(view, parts, options, view.capture.strings.__getitem__, "Operators")


def _lines_of(view: View, thread_events: ThreadEvents, options: Options) -> Iterator[OperatorLines]:
    launches = thread_events.launches
    events, remain = merged(thread_events.events)
    is_operator = remain & (events.type == type_code("Operator"))
    operators = np.flatnonzero(is_operator)
    if not len(operators):
        return
    yield operator_lines(view, events.take(operators), (), options)
    parts = np.flatnonzero(remain & (events.parent >= 0) & is_operator[np.maximum(events.parent, 0)])
    thread = thread_events.thread if options.by_thread else 0
    no_kernel = np.full(len(parts), -1, np.int64)
    above = events.name[events.parent[parts]].astype(np.int64)
    yield OperatorLines(
        thread=np.full(len(parts), thread, np.int64),
        path=(above, events.name[parts].astype(np.int64), no_kernel),
        cpu_ns=events.cpu_ns[parts],
        gpu_ns=events.gpu_ns[parts],
        self_cpu_ns=events.self_cpu_ns[parts],
        self_gpu_ns=events.self_gpu_ns[parts],
        kind=events.kind[parts].astype(np.int64),
    )
    if not len(launches):
        return
    work = view.capture.events
    kernel = work.name[launches.work].astype(np.int64)
    kind = work.kind[launches.work].astype(np.int64)
    first, last = windows(launches.call_start, events.start[parts], events.stop[parts])
    which, launch = window_pairs(first, last)
    is_direct = events.type[np.maximum(thread_events.owner, 0)] == type_code("Operator")
    direct = np.flatnonzero((thread_events.owner >= 0) & is_direct)
    owner = events.name[thread_events.owner[direct]].astype(np.int64)
    for operator_name, part, index in (
        (above[which], events.name[parts][which].astype(np.int64), launch),
        (owner, np.full(len(direct), -1, np.int64), direct),
    ):
        none = np.full(len(index), -1, np.int64)
        # A kernel launched by the operator itself is a sibling of the parts.
        path = (
            (operator_name, part, kernel[index])
            if len(part) and part[0] >= 0
            else (operator_name, kernel[index], none)
        )
        yield OperatorLines(
            thread=np.full(len(index), thread, np.int64),
            path=path,
            cpu_ns=none,
            gpu_ns=launches.work_ns[index],
            self_cpu_ns=none,
            self_gpu_ns=none,
            kind=kind[index],
        )


report = ReportSpec("operator", "Operators", "framework", operator, needs=("operator",), place=205)
