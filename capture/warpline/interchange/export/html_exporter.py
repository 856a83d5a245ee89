"""Exporter for HTML: one page for somebody who has no Warpline, a drawing and tables; no script, no other file."""

from __future__ import annotations

import html
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from warpline.i18n import tr, tr_n, translated
from warpline.interchange.export.exporter import ExportJob, SizeModel
from warpline.interchange.export.output_files import writing
from warpline.interchange.export.selection import Int64Array, count_events, lane_slices
from warpline.model import NOT_BUSY, format_duration, format_time

if TYPE_CHECKING:
    from warpline.storage import Capture

_WIDTH_PX = 1000
_LANE_PX = 14
_MAX_LANES = 400
_MAX_NAMES = 30
_COLORS = {
    "kernel": "#5b8def", "communication": "#b07be0", "copy": "#e0a14b", "set": "#d9c25a", "sync": "#8a93a6",
    "api": "#7f8fb0", "state": "#4bb37a", "core": "#6aa5da", "range": "#d4b45c", "operator": "#5fb7b7",
    "phase": "#c77bb5", "python": "#8fb35f", "os": "#b08968", "memory": "#c9756b", "overhead": "#a85c5c",
    "neutral": "#9aa3b2",
}  # fmt: skip
_STYLE = """
body { font: 14px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 1280px; padding: 0 1rem;
  color: #1d2430; background: #fff; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; } td, th { padding: .25rem .6rem; border-bottom: 1px solid #e2e6ec;
  text-align: right; font-variant-numeric: tabular-nums; } td:first-child, th:first-child { text-align: left;
  overflow-wrap: anywhere; } svg { width: 100%; height: auto; } svg text { font-size: 10px; fill: #555f70; }
p.muted, small { color: #667085; }
@media (prefers-color-scheme: dark) { body { color: #dfe4ec; background: #171a20; } td, th { border-color: #2c323c; }
  svg text { fill: #9aa3b2; } p.muted, small { color: #98a1b0; } }
"""


class HtmlExporter:
    """Every drawn lane shows how busy it was per pixel; the tables hold times by name for each kind of event."""

    name = "html"
    position = 50
    suffixes = (".html",)
    size_model = SizeModel()

    @property
    def title(self) -> str:
        return tr("Page with drawing and tables (HTML)")

    def export(self, job: ExportJob) -> Path:
        capture, selection = job.capture, job.selection
        start, stop = selection.interval(capture)
        lanes = np.array(
            [lane for lane in range(len(capture.lanes)) if selection.has_track(_track(capture, lane))]
        )
        job.progress(0.1, tr("drawing"))
        picture, left_out = _picture(capture, lanes.astype(np.int64), start, stop)
        job.check_cancelled()
        job.progress(0.5, tr("adding up"))
        tables = "".join(_tables(job))
        title = html.escape(capture.path.name)
        duration = format_duration(stop - start)
        first = format_time(start - capture.span[0], max(1, (stop - start) // 1000))
        facts = tr_n(
            "{count:,} event in {duration}, from {start} on",
            "{count:,} events in {duration}, from {start} on",
            count_events(capture, selection),
            duration=duration,
            start=first,
        )
        command = capture.meta.get("command_line")
        line = html.escape(" ".join(str(part) for part in command)) if isinstance(command, list) else ""
        more = (
            f'<p class="muted">{tr_n("{count} lane is not drawn", "{count} lanes are not drawn", left_out)}</p>'
            if left_out
            else ""
        )
        missing = "".join(
            f"<li>{html.escape(source.name)} <small>{html.escape(translated(source.reason))}</small></li>"
            for source in capture.sources
            if not source.enabled
        )
        absent = f"<h2>{tr('Not recorded')}</h2><ul>{missing}</ul>" if missing else ""
        page = (
            f'<!doctype html><html><head><meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style></head>'
            f"<body><h1>{title}</h1><p>{html.escape(facts)}</p><p><code>{line}</code></p>{picture}{more}{tables}"
            f"{absent}</body></html>\n"
        )
        with writing(job.out) as file:
            file.write(page.encode("utf-8", "replace"))
        job.progress(1.0, tr("done"))
        return job.out


def _track(capture: Capture, lane: int) -> int:
    return int(capture.lanes.track[lane])


def _picture(capture: Capture, lanes: Int64Array, start: int, stop: int) -> tuple[str, int]:
    """An SVG with a row per lane, in the order of the tree, and how many lanes it leaves out."""
    wanted = set(lanes.tolist())
    order = [lane for track in _in_order(capture) for lane in capture.track_lanes(track) if lane in wanted]
    shown = np.array(order[:_MAX_LANES], np.int64)
    if not len(shown) or stop <= start:
        return "", 0
    strip = capture.query(shown, start, stop, _WIDTH_PX)
    per_px = (stop - start) / _WIDTH_PX
    families = {table.code: table.spec.color for table in capture.kinds.values()}
    rows: list[str] = []
    titled = -1
    for row, lane in enumerate(shown.tolist()):
        top = row * _LANE_PX
        track = capture.tracks[_track(capture, lane)]
        if track.index != titled:
            titled = track.index
            rows.append(f'<text x="0" y="{top + 10}">{html.escape(_title(capture, track.index))}</text>')
        kind = int(capture.events.kind[int(capture.lanes.first[lane])])
        color = _COLORS.get(families.get(kind, ""), _COLORS["neutral"])
        rows.append(f'<path fill="{color}" d="{_busy_path(strip.busy[row], top)}"/>')
        exact = np.flatnonzero(strip.rect_lane == row)
        # Idle states are drawn as outlines only: they are not time spent.
        busy = exact[(strip.rect_flags[exact] & np.uint8(NOT_BUSY)) == 0]
        left = np.clip((strip.rect_start[busy] - start) / per_px, 0, _WIDTH_PX)
        right = np.clip((strip.rect_stop[busy] - start) / per_px, 0, _WIDTH_PX)
        boxes = "".join(
            f"M{a + 220:.1f} {top + 1}h{max(b - a, 0.5):.1f}v{_LANE_PX - 3}H{a + 220:.1f}z"
            for a, b in zip(left.tolist(), right.tolist(), strict=True)
        )
        rows.append(f'<path fill="{color}" d="{boxes}"/>')
    height = len(shown) * _LANE_PX
    svg = f'<svg viewBox="0 0 {_WIDTH_PX + 220} {height}" xmlns="http://www.w3.org/2000/svg">{"".join(rows)}</svg>'
    return svg, len(order) - len(shown)


def _in_order(capture: Capture, parent: int = -1) -> list[int]:
    found: list[int] = []
    for track in capture.children(parent):
        found.append(track)
        found.extend(_in_order(capture, track))
    return found


def _title(capture: Capture, track: int) -> str:
    """A track with the one above it, short enough for the column."""
    own = capture.tracks[track]
    above = f"{capture.tracks[own.parent].title} · " if own.parent >= 0 else ""
    text = f"{above}{own.title}"
    return text if len(text) <= 38 else f"…{text[-37:]}"


def _busy_path(busy: np.ndarray, top: int) -> str:
    """One bar per run of pixels that are equally busy, in sixteenths of the height."""
    level = np.minimum(np.ceil(np.clip(busy, 0, 1) * 16), 16).astype(np.int64)
    edges = np.flatnonzero(np.diff(np.r_[-1, level, -1]))
    parts: list[str] = []
    for first, last in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        value = int(level[first])
        if value:
            high = (_LANE_PX - 3) * value / 16
            parts.append(
                f"M{first + 220} {top + _LANE_PX - 2 - high:.1f}h{last - first}v{high:.1f}H{first + 220}z"
            )
    return "".join(parts)


def _tables(job: ExportJob) -> list[str]:
    """For each kind the names that took most time; durations are those of whole events."""
    capture = job.capture
    sums: dict[int, tuple[Int64Array, Int64Array]] = {}
    names = len(capture.strings) + 1
    for _track_index, rows in lane_slices(capture, job.selection):
        job.check_cancelled()
        kinds = capture.events.kind[rows]
        for code in np.unique(kinds).tolist():
            chosen = kinds == code
            ids = np.minimum(capture.events.name[rows][chosen], names - 1)
            count, total = sums.setdefault(code, (np.zeros(names, np.int64), np.zeros(names, np.int64)))
            np.add.at(count, ids, 1)
            np.add.at(total, ids, capture.events.duration[rows][chosen])
    found: list[str] = []
    for code, (count, total) in sums.items():
        spec = capture.kinds[capture.kind_of_code[code]].spec
        order = np.argsort(-total, kind="stable")
        order = order[count[order] > 0]
        whole = int(total.sum())
        lines = [
            f"<tr><td>{html.escape(capture.strings[name])}</td><td>{int(count[name]):,}</td>"
            f"<td>{format_duration(int(total[name]))}</td><td>{format_duration(int(total[name] // count[name]))}</td>"
            f"<td>{total[name] / whole if whole else 0:.1%}</td></tr>"
            for name in order[:_MAX_NAMES].tolist()
        ]
        left = len(order) - _MAX_NAMES
        rest = (
            f'<p class="muted">{tr_n("and {count:,} more", "and {count:,} more", left)}</p>'
            if left > 0
            else ""
        )
        heads = "".join(
            f"<th>{text}</th>" for text in (tr("Name"), tr("Count"), tr("Total"), tr("Average"), tr("Share"))
        )
        found.append(
            f"<h2>{html.escape(translated(spec.title))}</h2><table><tr>{heads}</tr>{''.join(lines)}</table>{rest}"
        )
    return found


exporter = HtmlExporter()
