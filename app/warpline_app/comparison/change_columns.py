"""A compared report as table columns: both values, difference, ratio, share of the total difference."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt

from warpline.analysis.compare.comparison_text import (
    difference_text,
    row_state,
    share_text,
    signed_duration,
    value_text,
    variation_text,
)
from warpline.analysis.compare.names import rule_titles
from warpline.analysis.compare.tables import RowChange, TableComparison
from warpline.analysis.framework.kernel_names import short_kernel_name
from warpline.i18n import tr, translated
from warpline_app.panels.table.content import TableColumn, TableContent, text_ranks

_OF_KERNELS = ("cuda_gpu_kern_sum", "cuda_gpu_sum", "kernel")
_NAME_PX, _VALUE_PX = 240, 88


def change_content(table: TableComparison) -> TableContent:
    """Rows in the given order: largest contribution first."""
    rows, role = table.rows, table.column.role
    unit = translated(table.column.title)
    names = [short_kernel_name(row.text) if table.report in _OF_KERNELS else row.text for row in rows]

    columns = [
        TableColumn(
            tr("Name"),
            lambda item: names[item],
            sort_values=lambda: text_ranks([row.text for row in rows]),
            raw=lambda item: rows[item].text,
            tooltip=lambda item: _about(rows[item]),
            width=_NAME_PX,
            stretches=True,
            key="name",
        ),
        _number_column(
            "A", "a", _VALUE_PX, lambda item: value_text(role, rows[item].a), [row.a for row in rows], unit
        ),
        _number_column(
            "B", "b", _VALUE_PX, lambda item: value_text(role, rows[item].b), [row.b for row in rows], unit
        ),
        _number_column(
            "Δ",
            "difference",
            _VALUE_PX,
            lambda item: difference_text(role, rows[item].difference),
            [row.difference for row in rows],
        ),
        _number_column(
            "B / A", "ratio", 70, lambda item: _ratio_text(rows[item].ratio), [row.ratio for row in rows]
        ),
        _number_column(
            tr("Share of Δ"),
            "share",
            90,
            lambda item: ("" if rows[item].is_noise else share_text(rows[item].share)) or "–",
            [row.share for row in rows],
            tr("share of the total difference of all rows"),
        ),
    ]
    if any(row.count_a is not None or row.count_b is not None for row in rows):
        for side, counts in (
            ("A", [row.count_a for row in rows]),
            ("B", [row.count_b for row in rows]),
        ):
            title = tr("Count {side}", side=side)
            columns.append(_number_column(title, f"count_{side}", 76, partial(_count_text, counts), counts))
    if any(row.variation is not None for row in rows):
        columns.append(_variation_column(rows))
    columns.append(
        TableColumn(
            tr("Matched"),
            lambda item: row_state(rows[item]) or ", ".join(map(translated, rule_titles(rows[item].rules))),
            sort_values=lambda: text_ranks([row_state(row) or " ".join(row.rules) for row in rows]),
            width=110,
            key="matched",
        )
    )
    return TableContent(columns, len(rows))


def _variation_column(rows: tuple[RowChange, ...]) -> TableColumn:
    """Confidence interval of the difference, or *noise*."""

    def text(item: int) -> str:
        varied = rows[item].variation
        if varied is None or varied.interval is None:
            return "–"
        if rows[item].is_noise:
            return tr("noise")
        return " … ".join(map(signed_duration, varied.interval))

    def about(item: int) -> str:
        varied = rows[item].variation
        return "" if varied is None else variation_text(varied)

    return TableColumn(
        tr("95 %"),
        text,
        sort_values=lambda: text_ranks([text(item) for item in range(len(rows))]),
        tooltip=about,
        width=176,
        description=tr("95 % confidence interval of the difference; “noise” if it contains 0"),
        key="variation",
    )


def _ratio_text(ratio: float | None) -> str:
    return "–" if ratio is None or math.isnan(ratio) else f"{ratio:.2f}"


def _number_column(
    title: str,
    key: str,
    width: int,
    text: Callable[[int], str],
    values: list[float | None],
    description: str = "",
) -> TableColumn:
    return TableColumn(
        title,
        text,
        sort_values=lambda: _numbers(values),
        is_number=True,
        width=width,
        key=key,
        description=description,
    )


def _count_text(counts: list[float | None], item: int) -> str:
    value = counts[item]
    return "–" if value is None else f"{value:,.0f}"


def _about(row: RowChange) -> str:
    """The full name, and the original names on both sides if rules matched them."""
    if not row.rules:
        return row.text
    sides = [
        f"{side}: {' / '.join(filter(None, key))}"
        for side, keys in (("A", row.names_a), ("B", row.names_b))
        for key in keys[:5]
    ]
    return "\n".join([row.text, *sides])


def _numbers(values: list[float | None]) -> npt.NDArray[np.float64]:
    return np.array([np.nan if value is None else value for value in values], np.float64)
