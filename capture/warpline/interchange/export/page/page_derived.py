"""The rows of a page that queries derived: their own events as boxes, values over time as boxes of some height."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from warpline.i18n import tr
from warpline.interchange.export.page.page_colors import PageColors, hue_of
from warpline.interchange.export.selection import Int64Array
from warpline.model.derived_rows import DerivedRow
from warpline.storage.columns.counters import Counter
from warpline.storage.columns.derived_events import COLOR_FAMILIES, DerivedEvents, ShownRow

if TYPE_CHECKING:
    from collections.abc import Callable

    from warpline.storage import Capture

MOST_BOXES = 5_000
"""Boxes of one line; beyond that, short events are merged, and values give way to the largest of some."""
_FIRST_BIN_NS = 64
_VALUE_PX = 40


@dataclass(frozen=True, kw_only=True)
class PageTables:
    """Numbers of the page's names and colours, its time in capture ns, and the colours of the capture's events."""

    names: Callable[[str], int]
    colors: Callable[[str], int]
    painter: PageColors
    interval: tuple[int, int]


def derived_page_rows(
    capture: Capture, shown: tuple[ShownRow, ...], tables: PageTables
) -> list[dict[str, Any]]:
    """Rows of a page as `page_rows` has them, below a heading; a row may have a ``height`` in pixels.

    The sixth number of a box is the share of that height that it fills.
    """
    rows: list[dict[str, Any]] = []
    for row, content in shown:
        if isinstance(content, str):
            rows.append({"title": f"{row.title} – {content}", "depth": 1, "lanes": [[]]})
        elif isinstance(content, Counter):
            lane = _value_boxes(content, row, tables)
            rows.append({"title": row.title, "depth": 1, "lanes": [lane], "height": _VALUE_PX})
        elif content.tracks:
            rows.append({"title": row.title, "depth": 1, "lanes": []})
            rows += [
                {"title": title, "depth": 2, "lanes": _lanes(capture, content, row, track, tables)}
                for track, title in enumerate(content.tracks)
            ]
        else:
            rows.append(
                {"title": row.title, "depth": 1, "lanes": _lanes(capture, content, row, None, tables)}
            )
    return [{"title": tr("Derived rows"), "depth": 0, "lanes": []}, *rows] if rows else []


def _lanes(
    capture: Capture, events: DerivedEvents, row: DerivedRow, track: int | None, tables: PageTables
) -> list[list[list[int]]]:
    return [_boxes(capture, events, row, places, tables) for places in events.lines_of(track)]


def _boxes(
    capture: Capture, events: DerivedEvents, row: DerivedRow, places: Int64Array, tables: PageTables
) -> list[list[int]]:
    low, high = tables.interval
    start, stop = events.start[places], events.start[places] + events.duration[places]
    # Those that share a line follow each other on a page.
    before = np.concatenate(([low], np.maximum.accumulate(stop)[:-1])) if len(stop) else stop
    start = np.maximum(start, before)
    inside = np.flatnonzero((stop >= low) & (start < high) & (stop >= start))
    places, start, stop = places[inside], np.maximum(start[inside], low), np.minimum(stop[inside], high)
    first = _heads(start, stop - start)
    counts = np.diff(np.append(first, len(start)))
    last = first + counts - 1
    texts = _texts(capture, events, places[first], counts, tables)
    colors = [tables.colors(token) for token in _tokens(events, row, places[first], tables)]
    return [
        list(box)
        for box in zip(
            (start[first] - low).tolist(),
            (stop[last] - start[first]).tolist(),
            texts,
            colors,
            counts.tolist(),
            strict=True,
        )
    ]


def _heads(start: Int64Array, duration: Int64Array) -> Int64Array:
    """Where boxes begin: at each event, or at the first of the short events of a bin where there are too many."""
    bin_ns, heads = 0, np.arange(len(start))
    while len(heads) > MOST_BOXES and bin_ns < 1 << 60:
        bin_ns = max(_FIRST_BIN_NS, 2 * bin_ns)
        is_short, number = duration < bin_ns, start // bin_ns
        begins = np.ones(len(start), bool)
        begins[1:] = ~is_short[1:] | ~is_short[:-1] | (number[1:] != number[:-1])
        heads = np.flatnonzero(begins)
    return heads


def _texts(
    capture: Capture, events: DerivedEvents, places: Int64Array, counts: Int64Array, tables: PageTables
) -> list[int]:
    if events.rows is None:
        names = [events.names[code] for code in events.name[places].tolist()]
    else:
        names = [capture.strings[code] for code in capture.events.name[events.rows[places]].tolist()]
    return [
        tables.names(name) if count == 1 else -1 for name, count in zip(names, counts.tolist(), strict=True)
    ]


def _tokens(events: DerivedEvents, row: DerivedRow, places: Int64Array, tables: PageTables) -> list[str]:
    if events.color is not None:
        return [_token(events.colors[code]) for code in events.color[places].tolist()]
    if row.color:
        return [_token(row.color)] * len(places)
    if events.rows is not None:
        return tables.painter.of(events.rows[places])
    return [hue_of(events.names[code]) for code in events.name[places].tolist()]


def _token(color: str) -> str:
    return color if color in COLOR_FAMILIES else hue_of(color)


def _value_boxes(counter: Counter, row: DerivedRow, tables: PageTables) -> list[list[Any]]:
    """A box for each value, until the next one; of too many the largest of each part of the time."""
    low, high = tables.interval
    times, values, pattern = counter.times, counter.values, "{value}"
    if len(times) > MOST_BOXES:
        edges = np.linspace(low, high, MOST_BOXES + 1).astype(np.int64)
        times, values = edges[:-1], counter.query(low, high, MOST_BOXES)[1]
        pattern = tr("up to {value}")
    stops = np.append(times[1:], max(high, int(times[-1])) if len(times) else high)
    known = np.flatnonzero(np.isfinite(values) & (stops > low) & (times < high))
    if not len(known):
        return []
    starts, stops = np.maximum(times[known], low) - low, np.minimum(stops[known], high) - low
    least, most = min(0.0, float(values[known].min())), max(0.0, float(values[known].max()))
    shares = (values[known] - least) / (most - least) if most > least else np.zeros(len(known))
    color = tables.colors(_token(row.color or "kernel"))
    return [
        [start, stop - start, tables.names(pattern.format(value=f"{value:,.6g}")), color, 1, round(share, 3)]
        for start, stop, value, share in zip(
            starts.tolist(), stops.tolist(), values[known].tolist(), shares.tolist(), strict=True
        )
    ]
