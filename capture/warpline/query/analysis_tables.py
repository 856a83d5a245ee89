"""Tables that analysis computes: launches, busy times, reports. SQL would be slower, or count differently."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from warpline.analysis.framework.registry import compute_report
from warpline.analysis.framework.report import NotRecorded, Report, Table, Texts, Values
from warpline.analysis.framework.selection import GPU_KINDS, View
from warpline.analysis.structure.launches import Launches, has_launches, launches_from
from warpline.i18n import tr, translated
from warpline.model import NotRecordedError
from warpline.model.flags import NOT_BUSY
from warpline.model.intervals import launch_delay_ns, merge_intervals
from warpline.query.definitions import REPORT, TableView, ViewColumn
from warpline.query.raw_tables import TEXT, Array, Keys, RawColumn, RawTable, texts

if TYPE_CHECKING:
    from warpline.storage import Capture

_INT64 = np.dtype(np.int64)


class AnalysisTables:
    """Makes tables of a capture that analysis computes, when a query names them."""

    def __init__(self, capture: Capture, keys: Keys) -> None:
        self._capture = capture
        self._keys = keys
        self._view = View(capture)

    # Launches

    @cached_property
    def _launches(self) -> Launches:
        return launches_from(self._view)

    def launches(self) -> TableView:
        """GPU work with the call that launched it. Raises NotRecordedError without such links."""
        if not has_launches(self._view):
            raise NotRecordedError(
                tr("no GPU work is linked to the call that launched it; record with --trace cuda")
            )
        found, origin = self._launches, self._capture.span[0]
        delay = launch_delay_ns(found.call_stop, found.work_start)
        columns: dict[str, tuple[str, Array]] = {
            "id": ("id of the GPU work", found.work),
            "ts": ("start of the work, ns since the start of the capture", found.work_start - origin),
            "dur": ("duration of the work in ns", found.work_ns),
            "call_id": ("id of the call", found.call),
            "call_ts": ("start of the call", found.call_start - origin),
            "call_dur": ("duration of the call in ns", found.call_stop - found.call_start),
            "delay": (
                "from the end of the call to the start of the work, ns; 0 where it began before",
                delay,
            ),
        }
        return self._table("launches", "GPU work and the call that launched it", columns)

    # Busy time

    def busy(self) -> TableView:
        """Intervals in which each track is busy."""
        capture = self._capture
        found = [(track.index, *self._busy_of([track.index])) for track in capture.tracks]
        return self._intervals(
            "busy", "intervals in which a track is busy, overlaps merged", "track_id", found
        )

    def device_busy(self) -> TableView:
        """Intervals in which each GPU runs something."""
        tracks: dict[int, list[int]] = {}
        for track in self._capture.tracks:
            if track.role == "stream" and track.device is not None:
                tracks.setdefault(track.device, []).append(track.index)
        found = [(device, *self._busy_of(own)) for device, own in sorted(tracks.items())]
        about = "intervals in which a GPU runs something on any stream, overlaps merged"
        return self._intervals("device_busy", about, "device", found)

    def _busy_of(self, tracks: list[int]) -> tuple[Array, Array]:
        capture = self._capture
        kinds = [capture.kinds[kind].code for kind in GPU_KINDS if kind in capture.kinds]
        starts, stops = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for track in tracks:
            rows = capture.rows_of_track(track)
            is_busy = (capture.events.flags[rows] & int(NOT_BUSY)) == 0
            if len(tracks) > 1 or capture.tracks[track].role == "stream":
                is_busy &= np.isin(capture.events.kind[rows], kinds)
            start = capture.events.start[rows][is_busy] - capture.clock_offset_of_track(track)
            starts.append(start)
            stops.append(start + capture.events.duration[rows][is_busy])
        return merge_intervals(np.concatenate(starts), np.concatenate(stops))

    def _intervals(self, name: str, about: str, key: str, found: list[tuple[int, Array, Array]]) -> TableView:
        nothing = np.empty(0, np.int64)
        starts = np.concatenate([nothing, *(start for _, start, _ in found)])
        stops = np.concatenate([nothing, *(stop for _, _, stop in found)])
        keys = np.concatenate([nothing, *(np.full(len(start), value, np.int64) for value, start, _ in found)])
        origin = self._capture.span[0]
        columns = {
            key: (f"{key} of the intervals", keys),
            "ts": ("start, ns since the start of the capture", starts - origin),
            "dur": ("length in ns", stops - starts),
        }
        return self._table(name, about, columns)

    # Reports

    def report(self, name: str) -> TableView:
        """A report as a table. Raises NotRecordedError when there is nothing to report, UsageError for no report."""
        report = compute_report(self._capture, name)
        if isinstance(report.result, NotRecorded):
            reason = translated(str(report.result))
            raise NotRecordedError(tr("{kind}: not recorded: {reason}", kind=REPORT + name, reason=reason))
        return self._table(REPORT + name, translated(report.title), _report_columns(report, report.result))

    def _table(self, name: str, about: str, columns: dict[str, tuple[str, Array]]) -> TableView:
        length = len(next(iter(columns.values()))[1])
        raw = {key: RawColumn(_dtype(values), _given(values)) for key, (_, values) in columns.items()}
        table = RawTable(self._keys.next(), length, raw)
        shown = [
            ViewColumn(key, _sql_type(values), text, table.sql(key))
            for key, (text, values) in columns.items()
        ]
        return TableView(name, about, table, tuple(shown))


def _report_columns(report: Report, table: Table) -> dict[str, tuple[str, Array]]:
    found: dict[str, tuple[str, Array]] = {}
    if table.depth is not None:
        found["depth"] = ("depth in the tree of this report", table.depth)
    for column in table.columns:
        title = translated(column.title)
        about = f"{title}, {column.unit}" if column.unit else title
        found[column.name] = (about, _plain(table.data[column.name]))
    return found or {"name": (translated(report.title), texts([]))}


def _plain(values: Values) -> Array:
    if isinstance(values, Texts):
        distinct = {
            int(code): None if code < 0 else values.lookup(int(code)) for code in set(values.codes.tolist())
        }
        return texts(distinct[code] for code in values.codes.tolist())
    if isinstance(values, np.ndarray):
        if values.dtype.kind == "f":
            return np.ma.masked_invalid(values) if np.isnan(np.ma.getdata(values)).any() else values
        return values
    return texts(values)


def _dtype(values: Array) -> np.dtype[Any]:
    return TEXT if values.dtype == object else values.dtype


def _given(values: Array) -> Any:
    return lambda: values


def _sql_type(values: Array) -> str:
    kinds = {"O": "VARCHAR", "f": "DOUBLE", "b": "BOOLEAN"}
    return kinds.get(values.dtype.kind, "BIGINT")
