"""Kernels over ranks: which of them take longer on some ranks than on others, and whether by more work or slower."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.report import NotRecorded, Table
from warpline.analysis.framework.tables import ratios
from warpline.analysis.jobs.distribution import recorded, spreads
from warpline.i18n import english

Float64Array = npt.NDArray[np.float64]
_SLOWER = 1.02
"""A kernel that takes so many times what it takes on the median rank is slower there."""
_NEARLY_ALL = 0.8
_SHORT = 60


class KernelTimes:
    """How often and how long each kernel ran on each rank; ranks are added one at a time."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._parts: dict[int, tuple[npt.NDArray[np.int64], Float64Array, Float64Array]] = {}

    def add(self, rank: int, table: Table) -> None:
        """The `rank_kernels` of a rank."""
        codes = [self._codes.setdefault(name or "", len(self._codes)) for name in table.values("name")]
        count, total = (np.asarray(table.data[name], np.float64) for name in ("count", "total_ns"))
        self._parts[rank] = (np.array(codes, np.int64), count, total)
        self._made = None

    _made: tuple[npt.NDArray[np.int64], Float64Array, Float64Array] | None = None

    @property
    def names(self) -> list[str]:
        """The kernels of any rank."""
        return list(self._codes)

    def matrices(self) -> tuple[npt.NDArray[np.int64], Float64Array, Float64Array]:
        """(ranks, calls, time in ns): int64 (ranks) and float64 (kernels, ranks), 0 where a rank has no such kernel."""
        if self._made is None:
            ranks = np.array(sorted(self._parts), np.int64)
            calls = np.zeros((len(self._codes), len(ranks)))
            times = np.zeros_like(calls)
            for place, rank in enumerate(ranks.tolist()):
                codes, count, total = self._parts[rank]
                calls[codes, place], times[codes, place] = count, total
            self._made = ranks, calls, times
        return self._made

    def why_slow(self, rank: int) -> str:
        """What makes a rank compute longer than the median one (English); empty where no kernel tells.

        All kernels longer by about as much is a slower clock of the GPU; else the kernel with most excess is named,
        with whether it ran more often or longer.
        """
        ranks, calls, times = self.matrices()
        place = int(np.searchsorted(ranks, rank))
        if place >= len(ranks) or ranks[place] != rank or len(ranks) < 2:
            return ""
        median, usual_calls = np.median(times, axis=1), np.median(calls, axis=1)
        mine, its_calls = times[:, place], calls[:, place]
        both = (usual_calls > 0) & (its_calls > 0)
        slower = np.zeros(len(mine))
        slower[both] = (mine[both] / its_calls[both]) / np.maximum(median[both] / usual_calls[both], 1e-9)
        weight = median[both].sum()
        if both.sum() > 1 and weight and median[both & (slower >= _SLOWER)].sum() >= _NEARLY_ALL * weight:
            usual = float(np.median(slower[both & (slower >= _SLOWER)]))
            return english(
                "all kernels take {factor} times as long: a slower clock of the GPU?", factor=f"{usual:.2f}"
            )
        excess = mine - median
        if not len(excess) or excess.max() <= 0:
            return ""
        worst = int(excess.argmax())
        name = self.names[worst]
        name = name if len(name) <= _SHORT else name[: _SHORT - 1] + "…"
        if its_calls[worst] > _SLOWER * usual_calls[worst]:
            return english("more work: {kernel} runs more often", kernel=name)
        return english("slow kernel: {kernel}", kernel=name)


def kernels_table(found: KernelTimes) -> Table | NotRecorded:
    """A row for each kernel that computes: on how many ranks, median and worst time with its rank, how uneven.

    ``imbalance`` is by how much the rank that has most exceeds the mean, as a part of the mean; ``cost_ns`` that
    excess: what the others may have to wait for. ``calls_worst`` and ``per_call_ratio`` are those of the same rank:
    more calls than the median rank are more work, longer ones a slower rank.
    """
    ranks, calls, times = found.matrices()
    if not len(found.names) or len(ranks) < 2:
        return NotRecorded(english("kernels were recorded on fewer than two ranks"))
    mean = times.mean(axis=1)
    place = times.argmax(axis=1)
    rows = np.arange(len(times))
    cost = times[rows, place] - mean
    median, usual_calls = spreads(times).median, np.median(calls, axis=1)
    its_calls = calls[rows, place]
    per_call = np.divide(times[rows, place], its_calls, out=np.zeros(len(rows)), where=its_calls > 0)
    usual = np.divide(median, usual_calls, out=np.full(len(rows), np.nan), where=usual_calls > 0)
    order = np.argsort(-cost, kind="stable")
    is_even = cost[order] <= 0
    return Table(
        (
            Column("name", english("Kernel"), Role.NAME, key=True),
            Column("ranks", english("Ranks"), Role.COUNT),
            Column("total_ns", english("Median"), Role.DURATION),
            Column("total_ns_worst", english("Largest"), Role.DURATION),
            Column("total_ns_worst_rank", english("Its rank"), Role.ID),
            Column("cost_ns", english("Above the mean by"), Role.DURATION, heat=True),
            Column("imbalance", english("Imbalance"), Role.RATIO, english("the mean over ranks")),
            Column("calls", english("Calls (median)"), Role.NUMBER),
            Column("calls_worst", english("Its calls"), Role.COUNT),
            Column("per_call_ratio", english("Its time per call"), Role.RATIO, english("that of the median")),
        ),
        {
            "name": [found.names[row] for row in order.tolist()],
            "ranks": (calls > 0).sum(axis=1)[order],
            "total_ns": median[order],
            "total_ns_worst": times[rows, place][order],
            "total_ns_worst_rank": np.ma.MaskedArray(ranks[place][order], is_even),
            "cost_ns": cost[order],
            "imbalance": ratios(cost, mean)[order],
            "calls": usual_calls[order],
            "calls_worst": its_calls[order].astype(np.int64),
            "per_call_ratio": recorded(per_call / usual)[order],
        },
    )
