"""How many GPU kernels are how long, in powers of ten."""

from __future__ import annotations

import numpy as np

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.tables import ratio, scope_text

LIMITS = (
    (1_000, "below 1 µs"),
    (10_000, "below 10 µs"),
    (100_000, "below 100 µs"),
    (1_000_000, "below 1 ms"),
)


def kernel_lengths(view: View, _options: Options) -> Table | NotRecorded:
    """Kernels by length: how many, and their time inside the selected range."""
    if not view.has("kernel"):
        return missing("kernel")
    count = np.zeros(len(LIMITS) + 1, np.int64)
    total = np.zeros(len(LIMITS) + 1, np.int64)
    for events in view.batches("kernel"):
        place = np.searchsorted([limit for limit, _ in LIMITS], events.duration, "right")
        count += np.bincount(place, minlength=len(count))
        np.add.at(total, place, events.inside)
    return Table(
        (
            Column("name", "Length", Role.NAME, key=True),
            Column("count", "Kernels", Role.COUNT),
            Column("total_ns", "Total Time", Role.DURATION),
            Column("ratio", "Time", Role.SHARE, of="the time of all kernels", heat=True, lead=1),
        ),
        {
            "name": [*(title for _, title in LIMITS), "1 ms and more"],
            "count": count,
            "total_ns": total,
            "ratio": ratio(total, int(total.sum())),
        },
        scope=scope_text(view, "Kernels"),
    )


report = ReportSpec("kernel_lengths", "Kernels by length", "gpu", kernel_lengths, needs=("kernel",))
