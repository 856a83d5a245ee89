"""The tables of a page: the names with the most time, for each kind of event."""

from __future__ import annotations

import html

import numpy as np

from warpline.i18n import tr, tr_n, translated
from warpline.interchange.export.exporter import ExportJob
from warpline.interchange.export.selection import Int64Array, lane_slices, rows_by_kind
from warpline.model import format_duration

MAX_NAMES = 100


def page_tables(job: ExportJob) -> str:
    """A heading and a table for each kind; events across the border count in full."""
    capture = job.capture
    sections: list[str] = []
    for kind, (count, total) in _sums(job).items():
        spec = capture.kinds[kind].spec
        order = np.argsort(-total, kind="stable")
        order = order[count[order] > 0]
        whole = int(total.sum())
        lines = "".join(
            _line(capture.strings[name], int(count[name]), int(total[name]), whole)
            for name in order[:MAX_NAMES].tolist()
        )
        left = len(order) - MAX_NAMES
        rest = (
            f'<p class="muted">{tr_n("and {count:,} more", "and {count:,} more", left)}</p>'
            if left > 0
            else ""
        )
        titles = (tr("Name"), tr("Count"), tr("Total"), tr("Average"), tr("Share"))
        heads = "".join(f"<th>{html.escape(title)}</th>" for title in titles)
        sections.append(
            f"<h2>{html.escape(translated(spec.title))}</h2><table><thead><tr>{heads}</tr></thead>"
            f"<tbody>{lines}</tbody></table>{rest}"
        )
    return "".join(sections)


def _line(name: str, count: int, total_ns: int, whole_ns: int) -> str:
    share = total_ns / whole_ns if whole_ns else 0.0
    cells = (
        (count, f"{count:,}"),
        (total_ns, format_duration(total_ns)),
        (total_ns // count, format_duration(total_ns // count)),
        (share, f"{share:.1%}"),
    )
    numbers = "".join(f'<td data-value="{value}">{html.escape(text)}</td>' for value, text in cells)
    return f"<tr><td>{html.escape(name)}</td>{numbers}</tr>"


def _sums(job: ExportJob) -> dict[str, tuple[Int64Array, Int64Array]]:
    """Count and total of each name, by kind."""
    capture = job.capture
    sums: dict[str, tuple[Int64Array, Int64Array]] = {}
    names = len(capture.strings) + 1
    for _track, rows in lane_slices(capture, job.selection):
        job.check_cancelled()
        for kind, chosen in rows_by_kind(capture, rows):
            ids = np.minimum(capture.events.name[chosen], names - 1)
            count, total = sums.setdefault(kind, (np.zeros(names, np.int64), np.zeros(names, np.int64)))
            np.add.at(count, ids, 1)
            np.add.at(total, ids, capture.events.duration[chosen])
    return sums
