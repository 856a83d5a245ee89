"""The tables of one rank from which the report of a job is computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from warpline.analysis.framework.report import NotRecorded, Report, Table
from warpline.analysis.jobs.rank_case import RankCase
from warpline.analysis.jobs.rank_collectives import COLLECTIVES, rank_collectives
from warpline.analysis.jobs.rank_facts import FACTS, rank_facts
from warpline.analysis.jobs.rank_kernels import KERNELS, rank_kernels
from warpline.analysis.jobs.rank_steps import STEPS, rank_steps
from warpline.i18n import english

RANK_TABLES: Mapping[str, tuple[str, Callable[[RankCase], Table | NotRecorded]]] = {
    STEPS: (english("Steps of a rank"), rank_steps),
    COLLECTIVES: (english("Collectives of a rank"), rank_collectives),
    KERNELS: (english("Kernels of a rank"), rank_kernels),
    FACTS: (english("Facts about a rank"), rank_facts),
}
"""Title and function of each table, by name. Every rank of a job computes all of them."""


def compute_rank_table(case: RankCase, name: str) -> Report:
    """Compute one of `RANK_TABLES`. Raises KeyError for an unknown name, Cancelled."""
    title, compute = RANK_TABLES[name]
    view = case.view
    origin = view.capture.span[0]
    return Report(name, title, (view.start_ns - origin, view.stop_ns - origin), compute(case))
