"""Statistics of CPU and GPU time side by side: total, average, maximum, minimum, ratio."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.report import Values, unrecorded
from warpline.analysis.framework.statistics import GroupStatistics, group_statistics, sums_as_statistics
from warpline.analysis.framework.tables import ratios
from warpline.i18n import english

Int64Array = npt.NDArray[np.int64]
FIELDS = ("total", "avg", "max", "min")


@dataclass(frozen=True)
class Sides:
    """Statistics of CPU and GPU time of the same groups, with equal ascending keys."""

    cpu: GroupStatistics
    gpu: GroupStatistics

    def __len__(self) -> int:
        return len(self.cpu)


def plain_statistics(
    count: Int64Array, total: Int64Array, low: Int64Array, high: Int64Array
) -> GroupStatistics:
    """Statistics from sums, keyed by index; without medians and deviations, which Paddle's tables lack."""
    return sums_as_statistics(np.arange(len(count)), count, total, low, high)


def both_sides(keys: Int64Array, cpu_ns: Int64Array, gpu_ns: Int64Array) -> Sides:
    """Statistics of CPU time and launched GPU time of host events by key."""
    return Sides(group_statistics(keys, np.maximum(cpu_ns, 0)), group_statistics(keys, np.maximum(gpu_ns, 0)))


def side_columns(cpu_of: str, gpu_of: str) -> tuple[Column, ...]:
    """Columns of both sides; ``cpu_of`` and ``gpu_of`` are the wholes of the ratios."""
    columns = [Column("count", "Calls", Role.COUNT, lead=3)]
    for index, (side, title, whole) in enumerate((("cpu", "CPU", cpu_of), ("gpu", "GPU", gpu_of))):
        titles = (
            english("{what} Total", what=title),
            english("{what} Avg", what=title),
            english("{what} Max", what=title),
            english("{what} Min", what=title),
        )
        columns += [
            Column(f"{side}_{field}_ns", text, Role.DURATION, lead=4 + index if field == "total" else 0)
            for field, text in zip(FIELDS, titles, strict=True)
        ]
        columns.append(Column(f"{side}_ratio", title, Role.SHARE, of=whole, heat=True, lead=1 + index))
    return tuple(columns)


class SideRows:
    """Collects rows with a CPU and a GPU side, either of which may be missing."""

    def __init__(self) -> None:
        self._rows: list[tuple[float, ...]] = []

    def add(
        self,
        count: float,
        cpu: tuple[float, ...] | None,
        gpu: tuple[float, ...] | None,
        cpu_whole: float = 0,
        gpu_whole: float = 0,
    ) -> None:
        """Add a row. Sides are (total, avg, max, min); ratios refer to the wholes (0: no ratio)."""
        absent = (float("nan"),) * 4
        row = [count]
        for side, whole in ((cpu, cpu_whole), (gpu, gpu_whole)):
            row += side or absent
            row.append(side[0] / whole if side and whole else float("nan"))
        self._rows.append(tuple(row))

    def data(self) -> dict[str, Values]:
        """The data of `side_columns`: times as int64 where they are integers, masked where a side has none."""
        table = np.array(self._rows, np.float64).reshape(-1, 11)
        names = ["count"]
        for side in ("cpu", "gpu"):
            names += [f"{side}_{field}_ns" for field in FIELDS] + [f"{side}_ratio"]
        result: dict[str, Values] = {}
        for index, name in enumerate(names):
            column = table[:, index]
            missing = np.isnan(column)
            values = np.where(missing, 0, column)
            is_integer = name == "count" or name.endswith(("total_ns", "max_ns", "min_ns"))
            result[name] = np.ma.MaskedArray(values.astype(np.int64) if is_integer else values, missing)
        return result


def side_data(
    sides: Sides,
    order: Int64Array,
    cpu_whole: Int64Array | float,
    gpu_whole: Int64Array | float,
    *,
    has_gpu: bool = True,
) -> dict[str, Values]:
    """The data of `side_columns` for groups in an order; the GPU side is missing without a GPU."""
    data: dict[str, Values] = {"count": sides.cpu.count[order]}
    absent = unrecorded(len(order), np.float64)
    for side, stats, whole in (("cpu", sides.cpu, cpu_whole), ("gpu", sides.gpu, gpu_whole)):
        if side == "gpu" and not has_gpu:
            data |= dict.fromkeys((*(f"gpu_{field}_ns" for field in FIELDS), "gpu_ratio"), absent)
            continue
        for field in FIELDS:
            data[f"{side}_{field}_ns"] = getattr(stats, field)[order]
        data[f"{side}_ratio"] = ratios(
            stats.total[order], np.broadcast_to(np.asarray(whole, np.float64), (len(order),))
        )
    return data
