"""A comparison as one HTML page with a drawing and tables; no scripts, no other files."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from warpline.analysis.compare.comparison import Comparison
from warpline.analysis.compare.comparison_text import (
    alignment_text,
    difference_text,
    fact_rows,
    failure_text,
    largest,
    marked,
    noise_text,
    rules_text,
    share_text,
    signed_duration,
    signed_percent,
    value_text,
    verdict,
)
from warpline.analysis.compare.predictions import prediction_text
from warpline.analysis.compare.tables import TableComparison
from warpline.analysis.compare.waterfall import TimePart
from warpline.i18n import sentences, tr, tr_n, translated
from warpline.model.times import format_duration

_ROWS = 50
_INNER = 5
_NAMES_PX, _BARS_PX, _VALUES_PX, _ROW_PX = 330, 640, 190, 24
_STYLE = """
:root { --text: #1d2430; --muted: #667085; --line: #e2e6ec; --slower: #d9622b; --faster: #2f9e6b; --end: #7d9fe0; }
body { font: 14px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 1200px; padding: 0 1rem;
  color: var(--text); background: #fff; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.sides { color: var(--muted); } .sides b { color: var(--text); }
table { border-collapse: collapse; width: 100%; }
td, th { padding: .25rem .6rem; border-bottom: 1px solid var(--line); text-align: right;
  font-variant-numeric: tabular-nums; white-space: nowrap; }
td:first-child, th:first-child { text-align: left; white-space: normal; overflow-wrap: anywhere; }
table.facts td, table.facts th { text-align: left; white-space: normal; overflow-wrap: anywhere; }
tr.inner td { color: var(--muted); } tr.inner td:first-child { padding-left: 2rem; }
svg { width: 100%; height: auto; } svg text { font-size: 12px; fill: var(--text); }
svg .slower { fill: var(--slower); } svg .faster { fill: var(--faster); } svg .noise { opacity: .4; }
svg .end { fill: var(--end); }
svg .link { stroke: var(--muted); stroke-dasharray: 2 2; }
p.muted { color: var(--muted); }
@media (prefers-color-scheme: dark) {
  :root { --text: #dfe4ec; --muted: #98a1b0; --line: #2c323c; --slower: #e0703c; --faster: #46b37b; --end: #4a68a8; }
  body { background: #171a20; } }
"""


def comparison_page(comparison: Comparison, title: str = "") -> str:
    """The page as text."""
    a, b = comparison.a, comparison.b
    heading = html.escape(title or tr("Before and after"))
    sides = "<br>".join(
        f"<b>{letter}</b> {html.escape(side.run.path)} · {format_duration(side.total_ns)}"
        for letter, side in (("A", a), ("B", b))
    )
    result = f"B − A: {signed_duration(comparison.difference_ns)} · {signed_percent(a.total_ns, b.total_ns)}".strip(
        " ·"
    )
    texts = (prediction_text(comparison.predictions), verdict(comparison), alignment_text(comparison))
    summary = sentences((failure_text(comparison), *texts))
    parts = [
        f"<h1>{heading}</h1><p class='sides'>{sides}</p>",
        f"<p><b>{html.escape(result)}</b> {html.escape(summary)}</p>",
        *_facts(comparison),
        f"<h2>{html.escape(tr('Where the difference lies'))}</h2>{waterfall_svg(comparison)}",
        _parts_table(comparison),
        *_steps(comparison),
        *(_report(table) for table in comparison.tables),
    ]
    if comparison.rules:
        parts.append(f"<p class='muted'>{html.escape(rules_text(comparison))}</p>")
    return (
        f"<!DOCTYPE html>\n<html><head><meta charset='utf-8'><title>{heading}</title>"
        f"<meta name='viewport' content='width=device-width'><style>{_STYLE}</style></head>"
        f"<body>{''.join(parts)}</body></html>\n"
    )


def _table(head: Sequence[str], rows: Iterator[str] | Sequence[str], kind: str = "") -> str:
    cells = "".join(f"<th>{html.escape(text)}</th>" for text in head)
    return f"<table class='{kind}'><tr>{cells}</tr>{''.join(rows)}</table>"


def _row(cells: Sequence[str], kind: str = "") -> str:
    return f"<tr class='{kind}'>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>"


def _facts(comparison: Comparison) -> list[str]:
    if not comparison.facts:
        return []
    rows = [_row(cells) for cells in fact_rows(comparison.facts)]
    return [
        f"<h2>{html.escape(tr('Differences in the metadata'))}</h2>{_table(['', 'A', 'B'], rows, 'facts')}"
    ]


def _parts_table(comparison: Comparison) -> str:
    def times(a_ns: int, b_ns: int) -> list[str]:
        return [
            format_duration(a_ns), format_duration(b_ns), signed_duration(b_ns - a_ns), signed_percent(a_ns, b_ns)
        ]  # fmt: skip

    rows = [_row([tr("total"), *times(comparison.a.total_ns, comparison.b.total_ns)])]
    for part in comparison.parts:
        rows.append(_row([marked(translated(part.title), part), *times(part.a_ns, part.b_ns)]))
        rows += [
            _row([marked(item.name, item), *times(item.a_ns, item.b_ns)], "inner")
            for item in largest(part, comparison.difference_ns, _INNER)
        ]
    return _table([tr("cause"), "A", "B", "B − A", ""], rows) + _noise(comparison)


def _noise(comparison: Comparison | TableComparison) -> str:
    return _muted(noise_text(comparison))


def _muted(text: str) -> str:
    return f"<p class='muted'>{html.escape(text)}</p>" if text else ""


def _steps(comparison: Comparison) -> list[str]:
    if not comparison.steps:
        return []
    rows = [
        _row(
            [
                f"{a}" if a == b else f"{a} / {b}",
                format_duration(x),
                format_duration(y),
                signed_duration(y - x),
            ]
        )
        for a, b, x, y in comparison.steps
    ]
    return [f"<h2>{html.escape(tr('Steps'))}</h2>{_table([tr('step'), 'A', 'B', 'B − A'], rows)}"]


def _report(table: TableComparison) -> str:
    role = table.column.role
    rows = [
        _row(
            [
                marked(row.text, row),
                value_text(role, row.a),
                value_text(role, row.b),
                difference_text(role, row.difference),
                "" if row.ratio is None else f"{row.ratio:.2f}",
                share_text(row.share),
            ]
        )
        for row in table.rows[:_ROWS]
    ]
    head = [" / ".join(table.keys), "A", "B", "B − A", "B / A", tr("share")]
    hidden = len(table.rows) - _ROWS
    more = (
        f"<p class='muted'>{tr_n('and {count:,} more row', 'and {count:,} more rows', hidden)}</p>"
        if hidden > 0
        else ""
    )
    notes = "".join(_muted(translated(note)) for note in table.notes)
    title = f"{translated(table.title)} · {translated(table.column.title)}"
    return f"<h2>{html.escape(title)}</h2>{_table(head, rows)}{more}{_noise(table)}{notes}"


@dataclass(frozen=True)
class _Bar:
    """A line of the drawing: a bar from one time to another, ns."""

    name: str
    start_ns: int
    stop_ns: int
    value: str
    kind: str


def _bars(comparison: Comparison) -> list[_Bar]:
    a_ns, b_ns = comparison.a.total_ns, comparison.b.total_ns
    bars = [_Bar("A", 0, a_ns, format_duration(a_ns), "end")]
    at = a_ns
    for part in comparison.parts:
        if part.difference_ns:
            bars.append(_part_bar(part, at))
            at += part.difference_ns
    return [*bars, _Bar("B", 0, b_ns, format_duration(b_ns), "end")]


def _part_bar(part: TimePart, at: int) -> _Bar:
    value = f"{signed_duration(part.difference_ns)} · {signed_percent(part.a_ns, part.b_ns)}".strip(" ·")
    kind = "slower" if part.difference_ns > 0 else "faster"
    kind = f"{kind} noise" if part.is_noise else kind
    return _Bar(marked(translated(part.title), part), at, at + part.difference_ns, value, kind)


def waterfall_svg(comparison: Comparison) -> str:
    """The parts as bars from A to B. The axis does not start at 0 when the parts are small beside the whole."""
    bars = _bars(comparison)
    ends = [end for bar in bars if bar.kind != "end" for end in (bar.start_ns, bar.stop_ns)]
    ends += [comparison.a.total_ns, comparison.b.total_ns]
    low, high = min(ends), max(ends)
    room = max(high - low, 1)
    low = 0 if low < 2 * room else low - room // 3
    scale = _BARS_PX / max(high - low, 1)

    def x_of(time_ns: int) -> float:
        return _NAMES_PX + max(time_ns - low, 0) * scale

    shapes = []
    end = _NAMES_PX + _BARS_PX + _VALUES_PX
    for number, bar in enumerate(bars):
        top = number * _ROW_PX
        left, right = sorted((x_of(bar.start_ns), x_of(bar.stop_ns)))
        width = max(right - left, 1.0)
        name, value = html.escape(bar.name), html.escape(bar.value)
        shapes.append(
            f"<text x='{_NAMES_PX - 10}' y='{top + 16}' text-anchor='end'>{name}</text>"
            f"<rect class='{bar.kind}' x='{left:.1f}' y='{top + 4}' width='{width:.1f}' height='{_ROW_PX - 8}'>"
            f"<title>{name}: {value}</title></rect>"
            f"<text x='{end}' y='{top + 16}' text-anchor='end'>{value}</text>"
        )
        if number + 1 < len(bars):
            x = x_of(bar.stop_ns)
            shapes.append(f"<line class='link' x1='{x:.1f}' x2='{x:.1f}' y1='{top + 20}' y2='{top + 28}'/>")
    height = len(bars) * _ROW_PX
    label = html.escape(tr("Waterfall of the difference"))
    return f"<svg viewBox='0 0 {end} {height}' role='img' aria-label='{label}'>{''.join(shapes)}</svg>"
