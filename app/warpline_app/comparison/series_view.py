"""The runs of a series as points: step or total time of each run."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QHelpEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QInputDialog, QMenu, QToolTip, QWidget

from warpline.i18n import tr
from warpline.model.times import format_duration, format_time
from warpline_app.look.appearance import appearance
from warpline_app.look.painting import contained
from warpline_app.look.plain import plain
from warpline_app.look.theme import ui_font
from warpline_app.open.series import Series, SeriesRun
from warpline_app.remembered.series_notes import SeriesNotes
from warpline_app.timeline.model.ticks import tick_step_ns

_LEFT, _RIGHT, _TOP, _BOTTOM = 78, 24, 26, 40
_REACH_PX = 14
_TICK_PX = 30


class SeriesView(QWidget):
    """Draws a point for each run; a click compares with it, a double click adds a note."""

    run_chosen = Signal(Path)
    """a run to compare with"""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._series = Series("", ())
        self._notes: SeriesNotes | None = None
        self._shown: tuple[Path, ...] = ()
        self.setAccessibleName(tr("Runs of the series"))
        self.setMinimumHeight(130)
        self.setMouseTracking(True)

    def sizeHint(self) -> QSize:
        return QSize(560, 200)

    def show_series(self, series: Series, notes: SeriesNotes, shown: tuple[Path, ...]) -> None:
        """Draw a series; ``shown`` are the compared runs, A first."""
        self._series, self._notes, self._shown = series, notes, shown
        self.update()

    @property
    def series(self) -> Series:
        """The series drawn."""
        return self._series

    def note_of(self, run: SeriesRun) -> str:
        """The user's note on a run."""
        return self._notes.of(run.path) if self._notes is not None else ""

    def point_of(self, place: int) -> QPointF:
        """Position of a run's point."""
        runs = self._series.runs
        room = self.width() - _LEFT - _RIGHT
        x = _LEFT + room * (place + 0.5) / max(len(runs), 1)
        return QPointF(x, self._y(self._series.value_ns(runs[place])))

    def _top_ns(self) -> float:
        values = [self._series.value_ns(run) for run in self._series.runs]
        if self._series.is_of_steps:
            values += [round(run.step_interval_ns[1]) for run in self._series.runs if run.step_interval_ns]
        return max([*values, 1]) * 1.08

    def _step_ns(self) -> int:
        return tick_step_ns(round(self._top_ns()), max(self.height() - _TOP - _BOTTOM, 1), _TICK_PX)

    def ticks_ns(self) -> list[int]:
        """Values of the axis lines: round and evenly spaced."""
        step = self._step_ns()
        return list(range(0, int(self._top_ns()) + 1, step))

    def _y(self, value_ns: float) -> float:
        return self.height() - _BOTTOM - (self.height() - _TOP - _BOTTOM) * value_ns / self._top_ns()

    def _place_at(self, point: QPointF) -> int | None:
        near = [(abs(self.point_of(place).x() - point.x()), place) for place in range(len(self._series.runs))]
        width = (self.width() - _LEFT - _RIGHT) / max(len(near), 1)
        best = min(near, default=None)
        return best[1] if best is not None and best[0] <= max(width / 2, _REACH_PX) else None

    @contained
    def paintEvent(self, painter: QPainter, event: QPaintEvent) -> None:
        theme = appearance().theme
        painter.fillRect(self.rect(), theme.color("panel"))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(ui_font(11))
        painter.setPen(theme.color("muted"))
        runs = self._series.runs
        title = tr("Median step of each run") if self._series.is_of_steps else tr("Total time of each run")
        painter.drawText(_LEFT, 16, title)
        if not runs:
            painter.drawText(
                self.rect(), int(Qt.AlignmentFlag.AlignCenter), tr("No other runs in this folder")
            )
            return
        for value in self.ticks_ns():
            y = self._y(value)
            painter.setPen(theme.color("grid"))
            painter.drawLine(QPointF(_LEFT, y), QPointF(self.width() - _RIGHT, y))
            painter.setPen(theme.color("muted"))
            beside = QRectF(0, y - 8, _LEFT - 8, 16)
            align = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            painter.drawText(beside, align, format_time(value, self._step_ns()))
        points = [self.point_of(place) for place in range(len(runs))]
        painter.setPen(QPen(theme.color("kernel", 140), 1.5))
        painter.drawPolyline(points)
        for place, run in enumerate(runs):
            self._draw_run(painter, place, run, points[place])

    def _draw_run(self, painter: QPainter, place: int, run: SeriesRun, point: QPointF) -> None:
        theme = appearance().theme
        if self._series.is_of_steps and run.step_interval_ns is not None:
            painter.setPen(QPen(theme.color("kernel", 170), 1.5))
            low, high = (self._y(value) for value in run.step_interval_ns)
            painter.drawLine(QPointF(point.x(), low), QPointF(point.x(), high))
            for y in (low, high):
                painter.drawLine(QPointF(point.x() - 3, y), QPointF(point.x() + 3, y))
        is_shown = run.path in self._shown
        painter.setPen(QPen(theme.color("selection" if is_shown else "panel"), 2))
        painter.setBrush(theme.color("wait_lock" if run.exit_status else "kernel"))
        painter.drawEllipse(point, 5.5, 5.5)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        room = (self.width() - _LEFT - _RIGHT) / len(self._series.runs)
        below = QRectF(point.x() - room / 2, self.height() - _BOTTOM + 5, room, 16)
        letter = "AB"[self._shown.index(run.path)] + " · " if is_shown else ""
        center = int(Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignVCenter)
        elide = painter.fontMetrics().elidedText
        painter.setPen(theme.color("text" if is_shown else "muted"))
        name = elide(letter + run.path.stem, Qt.TextElideMode.ElideMiddle, int(room) - 6)
        painter.drawText(below, center, name)
        note = self.note_of(run)
        if note:
            painter.setPen(theme.color("text"))
            text = elide(note, Qt.TextElideMode.ElideRight, int(room) - 6)
            painter.drawText(below.translated(0, 16), center, text)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            place = self._place_at(QPointF(event.pos()))
            if place is None:
                QToolTip.hideText()
            else:
                QToolTip.showText(event.globalPos(), plain(self.about(self._series.runs[place])), self)
            return True
        return super().event(event)

    def about(self, run: SeriesRun) -> str:
        """Description of a run, in lines."""
        lines = [run.path.name, self.note_of(run)]
        if run.step_ns is not None:
            lines.append(tr("median step {time}", time=format_duration(run.step_ns)))
        lines.append(tr("total time {time}", time=format_duration(run.duration_ns)))
        if run.exit_status:
            lines.append(tr("exit status {code}", code=run.exit_status))
        return "\n".join(filter(None, lines))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Compare with a run, or open its menu."""
        place = self._place_at(event.position())
        if place is None:
            return
        run = self._series.runs[place]
        if event.button() == Qt.MouseButton.RightButton:
            menu = QMenu(self)
            menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            menu.addAction(tr("Note…"), lambda: self.ask_note(run))
            menu.addAction(tr("Compare with this run"), lambda: self.run_chosen.emit(run.path))
            menu.popup(event.globalPosition().toPoint())

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Write a note on a run."""
        place = self._place_at(event.position())
        if place is not None:
            self.ask_note(self._series.runs[place])

    def ask_note(self, run: SeriesRun) -> None:
        """Ask for a note on a run."""
        if self._notes is None:
            return
        text, is_accepted = QInputDialog.getText(
            self, tr("Note"), plain(tr("What changed in {name}?", name=run.path.name)), text=self.note_of(run)
        )
        if is_accepted:
            self.write_note(run, text)

    def write_note(self, run: SeriesRun, text: str) -> None:
        """Save a note."""
        if self._notes is not None:
            self._notes.write(run.path, text)
            self.update()
