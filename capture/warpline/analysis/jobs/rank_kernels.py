"""Table of one rank: calls and time of each kernel."""

from __future__ import annotations

import numpy as np

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.loops.lane_times import times_by_name
from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.report import NotRecorded, Table
from warpline.analysis.framework.tables import name_texts
from warpline.analysis.jobs.rank_case import RankCase
from warpline.analysis.structure.kernels import communication_ids
from warpline.i18n import english

KERNELS = "rank_kernels"


def rank_kernels(case: RankCase) -> Table | NotRecorded:
    """Computing kernels by name, in the rank's steps if it has any: calls and time, longest first."""
    view = case.view
    kinds = [kind for kind in ("kernel", "gpu_event") if kind in view.capture.kinds]
    if not view.has(*kinds):
        return missing("gpu")
    windows = case.windows
    if windows is not None:
        view = view.restrict(int(windows.start.min()), int(windows.stop.max()))
    size = max(len(view.capture.strings), 1)
    count, total = np.zeros(size, np.int64), np.zeros(size, np.int64)
    for kind in kinds:
        for name, time in times_by_name(view, kind):
            count += np.bincount(name, minlength=size)
            np.add.at(total, name, time)
    names = np.flatnonzero((count > 0) & ~communication_ids(view)[:size])
    names = names[np.argsort(-total[names], kind="stable")]
    return Table(
        (
            Column("name", english("Kernel"), Role.NAME, key=True),
            Column("count", english("Calls"), Role.COUNT),
            Column("total_ns", english("Total Time"), Role.DURATION),
        ),
        {"name": name_texts(view, names), "count": count[names], "total_ns": total[names]},
    )
