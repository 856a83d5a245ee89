"""Two captures, or two sets of runs, compared: how they are aligned, where the difference lies, whether it is noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from warpline.analysis.compare.alignment import Align, Windows, align_views, numbered, pair_steps
from warpline.analysis.compare.causes import TimeUse, gpu_time_use, has_gpu_work, host_time_use
from warpline.analysis.compare.metadata import FactChange, compare_metadata
from warpline.analysis.compare.names import rule_titles
from warpline.analysis.compare.repetitions import ReportOfRun, around, with_repetitions
from warpline.analysis.compare.tables import TableComparison, compare_tables
from warpline.analysis.compare.variation import FEWEST, Variation, variation
from warpline.analysis.compare.waterfall import TimePart, varied_parts, waterfall
from warpline.analysis.framework.column import Role
from warpline.analysis.framework.registry import compute_report, find_report
from warpline.analysis.framework.report import Table
from warpline.analysis.framework.selection import Selection, View
from warpline.i18n import tr
from warpline.model import UsageError
from warpline.model.progress import IsCancelled, check_cancelled

if TYPE_CHECKING:
    from warpline.storage import Capture

Int64Array = npt.NDArray[np.int64]
TimeRange = tuple[int | None, int | None]
WHOLE: TimeRange = (None, None)


@dataclass(frozen=True, eq=False)
class CaptureRun:
    """One capture of a side: ``path`` is what a person calls it, ``range_ns`` the part of it (since its start)."""

    capture: Capture
    path: str
    range_ns: TimeRange = WHOLE


@dataclass(frozen=True)
class Choices:
    """How to compare. ``range_name``: ranges of that name stand against each other. ``is_each``: step k to step k
    instead of median to median; ``step``: only the step of that number. ``is_exact``: names match as they are only.
    ``reports`` to be compared row by row.
    """

    align: Align = Align.AUTO
    range_name: str | None = None
    is_each: bool = False
    step: int | None = None
    is_exact: bool = False
    reports: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Side:
    """One side: its runs, and of the one that stands for them the windows compared and what their time went to.

    ``run_windows`` are those of each run before one or some were chosen, ``all_windows`` those of this one.
    """

    runs: tuple[CaptureRun, ...]
    run: CaptureRun
    windows: Windows
    all_windows: Windows
    use: TimeUse
    run_windows: tuple[Windows, ...]

    @property
    def runs_ns(self) -> tuple[int, ...]:
        """The value of each run: its median step, or its length."""
        return tuple(map(_value_ns, self.run_windows))

    def largest_stretch(self, cause: str, name: str | None = None) -> tuple[int, int] | None:
        """Where in the windows a cause, or one that contributed to it, had the most time at once (capture ns); None
        where it had none.
        """
        return self.use.largest_stretch(cause, self.windows.start, self.windows.stop, name)

    @property
    def total_ns(self) -> int:
        """The length of the windows."""
        return int(self.windows.length.sum())


@dataclass(frozen=True, eq=False)
class Comparison:
    """What `compare` finds; every list is sorted by what explains most.

    ``steps`` are the pairs of step k to step k, where they were asked for: (number in A, number in B, ns, ns).
    """

    a: Side
    b: Side
    aligned_by: Align
    choices: Choices
    parts: tuple[TimePart, ...]
    variation: Variation | None
    facts: tuple[FactChange, ...]
    tables: tuple[TableComparison, ...]
    steps: tuple[tuple[int, int, int, int], ...] = ()

    @property
    def difference_ns(self) -> int:
        """What B takes more than A."""
        return self.b.total_ns - self.a.total_ns

    @property
    def is_noise(self) -> bool:
        """Whether nothing differs beyond how runs, or steps, vary."""
        return self.variation is not None and self.variation.is_noise

    @property
    def rules(self) -> list[str]:
        """What people call the rules by which names were matched, of those that were used."""
        used = [rule for part in self.parts for one in part.contributors for rule in one.rules]
        used += [rule for table in self.tables for row in table.rows for rule in row.rules]
        return rule_titles(used)


def compare(
    a: Sequence[CaptureRun],
    b: Sequence[CaptureRun],
    choices: Choices | None = None,
    cancelled: IsCancelled | None = None,
) -> Comparison:
    """Compare two captures, or two sets of runs of which the median one stands for its side.

    Raises UsageError when they cannot be aligned as asked, hold nothing to compare, or lack a report; Cancelled.
    """
    choices = choices or Choices()
    for name in choices.reports:
        find_report(name)
    runs = [*a, *b]
    views = [_view(run, cancelled) for run in runs]
    has_range = any(run.range_ns != WHOLE for run in runs)
    aligned, windows = align_views(views, choices.align, name=choices.range_name, has_range=has_range)
    if choices.step is not None:
        windows = [numbered(one, choices.step, run.path) for one, run in zip(windows, runs, strict=True)]
    is_gpu = all(map(has_gpu_work, views))
    all_a, all_b = windows[: len(a)], windows[len(a) :]
    at_a, at_b = _median_run(all_a), _median_run(all_b)
    chosen_a, chosen_b = all_a[at_a], all_b[at_b]
    if choices.is_each:
        chosen_a, chosen_b = pair_steps(chosen_a, chosen_b)
    else:
        chosen_a, chosen_b = (one.take([one.median()]) for one in (chosen_a, chosen_b))
    sides = []
    for side, at, chosen, its, its_views in (
        (a, at_a, chosen_a, all_a, views[: len(a)]),
        (b, at_b, chosen_b, all_b, views[len(a) :]),
    ):
        use = _time_use(its_views[at], chosen, is_gpu=is_gpu)
        if use is None:
            raise UsageError(
                tr("{path}: holds nothing in this part that could be compared", path=side[at].path)
            )
        sides.append(Side(tuple(side), side[at], chosen, its[at], use, tuple(its)))
    one, other = sides
    parts = waterfall(one.use, one.windows, other.use, other.windows, is_exact=choices.is_exact)
    if not choices.is_each:
        values_a, values_b = _repeated_parts(one, views[: len(a)]), _repeated_parts(other, views[len(a) :])
        parts = varied_parts(parts, "runs" if len(runs) > 2 else "steps", values_a, values_b)
    return Comparison(
        one,
        other,
        aligned,
        choices,
        parts,
        _variation(one, other),
        compare_metadata(one.run.capture, other.run.capture),
        tuple(compare_report(one, other, name, choices, cancelled) for name in choices.reports),
        _step_pairs(one, other) if choices.is_each else (),
    )


def _view(run: CaptureRun, cancelled: IsCancelled | None) -> View:
    origin = run.capture.span[0]
    start, stop = (None if end is None else origin + end for end in run.range_ns)
    return View(run.capture, Selection(start, stop), cancelled)


def _value_ns(windows: Windows) -> int:
    return int(windows.length[windows.median()])


def _median_run(found: Sequence[Windows]) -> int:
    """The place of the run whose value is the median: of an even number the shorter of the two in the middle."""
    values = np.array([_value_ns(windows) for windows in found])
    return int(np.argsort(values, kind="stable")[(len(values) - 1) // 2])


def _time_use(view: View, windows: Windows, *, is_gpu: bool) -> TimeUse | None:
    """What the time around some windows went to, seen a little further: gaps at the end have their cause behind it."""
    start, stop = int(windows.start[0]), int(windows.stop.max())
    reach = stop + int(windows.length.max()) if len(windows) else stop
    ranks = frozenset({windows.rank}) if windows.rank >= 0 else None
    around = View(
        view.capture,
        replace(
            view.selection, start_ns=start, stop_ns=max(min(reach, view.capture.span[1]), stop), ranks=ranks
        ),
        view.cancelled,
    )
    if is_gpu:
        return gpu_time_use(around, windows.process, windows.rank)
    return host_time_use(around, windows.thread, windows.process)


def _repeated_parts(side: Side, views: Sequence[View]) -> dict[str, Int64Array]:
    """The time of each cause in the median window of each run, or of one run in each step around it (int64 ns)."""
    if len(side.runs) == 1:
        steps = around(side.all_windows)
        if len(steps) < FEWEST:
            return {}
        use = _time_use(views[0], steps, is_gpu=side.use.is_gpu)
        return {} if use is None else use.parts(steps.start, steps.stop)
    found = []
    for view, windows in zip(views, side.run_windows, strict=True):
        median = windows.take([windows.median()])
        use = _time_use(view, median, is_gpu=side.use.is_gpu)
        found.append({} if use is None else use.parts(median.start, median.stop))
    causes = {cause for parts in found for cause in parts}
    nothing = np.zeros(1, np.int64)
    return {cause: np.concatenate([parts.get(cause, nothing) for parts in found]) for cause in causes}


def _variation(a: Side, b: Side) -> Variation | None:
    """How runs vary where there are several, else how steps do."""
    if len(a.runs_ns) > 1 or len(b.runs_ns) > 1:
        return variation("runs", np.array(a.runs_ns), np.array(b.runs_ns))
    if len(a.all_windows) > 1 or len(b.all_windows) > 1:
        return variation("steps", a.all_windows.length, b.all_windows.length)
    return None


def _step_pairs(a: Side, b: Side) -> tuple[tuple[int, int, int, int], ...]:
    return tuple(
        zip(
            a.windows.number.tolist(),
            b.windows.number.tolist(),
            a.windows.length.tolist(),
            b.windows.length.tolist(),
            strict=True,
        )
    )


def compare_report(
    a: Side, b: Side, name: str, choices: Choices, cancelled: IsCancelled | None = None
) -> TableComparison:
    """A report of both sides, row by row, over the windows that are compared.

    Raises UsageError when a side does not have it, or it has no rows that are known by a key; Cancelled.
    """
    sides: list[list[Table]] = []
    for side in (a, b):
        tables = []
        for run, windows in zip(side.runs, side.run_windows, strict=True):
            check_cancelled(cancelled, tr("the comparison was cancelled"))
            chosen = side.windows if run is side.run else windows.take([windows.median()])
            result = compute_report(
                run.capture,
                name,
                Selection(int(chosen.start[0]), int(chosen.stop.max())),
                cancelled=cancelled,
            )
            if result.table is None:
                raise UsageError(tr("{report} was not recorded in both captures", report=name))
            tables.append(result.table)
        sides.append(tables)
    compared = compare_tables(
        name, sides[0], sides[1], title=find_report(name).title, is_exact=choices.is_exact
    )
    if compared is None:
        raise UsageError(tr("{report} has no rows that can be compared", report=name))
    if len(a.runs) == len(b.runs) == 1 and compared.column.role is Role.DURATION:
        views = [View(side.run.capture, cancelled=cancelled) for side in (a, b)]
        first, second = (
            ReportOfRun(view, side.all_windows, side.windows, tables[0])
            for view, side, tables in zip(views, (a, b), sides, strict=True)
        )
        compared = with_repetitions(compared, first, second)
    return compared
