"""The tables that only jobs ask a rank for."""

from __future__ import annotations

from collections.abc import Mapping

from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import Report
from warpline.analysis.framework.report_spec import Compute
from warpline.analysis.framework.selection import View
from warpline.analysis.jobs.rank_collectives import COLLECTIVES, rank_collectives
from warpline.analysis.jobs.rank_facts import FACTS, rank_facts
from warpline.analysis.jobs.rank_kernels import KERNELS, rank_kernels
from warpline.analysis.jobs.rank_steps import STEPS, rank_steps
from warpline.i18n import english

RANK_TABLES: Mapping[str, tuple[str, Compute]] = {
    STEPS: (english("Steps of a rank"), rank_steps),
    COLLECTIVES: (english("Collectives of a rank"), rank_collectives),
    KERNELS: (english("Kernels of a rank"), rank_kernels),
    FACTS: (english("A rank"), rank_facts),
}
"""By name: their titles and what computes them. Every rank of a job is asked for all of them."""


def compute_rank_table(view: View, name: str, options: Options) -> Report:
    """One of `RANK_TABLES` about a view. Raises KeyError when there is no such table, Cancelled."""
    title, compute = RANK_TABLES[name]
    origin = view.capture.span[0]
    return Report(name, title, (view.start_ns - origin, view.stop_ns - origin), compute(view, options))
