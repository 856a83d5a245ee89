"""Pointer and keyboard input on a job's map: hover, select, move, zoom."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence, QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QApplication, QToolTip

from warpline_app.job.cell_text import cell_lines
from warpline_app.job.map_canvas import JobMapCanvas
from warpline_app.job.map_geometry import Axis
from warpline_app.look.plain import plain
from warpline_app.open.job.board import Cell, Chosen
from warpline_app.timeline.widgets.held_keys import verb_of

_ZOOM = 1.25
_PAN = 0.15
_WHEEL_PX = 48.0
_PAGE = 10
_MOVES = {
    Qt.Key.Key_Left: (0, -1),
    Qt.Key.Key_Right: (0, 1),
    Qt.Key.Key_Up: (-1, 0),
    Qt.Key.Key_Down: (1, 0),
    Qt.Key.Key_PageUp: (-_PAGE, 0),
    Qt.Key.Key_PageDown: (_PAGE, 0),
}
_OWN = frozenset(
    {
        *_MOVES,
        Qt.Key.Key_Home,
        Qt.Key.Key_End,
        Qt.Key.Key_Return,
        Qt.Key.Key_Enter,
        Qt.Key.Key_Space,
        Qt.Key.Key_F,
    }
)


class MapInput(QObject):
    """Filters the events of a canvas and changes its board."""

    open_wanted = Signal()
    """Open the selection, or the current cell."""
    copy_wanted = Signal()
    menu_wanted = Signal(QPoint)
    """global position for a menu"""

    def __init__(self, canvas: JobMapCanvas) -> None:
        super().__init__(canvas)
        self._canvas = canvas
        self._board = canvas.board
        self._pressed: QPointF | None = None
        self._began: Cell | None = None
        self._is_dragging = False
        self._panned: QPointF | None = None
        self._anchor: Cell | None = None
        canvas.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Handle pointer, wheel and keys of the canvas."""
        kind = event.type()
        if isinstance(event, QKeyEvent):
            if kind == QEvent.Type.ShortcutOverride and self._is_own(event):
                event.accept()
                return True
            return kind == QEvent.Type.KeyPress and self._press_key(event)
        if isinstance(event, QWheelEvent):
            self._wheel(event)
            return True
        if isinstance(event, QMouseEvent):
            if kind == QEvent.Type.MouseButtonPress:
                self._press(event)
            elif kind == QEvent.Type.MouseMove:
                self._move(event)
            elif kind == QEvent.Type.MouseButtonRelease:
                self._release(event)
        return False

    def _press(self, event: QMouseEvent) -> None:
        point = event.position()
        if event.button() == Qt.MouseButton.LeftButton:
            self._pressed, self._is_dragging = point, False
            self._began = self._canvas.cell_at(point)
        elif event.button() == Qt.MouseButton.MiddleButton:
            self._panned = point
        elif event.button() == Qt.MouseButton.RightButton:
            cell = self._canvas.cell_at(point)
            if cell is not None:
                self._board.set_current(cell)
                self._anchor = cell
            self.menu_wanted.emit(event.globalPosition().toPoint())

    def _move(self, event: QMouseEvent) -> None:
        point = event.position()
        if self._panned is not None:
            by = self._panned - point
            self._panned = point
            self._pan(by.y() / self._canvas.rows.cell_px, by.x() / self._canvas.steps.cell_px)
            return
        if self._pressed is not None and event.buttons() & Qt.MouseButton.LeftButton:
            far = (point - self._pressed).manhattanLength() >= QApplication.startDragDistance()
            other = self._canvas.nearest_cell(point)
            if self._began is not None and other is not None and (self._is_dragging or far):
                self._is_dragging = True
                self._board.choose_between(self._began, other)
        cell = self._canvas.cell_at(point)
        self._board.set_hover(cell)
        self._canvas.setCursor(
            Qt.CursorShape.PointingHandCursor if cell is not None else Qt.CursorShape.ArrowCursor
        )
        if cell is None:
            QToolTip.hideText()
        else:
            QToolTip.showText(
                event.globalPosition().toPoint(),
                plain("\n".join(cell_lines(self._board, cell))),
                self._canvas,
            )

    def _release(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.MiddleButton:
            self._panned = None
        if event.button() != Qt.MouseButton.LeftButton or self._pressed is None:
            return
        was_dragged, self._pressed, self._is_dragging = self._is_dragging, None, False
        cell = self._began
        if was_dragged:
            self._anchor = cell
            return
        if cell is None:
            self._board.choose(Chosen())
            return
        self._click(cell, event.modifiers())

    def _click(self, cell: Cell, modifiers: Qt.KeyboardModifier) -> None:
        if modifiers & Qt.KeyboardModifier.ShiftModifier:
            self._board.choose_between(self._anchor or self._board.current or cell, cell)
        elif modifiers & Qt.KeyboardModifier.ControlModifier:
            self._board.toggle(cell)
            self._anchor = cell
        else:
            self._board.choose(Chosen())
            self._anchor = cell
            self._board.set_current(cell)
            self.open_wanted.emit()
            return
        self._board.set_current(cell)

    def _wheel(self, event: QWheelEvent) -> None:
        canvas, point = self._canvas, event.position()
        notches = event.angleDelta().y() / 120
        sideways = event.angleDelta().x() / 120
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            factor = _ZOOM**-notches
            area = canvas.area
            # Over the rank names only ranks zoom, over the step numbers only steps.
            rows = canvas.rows.zoomed(factor, point.y() - area.top()) if point.y() >= area.top() else None
            steps = canvas.steps.zoomed(factor, point.x() - area.left()) if point.x() >= area.left() else None
            canvas.set_view(rows, steps)
        elif event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self._pan(0.0, -notches * _WHEEL_PX / canvas.steps.cell_px)
        else:
            self._pan(
                -notches * _WHEEL_PX / canvas.rows.cell_px, -sideways * _WHEEL_PX / canvas.steps.cell_px
            )
        event.accept()

    def _pan(self, rows: float, steps: float) -> None:
        self._canvas.set_view(self._canvas.rows.moved(rows), self._canvas.steps.moved(steps))

    def _is_own(self, event: QKeyEvent) -> bool:
        is_plain = not event.modifiers() & (
            Qt.KeyboardModifier.AltModifier | Qt.KeyboardModifier.MetaModifier
        )
        if event.matches(QKeySequence.StandardKey.Copy) or event.matches(QKeySequence.StandardKey.SelectAll):
            return True
        if event.key() == Qt.Key.Key_Escape:
            return bool(self._board.chosen.rows)
        return is_plain and (event.key() in _OWN or verb_of(event) is not None)

    def _press_key(self, event: QKeyEvent) -> bool:
        if not self._is_own(event):
            return False
        key, modifiers = event.key(), event.modifiers()
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy_wanted.emit()
        elif event.matches(QKeySequence.StandardKey.SelectAll):
            self._choose_all()
        elif key == Qt.Key.Key_Escape:
            self._board.choose(Chosen())
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.open_wanted.emit()
        elif key == Qt.Key.Key_Space:
            if self._board.current is not None:
                self._board.toggle(self._board.current)
        elif key == Qt.Key.Key_F:
            self._canvas.frame_chosen()
        elif key in _MOVES or key in (Qt.Key.Key_Home, Qt.Key.Key_End):
            self._go(event)
        elif not modifiers & Qt.KeyboardModifier.ControlModifier:
            self._fly(event)
        return True

    def _go(self, event: QKeyEvent) -> None:
        rows, steps = self._board.map.shape
        if not rows or not steps:
            return
        key, modifiers = event.key(), event.modifiers()
        order = self._board.order
        current = self._board.current
        if current is None:
            nearest = self._canvas.nearest_cell(self._canvas.area.topLeft()) or (int(order[0]), 0)
            self._board.set_current(nearest)
            self._anchor = nearest
            return
        place, step = self._board.place_of(current[0]), current[1]
        is_far = bool(modifiers & Qt.KeyboardModifier.ControlModifier)
        if key == Qt.Key.Key_Home:
            place, step = (0, step) if is_far else (place, 0)
        elif key == Qt.Key.Key_End:
            place, step = (rows - 1, step) if is_far else (place, steps - 1)
        else:
            down, right = _MOVES[Qt.Key(key)]
            place, step = place + down, step + right
        cell = (int(order[min(max(place, 0), rows - 1)]), min(max(step, 0), steps - 1))
        if modifiers & Qt.KeyboardModifier.ShiftModifier:
            self._anchor = self._anchor or current
            self._board.choose_between(self._anchor, cell)
        else:
            self._anchor = cell
        self._board.set_current(cell)

    def _choose_all(self) -> None:
        rows, steps = self._board.map.shape
        self._board.choose(Chosen(frozenset(range(rows)), 0, max(steps - 1, 0)))

    def _fly(self, event: QKeyEvent) -> None:
        canvas = self._canvas
        verb = verb_of(event)
        point = QPointF(canvas.mapFromGlobal(canvas.cursor().pos()))
        area = canvas.area
        if canvas.cell_at(point) is None:
            point = area.center()
        if verb in ("in", "out"):
            factor = _ZOOM if verb == "out" else 1 / _ZOOM
            canvas.set_view(
                canvas.rows.zoomed(factor, point.y() - area.top()),
                canvas.steps.zoomed(factor, point.x() - area.left()),
            )
        elif verb is not None:
            length = _visible(canvas.steps) * _PAN
            self._pan(0.0, -length if verb == "left" else length)


def _visible(axis: Axis) -> float:
    return axis.length
