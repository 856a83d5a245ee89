"""The critical path as columns for drawing a lane."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.report import Texts
from warpline.i18n import translated
from warpline.model.errors import UsageError, WarplineError
from warpline_app.timeline.model.time_model import TimeScale

if TYPE_CHECKING:
    from warpline.analysis.findings.case import Case
    from warpline.analysis.framework.report import Table
    from warpline.model.progress import IsCancelled
    from warpline.storage import Capture

Int64Array = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, kw_only=True)
class PathSegments:
    """Adjacent segments [n] of a critical path, by start.

    ``start``/``stop`` are int64 capture ns, ``row`` is the event of each (int64, −1 for none), ``key`` its cause's key.
    Cause, place and track are in English. ``title`` says whose path it is.
    """

    title: str
    start: Int64Array
    stop: Int64Array
    row: Int64Array
    key: Callable[[int], str]
    cause: Sequence[str | None]
    place: Sequence[str | None]
    track: Sequence[str | None]

    def __len__(self) -> int:
        return len(self.start)

    def at(self, time_ns: int) -> int:
        """The segment at a time, −1 for none."""
        index = int(np.searchsorted(self.start, time_ns, "right")) - 1
        return index if index >= 0 and time_ns < int(self.stop[index]) else -1

    def runs(self, scale: TimeScale) -> Int64Array:
        """Runs to draw: [first column, last column), segment; int64 of shape [n, 3].

        A segment shorter than a pixel is drawn only if it covers the pixel's middle, so the cost depends on pixels.
        """
        if not len(self):
            return np.empty((0, 3), np.int64)
        width = scale.width_px
        middle = scale.start_ns + ((np.arange(width) + 0.5) * (scale.length_ns / width)).astype(np.int64)
        segments = np.searchsorted(self.start, middle, "right") - 1
        segments[(segments >= 0) & (self.stop[np.maximum(segments, 0)] <= middle)] = -1
        edges = np.flatnonzero(np.diff(segments)) + 1
        first, last = np.r_[0, edges], np.r_[edges, width]
        drawn = np.column_stack((first, last, segments[first]))
        return drawn[drawn[:, 2] >= 0]

    def text(self, segment: int) -> str:
        """A short label: where or whose the segment is, and its cause."""
        place = self.place[segment] or self.track[segment]
        cause = translated(self.cause[segment] or "")
        return f"{place} · {cause}" if place else cause


def path_of(capture: Capture, of: str | None, is_cancelled: IsCancelled) -> PathSegments | str:
    """The critical path of the whole capture (of the first rank if several), or of a track by its URI: a thread, GPU,
    stream or rank. Returns a text with the reason if there is none.
    """
    from warpline.analysis.findings.causes import Cause
    from warpline.analysis.findings.diagnose import cases_of, open_case
    from warpline.analysis.findings.finding import Diagnosis
    from warpline.analysis.findings.reports.critical_path import path_table
    from warpline.analysis.framework.options import Options
    from warpline.analysis.framework.selection import View

    view = View(capture, cancelled=is_cancelled)
    cases: list[tuple[int, Case]] | Diagnosis
    try:
        case = None if of is None else open_case(view, of=of)
    except UsageError:
        # A counter or core belongs to nobody: show the path of the whole capture instead.
        case = None
    if case is None:
        cases = cases_of(view, Options())
    else:
        cases = case if isinstance(case, Diagnosis) else [(-1, case)]
    if isinstance(cases, Diagnosis):
        return " · ".join(translated(text) for text in (cases.reason, cases.remedy) if text)
    names = {int(cause): cause.name.lower() for cause in Cause}
    table = path_table(view, cases[:1])
    return segments_of(table, cases[0][1].target.title, lambda code: names.get(code, "other"))


def segments_of(table: Table, title: str, key_of_code: Callable[[int], str]) -> PathSegments:
    """The segments of the report's rows about ``title``, whose time they account for."""
    targets, data = table.targets, table.data
    name, place, track = data["name"], data["place"], data["track"]
    if targets.starts is None or targets.stops is None or targets.rows is None or not isinstance(name, Texts):
        raise WarplineError("the critical path leads nowhere on the timeline")
    codes = name.codes
    return PathSegments(
        title=title,
        start=np.asarray(targets.starts),
        stop=np.asarray(targets.stops),
        row=np.asarray(targets.rows),
        key=lambda segment: key_of_code(int(codes[segment])),
        cause=name,
        place=cast("Sequence[str | None]", place),
        track=cast("Sequence[str | None]", track),
    )
