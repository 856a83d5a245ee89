"""Row titles fitted into the header."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetrics

from warpline.analysis.framework.kernel_names import short_kernel_names
from warpline_app.look.eliding import elide_apart
from warpline_app.look.theme import ui_font
from warpline_app.timeline.model.layout import PlacedRow
from warpline_app.timeline.model.row import Content

INDENT = 14
_BESIDE_PX = 10


def title_left(placed: PlacedRow) -> int:
    """The left edge of a row's title."""
    return 8 + (0 if placed.pinned else placed.depth * INDENT) + INDENT


def titles_of(rows: Sequence[PlacedRow]) -> list[str]:
    """The full titles of rows."""
    short = short_kernel_names(placed.row.title for placed in rows if _is_kernel(placed))
    return [
        _title(placed, short[placed.row.title] if _is_kernel(placed) else placed.row.title) for placed in rows
    ]


def _is_kernel(placed: PlacedRow) -> bool:
    row = placed.row
    return row.content is Content.SUBSET and row.group is not None and row.group.name >= 0


def _title(placed: PlacedRow, title: str) -> str:
    row = placed.row
    if row.cores:
        return f"{title} ({row.cores})"
    if placed.pinned and row.parent is not None and row.parent.key:
        return f"{title} · {row.parent.title}"
    return title


class Titles:
    """Elided titles of adjacent rows; different titles stay distinguishable where possible."""

    def __init__(self) -> None:
        self._shown: dict[tuple[str, bool], str] = {}
        self._known: dict[bool, tuple[object, ...]] = {}

    def of(self, placed: PlacedRow) -> str:
        """The title displayed for one of the last rows."""
        return self._shown.get((placed.row.key, placed.pinned), "")

    def find(self, rows: Sequence[PlacedRow], right_px: int, figure_of: Callable[[PlacedRow], str]) -> None:
        """Fit titles between their indent and their figure, which ends at ``right_px``."""
        known = (
            right_px,
            *((placed.row.key, placed.pinned, placed.depth, figure_of(placed)) for placed in rows),
        )
        if not rows or self._known.get(rows[0].pinned) == known:
            return
        self._known[rows[0].pinned] = known
        small = QFontMetrics(ui_font(11))
        fonts = {bold: QFontMetrics(ui_font(12, bold=bold)) for bold in (False, True)}

        def fit(place: int, text: str, mode: Qt.TextElideMode) -> str:
            placed = rows[place]
            figure = figure_of(placed)
            taken = small.horizontalAdvance(figure) if figure else 0
            room = right_px - taken - _BESIDE_PX - title_left(placed)
            return fonts[placed.row.is_group].elidedText(text, mode, max(0, room))

        for placed, text in zip(rows, elide_apart(titles_of(rows), fit), strict=True):
            self._shown[placed.row.key, placed.pinned] = text
