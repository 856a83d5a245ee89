"""Progress of a job's ranks: one square for each, in numerical order."""

from __future__ import annotations

import math

from PySide6.QtCore import QEvent, QPoint, QRectF, QSize
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from warpline.i18n import tr, translated
from warpline.library.jobs import JobRank, RankState
from warpline_app.look.appearance import appearance
from warpline_app.look.painting import contained
from warpline_app.look.widgets import shows_tooltip

_WIDTH_PX = 480
_MOST_PX, _LEAST_PX = 16, 4
_MOST_HEIGHT_PX = 320


class RankGrid(QWidget):
    """Waiting ranks are grey, computed ones filled, failed ones crossed; tooltips give details."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._numbers: tuple[int, ...] = ()
        self.done: dict[int, JobRank] = {}
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(tr("Progress of ranks"))

    def set_ranks(self, numbers: tuple[int, ...]) -> None:
        """Set the ranks."""
        self._numbers = numbers
        self.updateGeometry()
        self.update()

    def set_done(self, job_rank: JobRank) -> None:
        """Mark a rank as computed or failed."""
        self.done[job_rank.rank] = job_rank
        self.update()

    @property
    def failed(self) -> list[JobRank]:
        """The failed ranks, by number."""
        return sorted(
            (job_rank for job_rank in self.done.values() if job_rank.state is RankState.FAILED),
            key=lambda job_rank: job_rank.rank,
        )

    def _cell_px(self) -> int:
        """The largest size at which all squares fit."""
        count = max(len(self._numbers), 1)
        side = int(math.sqrt(_WIDTH_PX * _MOST_HEIGHT_PX / count))
        return min(max(side, _LEAST_PX), _MOST_PX)

    def _across(self) -> int:
        return _WIDTH_PX // self._cell_px()

    def sizeHint(self) -> QSize:
        rows = -(-len(self._numbers) // self._across())
        return QSize(_WIDTH_PX, max(rows * self._cell_px(), 1))

    def _rect(self, place: int) -> QRectF:
        side, across = self._cell_px(), self._across()
        gap = 2 if side >= 8 else 1
        return QRectF(place % across * side, place // across * side, side - gap, side - gap)

    @contained
    def paintEvent(self, painter: QPainter, event: QPaintEvent) -> None:
        theme = appearance().theme
        for index, number in enumerate(self._numbers):
            box, job_rank = self._rect(index), self.done.get(number)
            if job_rank is None:
                painter.fillRect(box, theme.color("group"))
            elif job_rank.state is RankState.FAILED:
                painter.fillRect(box, theme.color("warning"))
                painter.setPen(theme.color("canvas"))
                painter.drawLine(box.topLeft(), box.bottomRight())
                painter.drawLine(box.topRight(), box.bottomLeft())
            else:
                painter.fillRect(box, theme.color("selection"))

    def text_at(self, point: QPoint) -> str:
        """State of the rank at a point; empty beside the squares."""
        for index, number in enumerate(self._numbers):
            if self._rect(index).contains(point):
                job_rank = self.done.get(number)
                state = (
                    tr("waiting")
                    if job_rank is None
                    else tr("failed: {reason}", reason=translated(job_rank.reason))
                    if job_rank.state is RankState.FAILED
                    else tr("computed")
                )
                return tr("rank {number}: {reason}", number=number, reason=state)
        return ""

    def event(self, event: QEvent) -> bool:
        return shows_tooltip(self, event, self.text_at) or super().event(event)
