"""Kernels over ranks: which take longer on some ranks, and whether through more calls or slower ones."""

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
"""How many times the median rank's time makes a kernel slower."""
_NEARLY_ALL = 0.8
_SHORT = 60


class KernelTimes:
    """Calls and time of each kernel on each rank; ranks are added one at a time."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._parts: dict[int, tuple[npt.NDArray[np.int64], Float64Array, Float64Array]] = {}

    def add(self, rank: int, table: Table) -> None:
        """Add the `rank_kernels` of a rank."""
        codes = [self._codes.setdefault(name or "", len(self._codes)) for name in table.values("name")]
        count, total = (np.asarray(table.data[name], np.float64) for name in ("count", "total_ns"))
        self._parts[rank] = (np.array(codes, np.int64), count, total)
        self._matrices = None

    _matrices: tuple[npt.NDArray[np.int64], Float64Array, Float64Array] | None = None

    @property
    def names(self) -> list[str]:
        """The kernels of all ranks."""
        return list(self._codes)

    def matrices(self) -> tuple[npt.NDArray[np.int64], Float64Array, Float64Array]:
        """(ranks, calls, time in ns): int64 (ranks) and float64 (kernels, ranks), 0 where a rank lacks the kernel."""
        if self._matrices is None:
            ranks = np.array(sorted(self._parts), np.int64)
            calls = np.zeros((len(self._codes), len(ranks)))
            times = np.zeros_like(calls)
            for index, rank in enumerate(ranks.tolist()):
                codes, count, total = self._parts[rank]
                calls[codes, index], times[codes, index] = count, total
            self._matrices = ranks, calls, times
        return self._matrices

    def why_slow(self, rank: int) -> str:
        """Why a rank computes longer than the median one (English); empty when unknown.

        If nearly all kernels are longer by the same factor, the GPU's clock is slower. Otherwise it is the kernel with
        the largest excess, which ran more often or longer.
        """
        ranks, calls, times = self.matrices()
        place = int(np.searchsorted(ranks, rank))
        if place >= len(ranks) or ranks[place] != rank or len(ranks) < 2:
            return ""
        median, usual_calls = np.median(times, axis=1), np.median(calls, axis=1)
        times_here, calls_here = times[:, place], calls[:, place]
        both = (usual_calls > 0) & (calls_here > 0)
        slower = np.zeros(len(times_here))
        slower[both] = (times_here[both] / calls_here[both]) / np.maximum(
            median[both] / usual_calls[both], 1e-9
        )
        weight = median[both].sum()
        if both.sum() > 1 and weight and median[both & (slower >= _SLOWER)].sum() >= _NEARLY_ALL * weight:
            usual = float(np.median(slower[both & (slower >= _SLOWER)]))
            return english(
                "all kernels take {factor}× as long: is the GPU clock lower?", factor=f"{usual:.2f}"
            )
        excess = times_here - median
        if not len(excess) or excess.max() <= 0:
            return ""
        worst = int(excess.argmax())
        name = self.names[worst]
        name = name if len(name) <= _SHORT else name[: _SHORT - 1] + "…"
        if calls_here[worst] > _SLOWER * usual_calls[worst]:
            return english("more work: {kernel} runs more often", kernel=name)
        return english("slow kernel: {kernel}", kernel=name)


def kernels_table(kernels: KernelTimes) -> Table | NotRecorded:
    """A row for each computing kernel: its number of ranks, median time, worst time with its rank, and imbalance.

    ``cost_ns`` is the excess of the worst rank over the mean, for which others may have to wait; ``imbalance`` is that
    as a share of the mean. ``calls_worst`` and ``per_call_ratio`` are those of the worst rank: more calls than the
    median mean more work, longer calls a slower rank.
    """
    ranks, calls, times = kernels.matrices()
    if not len(kernels.names) or len(ranks) < 2:
        return NotRecorded(english("kernels were recorded on fewer than two ranks"))
    mean = times.mean(axis=1)
    place = times.argmax(axis=1)
    rows = np.arange(len(times))
    cost = times[rows, place] - mean
    median, usual_calls = spreads(times).median, np.median(calls, axis=1)
    calls_worst = calls[rows, place]
    per_call = np.divide(times[rows, place], calls_worst, out=np.zeros(len(rows)), where=calls_worst > 0)
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
            Column("cost_ns", english("Above the mean"), Role.DURATION, heat=True),
            Column("imbalance", english("Imbalance"), Role.RATIO, of=english("the mean over ranks")),
            Column("calls", english("Calls (median)"), Role.NUMBER),
            Column("calls_worst", english("Its calls"), Role.COUNT),
            Column(
                "per_call_ratio", english("Its time per call"), Role.RATIO, of=english("that of the median")
            ),
        ),
        {
            "name": [kernels.names[row] for row in order.tolist()],
            "ranks": (calls > 0).sum(axis=1)[order],
            "total_ns": median[order],
            "total_ns_worst": times[rows, place][order],
            "total_ns_worst_rank": np.ma.MaskedArray(ranks[place][order], is_even),
            "cost_ns": cost[order],
            "imbalance": ratios(cost, mean)[order],
            "calls": usual_calls[order],
            "calls_worst": calls_worst[order].astype(np.int64),
            "per_call_ratio": recorded(per_call / usual)[order],
        },
    )
