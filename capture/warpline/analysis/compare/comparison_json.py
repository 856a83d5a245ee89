"""A comparison as the plain values of ``warpline compare --json`` (times in ns, ratios 0–1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from warpline.analysis.compare.comparison import Comparison, Side
from warpline.analysis.compare.gate import Judgement
from warpline.analysis.compare.names import lines_of
from warpline.analysis.compare.tables import RowChange, TableComparison
from warpline.analysis.compare.variation import Variation
from warpline.analysis.compare.waterfall import Contributor, TimePart

SCHEMA = "compare/1"
"""Described in docs/schemas; the number rises when a key changes its meaning or goes."""


def comparison_json(comparison: Comparison, judged: Sequence[Judgement] = ()) -> dict[str, Any]:
    """The whole comparison. Differences of ``parts`` add up to that of ``total``, contributors to their part."""
    a_ns, b_ns = comparison.a.total_ns, comparison.b.total_ns
    return {
        "schema": SCHEMA,
        "a": _side(comparison.a),
        "b": _side(comparison.b),
        "aligned_by": comparison.aligned_by.value,
        "metadata": [
            {"group": fact.group, "name": fact.name, "a": fact.a, "b": fact.b} for fact in comparison.facts
        ],
        "total": {"a_ns": a_ns, "b_ns": b_ns, "difference_ns": b_ns - a_ns},
        "ratio": b_ns / a_ns if a_ns else None,
        "variation": None if comparison.variation is None else _variation(comparison.variation),
        "is_noise": comparison.is_noise,
        "predictions": [
            {
                "id": prediction.id,
                "title": prediction.title,
                "file": prediction.where.file or None,
                "line": prediction.where.line,
                "function": prediction.where.function or None,
                "predicted_ns": prediction.predicted_ns,
                "checked_ns": prediction.checked_ns,
                "gained_ns": prediction.gained_ns,
            }
            for prediction in comparison.predictions
        ],
        "parts": [_part(part) for part in comparison.parts],
        "steps": [
            {"a": a, "b": b, "a_ns": step_a_ns, "b_ns": step_b_ns, "difference_ns": step_b_ns - step_a_ns}
            for a, b, step_a_ns, step_b_ns in comparison.steps
        ],
        "names_matched_by": comparison.rules,
        "reports": [_table(table) for table in comparison.tables],
        "gates": [
            {
                "condition": judgement.condition.text,
                "failed": judgement.is_failed,
                "is_noise": judgement.is_noise,
                "a_ns": judgement.a_ns,
                "b_ns": judgement.b_ns,
            }
            for judgement in judged
        ],
    }


def _side(side: Side) -> dict[str, Any]:
    origin = side.run.capture.span[0]
    return {
        "path": side.run.path,
        "runs": [
            {"path": run.path, "value_ns": value} for run, value in zip(side.runs, side.runs_ns, strict=True)
        ],
        "waited_for": side.use.subject,
        "range_ns": [int(side.windows.start[0]) - origin, int(side.windows.stop.max()) - origin],
        "steps": side.windows.number.tolist(),
        "of_steps": len(side.all_windows),
        "warm_up_steps": side.all_windows.left_out,
    }


def _variation(varied: Variation) -> dict[str, Any]:
    def ends(interval: tuple[float, float] | None) -> list[float] | None:
        return None if interval is None else list(interval)

    return {
        "of": varied.of,
        "a": {"count": varied.count_a, "med": varied.median_a, "interval": ends(varied.interval_a)},
        "b": {"count": varied.count_b, "med": varied.median_b, "interval": ends(varied.interval_b)},
        "difference_interval": ends(varied.interval),
    }


def _part(part: TimePart) -> dict[str, Any]:
    result: dict[str, Any] = {
        "cause": part.cause,
        "title": part.title,
        "a_ns": part.a_ns,
        "b_ns": part.b_ns,
        "difference_ns": part.difference_ns,
        "contributors": [_contributor(item) for item in part.contributors],
    }
    if part.variation is not None:
        result |= {"variation": _variation(part.variation), "is_noise": part.is_noise}
    return result


def _contributor(item: Contributor) -> dict[str, Any]:
    result: dict[str, Any] = {
        "name": item.name,
        "a_ns": item.a_ns,
        "b_ns": item.b_ns,
        "difference_ns": item.difference_ns,
        "is_new": item.is_new,
        "is_gone": item.is_gone,
        "matched_by": list(item.rules),
    }
    if "line" in item.rules:
        result |= {"lines_a": lines_of(item.names_a), "lines_b": lines_of(item.names_b)}
    return result


def _table(table: TableComparison) -> dict[str, Any]:
    return {
        "report": table.report,
        "column": table.column.name,
        "rows": [_row(table, row) for row in table.rows],
    }


def _row(table: TableComparison, row: RowChange) -> dict[str, Any]:
    result: dict[str, Any] = dict(zip(table.keys, row.key, strict=True))
    result |= {"a": row.a, "b": row.b, "difference": row.difference, "ratio": row.ratio, "share": row.share}
    if row.count_a is not None or row.count_b is not None:
        result |= {"count_a": row.count_a, "count_b": row.count_b}
    if row.rules:
        result |= {
            "matched_by": list(row.rules),
            "names_a": [list(key) for key in row.names_a],
            "names_b": [list(key) for key in row.names_b],
        }
    if row.variation is not None:
        result |= {"variation": _variation(row.variation), "is_noise": row.is_noise}
    return result
