"""Compares two captures, or two sets of runs: alignment, parts of the difference, noise."""

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
from warpline.analysis.compare.predictions import Prediction, find_predictions
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
    """One capture of a side: ``path`` as the user gave it, ``range_ns`` the part to compare (since its start)."""

    capture: Capture
    path: str
    range_ns: TimeRange = WHOLE


@dataclass(frozen=True, kw_only=True)
class Choices:
    """How to compare.

    ``range_name``: use the ranges of this name as steps. ``is_each``: step k with step k instead of the median steps;
    ``step``: only the step of this number. ``is_exact``: match names exactly. ``reports``: compare these row by row.
    """

    align: Align = Align.AUTO
    range_name: str | None = None
    is_each: bool = False
    step: int | None = None
    is_exact: bool = False
    reports: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class Side:
    """One side: all its runs, the median ``run``, its compared ``windows``, and the ``use`` of their time.

    ``run_windows`` are all windows of each run, ``all_windows`` those of the median run.
    """

    runs: tuple[CaptureRun, ...]
    run: CaptureRun
    windows: Windows
    all_windows: Windows
    use: TimeUse
    run_windows: tuple[Windows, ...]

    @property
    def runs_ns(self) -> tuple[int, ...]:
        """The value of each run, ns: its median step, or its length."""
        return tuple(map(_value_ns, self.run_windows))

    def largest_stretch(self, cause: str, name: str | None = None) -> tuple[int, int] | None:
        """The longest stretch of a cause (or of its contributor ``name``) in the windows (capture ns), if any."""
        return self.use.largest_stretch(cause, self.windows.start, self.windows.stop, name)

    @property
    def total_ns(self) -> int:
        """The length of the windows."""
        return int(self.windows.length.sum())


@dataclass(frozen=True, eq=False, kw_only=True)
class Comparison:
    """The result of `compare`; lists are sorted by largest change.

    ``steps`` are the compared pairs, if asked for: (number in A, number in B, ns, ns). ``predictions`` are the findings
    of A that are cured in B.
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
    predictions: tuple[Prediction, ...] = ()

    @property
    def difference_ns(self) -> int:
        """B − A."""
        return self.b.total_ns - self.a.total_ns

    @property
    def is_noise(self) -> bool:
        """Whether the difference is within the variation of runs or steps."""
        return self.variation is not None and self.variation.is_noise

    @property
    def rules(self) -> list[str]:
        """The titles of the rules that matched names."""
        used = [rule for part in self.parts for item in part.contributors for rule in item.rules]
        used += [rule for table in self.tables for row in table.rows for rule in row.rules]
        return rule_titles(used)


def compare(
    a: Sequence[CaptureRun],
    b: Sequence[CaptureRun],
    choices: Choices | None = None,
    cancelled: IsCancelled | None = None,
) -> Comparison:
    """Compare two captures, or two sets of runs, each represented by its median run.

    Raises UsageError when they cannot be aligned as asked, have nothing to compare, or lack a report; Cancelled.
    """
    choices = choices or Choices()
    for name in choices.reports:
        find_report(name)
    runs = [*a, *b]
    views = [_view(run, cancelled) for run in runs]
    has_range = any(run.range_ns != WHOLE for run in runs)
    aligned, windows = align_views(views, choices.align, name=choices.range_name, has_range=has_range)
    if choices.step is not None:
        windows = [numbered(own, choices.step, run.path) for own, run in zip(windows, runs, strict=True)]
    is_gpu = all(map(has_gpu_work, views))
    all_a, all_b = windows[: len(a)], windows[len(a) :]
    at_a, at_b = _median_run(all_a), _median_run(all_b)
    chosen_a, chosen_b = all_a[at_a], all_b[at_b]
    if choices.is_each:
        chosen_a, chosen_b = pair_steps(chosen_a, chosen_b)
    else:
        chosen_a, chosen_b = (windows.take([windows.median()]) for windows in (chosen_a, chosen_b))
    sides = []
    for side, at, chosen, side_windows, side_views in (
        (a, at_a, chosen_a, all_a, views[: len(a)]),
        (b, at_b, chosen_b, all_b, views[len(a) :]),
    ):
        use = _time_use(side_views[at], chosen, is_gpu=is_gpu)
        if use is None:
            raise UsageError(tr("{path}: there is nothing to compare in this range", path=side[at].path))
        sides.append(
            Side(
                runs=tuple(side),
                run=side[at],
                windows=chosen,
                all_windows=side_windows[at],
                use=use,
                run_windows=tuple(side_windows),
            )
        )
    side_a, side_b = sides
    parts = waterfall(side_a.use, side_a.windows, side_b.use, side_b.windows, is_exact=choices.is_exact)
    if not choices.is_each:
        values_a, values_b = (
            _repeated_parts(side_a, views[: len(a)]),
            _repeated_parts(side_b, views[len(a) :]),
        )
        parts = varied_parts(parts, "runs" if len(runs) > 2 else "steps", values_a, values_b)
    # Time that other programs took is not gained by a cure.
    gained_ns = -sum(part.difference_ns for part in parts if part.cause != "runnable")
    return Comparison(
        a=side_a,
        b=side_b,
        aligned_by=aligned,
        choices=choices,
        parts=parts,
        variation=_variation(side_a, side_b),
        facts=compare_metadata(side_a.run.capture, side_b.run.capture),
        tables=tuple(compare_report(side_a, side_b, name, choices, cancelled) for name in choices.reports),
        steps=_step_pairs(side_a, side_b) if choices.is_each else (),
        predictions=find_predictions(
            views[at_a], views[len(a) + at_b], (side_a.total_ns, side_b.total_ns), gained_ns
        ),
    )


def _view(run: CaptureRun, cancelled: IsCancelled | None) -> View:
    origin = run.capture.span[0]
    start, stop = (None if end is None else origin + end for end in run.range_ns)
    return View(run.capture, Selection(start, stop), cancelled)


def _value_ns(windows: Windows) -> int:
    return int(windows.length[windows.median()])


def _median_run(runs: Sequence[Windows]) -> int:
    """The index of the run with the median value; with an even number, the shorter of the middle two."""
    values = np.array([_value_ns(windows) for windows in runs])
    return int(np.argsort(values, kind="stable")[(len(values) - 1) // 2])


def _time_use(view: View, windows: Windows, *, is_gpu: bool) -> TimeUse | None:
    """The use of the time around some windows. It reads past their end, where the causes of the last gaps lie."""
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
    """The time of each cause, int64 ns: in the median window of each run, or in steps around that of a single run."""
    if len(side.runs) == 1:
        steps = around(side.all_windows)
        if len(steps) < FEWEST:
            return {}
        use = _time_use(views[0], steps, is_gpu=side.use.is_gpu)
        return {} if use is None else use.parts(steps.start, steps.stop)
    parts_of_runs = []
    for view, windows in zip(views, side.run_windows, strict=True):
        median = windows.take([windows.median()])
        use = _time_use(view, median, is_gpu=side.use.is_gpu)
        parts_of_runs.append({} if use is None else use.parts(median.start, median.stop))
    causes = {cause for parts in parts_of_runs for cause in parts}
    nothing = np.zeros(1, np.int64)
    return {cause: np.concatenate([parts.get(cause, nothing) for parts in parts_of_runs]) for cause in causes}


def _variation(a: Side, b: Side) -> Variation | None:
    """The variation over runs if there are several, else over steps."""
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
    """Compare a report row by row over the compared windows.

    Raises UsageError when a side lacks the report or its rows have no key; Cancelled.
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
