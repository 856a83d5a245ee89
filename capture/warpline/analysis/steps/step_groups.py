"""Helpers of reports about steps: groups by process, surrounding range, key columns."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.report import Values
from warpline.analysis.framework.selection import GPU_KINDS, Selection, View
from warpline.analysis.framework.tables import masked_below_zero
from warpline.analysis.structure.gpus import gpus
from warpline.analysis.structure.overlap import Intervals, UnionOfPortions
from warpline.analysis.structure.steps import Steps


def around_steps(view: View, steps: Steps) -> View:
    """All tracks from the start of the first step to the end of the capture, since GPU work follows steps."""
    chosen = view.selection
    return view.other(
        Selection(
            int(steps.start.min()), view.capture.span[1], ranks=chosen.ranks, processes=chosen.processes
        ),
    )


def step_groups(steps: Steps) -> list[tuple[int, int, npt.NDArray[np.int64]]]:
    """(process, rank, places) of the steps of each process of each rank."""
    keys = sorted(set(zip(steps.process.tolist(), steps.rank.tolist(), strict=True)))
    return [(p, r, np.flatnonzero((steps.process == p) & (steps.rank == r))) for p, r in keys]


def gpu_union(view: View, rank: int, kinds: tuple[str, ...] = GPU_KINDS) -> Intervals:
    """When the GPUs of a rank (−1: all) were busy, as one union."""
    union = UnionOfPortions()
    for gpu in gpus(view):
        for kind in kinds if rank < 0 or gpu.rank == rank else ():
            for events in view.batches(kind, gpu.tracks):
                union.add(events.start, events.stop)
    return union.intervals()


def owner_columns(view: View, steps: Steps) -> tuple[list[Column], dict[str, Values]]:
    """Key columns for the steps' rank, if there are ranks, and process, if there are several."""
    columns: list[Column] = []
    data: dict[str, Values] = {}
    if (steps.rank >= 0).any():
        columns.append(Column("rank", "Rank", Role.ID, key=True))
        data["rank"] = masked_below_zero(steps.rank)
    groups = step_groups(steps)
    if len(groups) > len({rank for _, rank, _ in groups}):
        pids = np.array([*(process.pid for process in view.capture.processes), -1], np.int64)
        columns.append(Column("pid", "PID", Role.ID, key=True))
        data["pid"] = masked_below_zero(pids[steps.process])
    return columns, data
