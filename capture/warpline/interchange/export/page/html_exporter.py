"""Exports a self-contained HTML page with a zoomable timeline and sortable tables, for people without Warpline."""

from __future__ import annotations

import html
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from warpline.i18n import tr, tr_n, translated
from warpline.interchange.export.exporter import ExportJob, SizeModel
from warpline.interchange.export.output_files import writing
from warpline.interchange.export.page.page_findings import page_findings
from warpline.interchange.export.page.page_rows import MAX_DRAWN, PageRows, page_rows
from warpline.interchange.export.page.page_tables import page_tables
from warpline.interchange.export.selection import ExportSelection, count_events, lane_slices
from warpline.interchange.export.title import title_of
from warpline.model import format_duration, format_time
from warpline.model.waits import WAIT_FAMILIES
from warpline.resources import path as resource
from warpline.storage.read.view_times import far_events

if TYPE_CHECKING:
    from warpline.storage import Capture

_BYTES_PER_BOX = 27
_BYTES_PER_NAME = 150
_SAMPLED_EVENTS = 100_000


class HtmlExporter:
    """The timeline has at most `MAX_DRAWN` boxes; beyond that, short events are merged, and the page says so.

    The tables show times by name for each kind of event.
    """

    name = "html"
    position = 50
    suffixes = (".html",)
    size_model = SizeModel(per_sample=0)

    @property
    def title(self) -> str:
        return tr("Page with timeline and tables (HTML)")

    def fixed_bytes(self, capture: Capture, selection: ExportSelection) -> int:
        """Estimated bytes of the boxes, names and scripts."""
        own = sum(
            resource(f"page/{name}").stat().st_size for name in ("timeline.js", "page.css", "colors.json")
        )
        events = count_events(capture, selection)
        # Merging leaves three quarters of the limit on average.
        boxes = events if events <= MAX_DRAWN else MAX_DRAWN * 3 // 4
        return own + _BYTES_PER_NAME * _names(capture, selection) + _BYTES_PER_BOX * boxes

    def export(self, job: ExportJob) -> Path:
        job.progress(0.1, tr("drawing"))
        rows = page_rows(job.capture, job.selection, job.options.rows, max_drawn=job.options.most_boxes)
        job.check_cancelled()
        job.progress(0.5, tr("adding up"))
        tables = page_tables(job)
        findings = page_findings(job)
        page = (
            f'<!doctype html><html><head><meta charset="utf-8">'
            f'<meta name="viewport" content="width=device-width"><title>{html.escape(title_of(job.capture))}</title>'
            f"<style>{_resource('page.css')}</style></head><body>{_head(job, rows)}<main>"
            '<div id="timeline"><canvas tabindex="0"></canvas><div id="tip"></div></div>'
            f'<div id="legend">{_legend(rows)}</div>'
            f"<section>{findings}{_notes(job)}{tables}{_not_recorded(job.capture)}</section></main>"
            f"{_json('capture', _data(job, rows))}{_json('colors', orjson.loads(_resource('colors.json')))}"
            f"<script>{_resource('timeline.js')}</script></body></html>\n"
        )
        with writing(job.out) as file:
            file.write(page.encode("utf-8", "replace"))
        job.progress(1.0, tr("done"))
        return job.out


def _names(capture: Capture, selection: ExportSelection) -> int:
    """The number of distinct names, from a sample of the events."""
    names: set[int] = set()
    looked_at = 0
    for _track, rows in lane_slices(capture, selection):
        part = slice(rows.start, min(rows.stop, rows.start + _SAMPLED_EVENTS))
        names.update(capture.events.name[part].tolist())
        looked_at += part.stop - part.start
        if looked_at > _SAMPLED_EVENTS:
            break
    return len(names)


def _resource(name: str) -> str:
    return resource(f"page/{name}").read_text("utf-8")


def _json(element: str, value: object) -> str:
    """A value as JSON in a script element; escapes ``<`` so that no text can end the element."""
    text = (
        orjson.dumps(value).decode().replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    )
    return f'<script type="application/json" id="{element}">{text}</script>'


def _data(job: ExportJob, rows: PageRows) -> dict[str, object]:
    start, stop = job.selection.interval(job.capture)
    return {
        "duration_ns": max(1, stop - start),
        "start_ns": start - job.capture.span[0],
        "first_view": _first_view(job, start, stop),
        "rows": rows.rows,
        "names": [name.encode("utf-8", "replace").decode() for name in rows.names],
        "colors": rows.colors,
        "words": {
            "shown": tr("{time} shown"),
            "many": tr("{count} short events"),
            "from": tr("from {time}"),
        },
    }


def _first_view(job: ExportJob, start: int, stop: int) -> list[int]:
    """The part of the page's time in which something happens; all of it if the user chose that time."""
    low, high = (start, stop) if (start, stop) != job.capture.span else job.capture.activity.range_ns
    return [low - start, max(high, low + 1) - start]


def _head(job: ExportJob, rows: PageRows) -> str:
    """Title, facts, command, keys, and what was merged."""
    capture = job.capture
    start, stop = job.selection.interval(capture)
    facts = tr_n(
        "{count:,} event in {duration}, from {start} on",
        "{count:,} events in {duration}, from {start} on",
        count_events(capture, job.selection),
        duration=format_duration(stop - start),
        start=format_time(start - capture.span[0], max(1, (stop - start) // 1000)),
    )
    command = capture.meta.get("command_line")
    line = " ".join(str(part) for part in command) if isinstance(command, list) else ""
    keys = tr(
        "W and S zoom, A and D pan, F shows all; Ctrl with the wheel zooms, dragging pans, a double click "
        "zooms to an event."
    )
    lines = [f"<h1>{html.escape(title_of(capture))}</h1>", f"<p>{html.escape(facts)}</p>"]
    lines += [f"<p><code>{html.escape(line)}</code></p>"] if line else []
    far = far_events(capture) if (start, stop) == capture.span else []
    lines += [
        f'<p class="muted">{html.escape(text)}</p>'
        for text in (keys, *far, *_thinned(rows, job.options.most_boxes))
    ]
    return f"<header>{''.join(lines)}</header>"


def _thinned(rows: PageRows, most_boxes: int) -> list[str]:
    texts = []
    if rows.bin_ns:
        texts.append(
            tr(
                "More than {limit:,} events: those shorter than {time} are merged.",
                limit=most_boxes,
                time=format_duration(rows.bin_ns),
            )
        )
    if rows.lanes_left_out:
        texts.append(tr_n("{count} lane is not shown", "{count} lanes are not shown", rows.lanes_left_out))
    return texts


def _legend(rows: PageRows) -> str:
    """A legend of the colours that occur, except those of names."""
    meanings = {
        "kernel": tr("kernel"),
        "communication": tr("communication"),
        "copy_to_device": tr("copy to the device"),
        "copy_to_host": tr("copy to the host"),
        "copy_on_device": tr("copy on the device"),
        "set": tr("memory set"),
        "api": tr("CUDA API"),
        "sync": tr("synchronization"),
        "running": tr("running"),
        "runnable": tr("waits for a core"),
        "blocked": tr("blocked"),
        **{family.color: translated(family.title) for family in WAIT_FAMILIES},
        "overhead": tr("overhead of the profiler"),
    }
    return "".join(
        f'<span><i data-color="{token}"></i>{html.escape(text)}</span>'
        for token, text in meanings.items()
        if token in rows.colors
    )


def _notes(job: ExportJob) -> str:
    """The notes on the part, with their times since the start of the capture."""
    rows = []
    for note in job.notes:
        at = "" if note.start_ns is None else format_time(note.start_ns - job.capture.span[0], 1000)
        cells = (at, note.event or note.row, note.text)
        rows.append("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>")
    head = "".join(f"<th>{html.escape(title)}</th>" for title in (tr("Time"), tr("On"), tr("Text")))
    title = html.escape(tr("Notes"))
    return f"<h2>{title}</h2><table><tr>{head}</tr>{''.join(rows)}</table>" if rows else ""


def _not_recorded(capture: Capture) -> str:
    missing = "".join(
        f"<li>{html.escape(source.name)} <small>{html.escape(translated(source.reason))}</small></li>"
        for source in capture.sources
        if not source.enabled
    )
    return f"<h2>{html.escape(tr('Not recorded'))}</h2><ul>{missing}</ul>" if missing else ""


exporter = HtmlExporter()
