"""The context of an event: its launch, the enclosing operator and phase, its nesting depth."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.selection import View
from warpline.analysis.structure.attribution import enclosing_of_calls
from warpline.analysis.structure.launches import threads_of_tracks
from warpline.i18n import english, tr, tr_n, translated
from warpline.model.times import format_duration
from warpline_app.panels.table.content import TableColumn, text_ranks

if TYPE_CHECKING:
    from warpline.storage import Capture

Int64Array = npt.NDArray[np.int64]
_LAUNCHED = frozenset(("kernel", "memcpy", "memset", "graph", "gpu_event"))
_CALLS = frozenset(("cuda_api",))
_NESTED = frozenset(("range", "operator", "python", "phase", "other"))
_CACHED = 4_096


class EventContext:
    """The context of single events, computed for visible cells only."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        self._tracks: dict[tuple[int, str], list[int]] = {}
        self.launch = lru_cache(_CACHED)(self._launch)
        self.operator = lru_cache(_CACHED)(self._operator)
        self.phase = lru_cache(_CACHED)(self._phase)
        self.python = lru_cache(_CACHED)(self._python)

    def _launch(self, row: int) -> int | None:
        """The event that leads to this one."""
        rows, _ = self._capture.links_to(row)
        inside = rows[rows >= 0]
        return int(inside[-1]) if len(inside) else None

    def partners(self, row: int) -> list[int]:
        """Events this one leads to."""
        rows, _ = self._capture.links_from(row)
        return [int(other) for other in rows.tolist() if other >= 0]

    def _operator(self, row: int) -> int | None:
        return self._around(row, "operator")

    def _phase(self, row: int) -> int | None:
        return self._around(row, "phase")

    def _python(self, row: int) -> int | None:
        return self._around(row, "python")

    def _around(self, row: int, kind: str) -> int | None:
        """The innermost event of a kind around an event or its launch."""
        capture = self._capture
        if kind not in capture.kinds:
            return None
        launch = self.launch(row)
        start = row if launch is None else launch
        track = capture.tracks[capture.track_of_row(start)]
        if track.thread is None:
            return None
        moment = capture.event_span(start)[0]
        code = capture.kinds[kind].code
        best: tuple[int, int] | None = None
        for index in self._tracks_of(track.thread, kind):
            for lane in capture.track_lanes(index):
                found = capture.event_at(lane, moment)
                if found is None or found == row or int(capture.events.kind[found]) != code:
                    continue
                begins = capture.event_span(found)[0]
                if best is None or begins >= best[0]:
                    best = (begins, found)
        return None if best is None else best[1]

    def _tracks_of(self, thread: int, kind: str) -> list[int]:
        rows_of_tracks = self._tracks.get((thread, kind))
        if rows_of_tracks is None:
            table = self._capture.kinds[kind]
            rows_of_tracks = []
            for track in self._capture.tracks:
                if track.thread == thread:
                    part = self._capture.rows_of_track(track.index)
                    if table.count_between(part.start, part.stop):
                        rows_of_tracks.append(track.index)
            self._tracks[thread, kind] = rows_of_tracks
        return rows_of_tracks


class KindContext:
    """The context of all events of a kind at once, for sorting and filtering."""

    def __init__(self, capture: Capture, kind: str) -> None:
        self._capture = capture
        self._kind = kind

    @cached_property
    def launches(self) -> Int64Array:
        """Row of the event that leads to each of the kind's events, −1 for none (int64)."""
        capture, rows = self._capture, self._capture.kinds[self._kind].rows
        index = capture.links.arriving_many(rows)
        source, target = capture.links.from_row[index], capture.links.to_row[index]
        rows_of_tracks = (source >= 0) & (target >= 0)
        found = np.full(len(rows), -1, np.int64)
        found[np.searchsorted(rows, target[rows_of_tracks])] = source[rows_of_tracks]
        return found

    def around(self, kind: str) -> Int64Array:
        """Row of the innermost event of a kind around each event or its launch, −1 for none (int64)."""
        capture, launches = self._capture, self.launches
        start = np.where(launches >= 0, launches, capture.kinds[self._kind].rows)
        view = View(capture)
        thread = threads_of_tracks(view)[view.track_of(start)] if len(start) else np.empty(0, np.int64)
        times = capture.event_times(start)[0]
        return np.where(thread >= 0, enclosing_of_calls(view, thread, times, [kind]), -1)

    def names(self, found: Int64Array) -> Int64Array:
        """Name (string id) of the context event for each event of the capture, −1 for none (int64)."""
        capture = self._capture
        names = np.full(len(capture.events), -1, np.int64)
        rows_of_tracks = found >= 0
        names[capture.kinds[self._kind].index_rows[rows_of_tracks]] = capture.events.name[
            found[rows_of_tracks]
        ]
        return names


def context_columns(capture: Capture, kind: str) -> list[TableColumn]:
    """Columns for linked event, operator, phase and depth, where they apply to the kind."""
    context = EventContext(capture)
    names = capture.events.name

    def name_of(find: Callable[[int], int | None]) -> Callable[[int], str]:
        def text(row: int) -> str:
            found = find(row)
            return "–" if found is None else capture.strings[int(names[found])]

        return text

    def raw(text: Callable[[int], str]) -> Callable[[int], str]:
        return lambda row: "" if text(row) == "–" else text(row)

    def leads_to(row: int) -> str:
        others = context.partners(row)
        if not others:
            return "–"
        first = capture.strings[int(names[others[0]])]
        length = format_duration(int(capture.events.duration[others[0]]), 3)
        return (
            f"{first}   {length}"
            if len(others) == 1
            else tr_n("{name} and {count} more", "{name} and {count} more", len(others) - 1, name=first)
        )

    whole = KindContext(capture, kind)
    columns: list[tuple[str, Callable[[int], str], int, Callable[[], Int64Array] | None]] = []
    if kind in _LAUNCHED:
        columns.append((english("Launched by"), name_of(context.launch), 170, lambda: whole.launches))
    if kind in _CALLS:
        columns.append((english("Launches"), leads_to, 260, None))
    if kind in _LAUNCHED | _CALLS and "operator" in capture.kinds:
        columns.append(
            (english("Operator"), name_of(context.operator), 190, lambda: whole.around("operator"))
        )
    if kind in _LAUNCHED | _CALLS | {"operator"} and "phase" in capture.kinds:
        columns.append((english("Phase"), name_of(context.phase), 150, lambda: whole.around("phase")))
    result = [
        TableColumn(
            translated(title),
            text,
            sort_values=None if find is None else partial(_ranks, capture, whole, find),
            raw=raw(text),
            width=width,
            tooltip=text,
            key=f"{kind}.{title}",
            choices=None if find is None else partial(_choices, capture, whole, find),
        )
        for title, text, width, find in columns
    ]
    if kind in _NESTED:
        result.append(_depth_column(capture))
    return result


def _choices(
    capture: Capture, whole: KindContext, find: Callable[[], Int64Array]
) -> tuple[Int64Array, list[str]]:
    return whole.names(find()), capture.strings.all()


def _ranks(capture: Capture, whole: KindContext, find: Callable[[], Int64Array]) -> npt.NDArray[np.float64]:
    names = whole.names(find())
    ranks = np.append(text_ranks(capture.strings.all()).astype(np.float64), np.nan)
    return ranks[np.where((names >= 0) & (names < len(ranks) - 1), names, -1)]


def _depth_column(capture: Capture) -> TableColumn:
    def depths() -> npt.NDArray[np.int64]:
        return np.repeat(np.asarray(capture.lanes.depth).astype(np.int64), np.asarray(capture.lanes.count))

    return TableColumn(
        tr("Depth"),
        lambda row: str(int(capture.lanes.depth[capture.lane_of_row(row)])),
        sort_values=depths,
        is_number=True,
        width=70,
    )
