"""Draws a flame graph with labels, zoom and tooltips; saved as PNG or SVG."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QEvent, QPoint, QRect, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QWheelEvent
from PySide6.QtWidgets import QApplication, QMenu, QScrollBar, QWidget

from warpline.analysis.structure.flame import Flame
from warpline.i18n import tr, tr_n
from warpline.model.frames import StackFrame, parse_frame
from warpline.model.sizes import format_bytes
from warpline.model.times import format_duration
from warpline.storage import Capture
from warpline_app.look.painting import contained
from warpline_app.look.theme import Theme, contrast_ratio, to_rgb, ui_font
from warpline_app.look.widgets import shows_tooltip
from warpline_app.open.messages import MessageTarget
from warpline_app.panels.charts.picture_saving import ask_and_save, save_picture
from warpline_app.panels.flame.colors import Code, code_of, color_of_code, color_of_wait, draw_box
from warpline_app.timeline.draw.name_colors import NameColors

ROW_PX = 19
_LABEL_PX = 34


class FlameView(QWidget):
    """Draws a `Flame`: callers at the top, callees below.

    A click selects, a double click zooms in, a click on the background zooms out. Arrow keys move between boxes,
    Return zooms in, Backspace out.
    """

    box_clicked = Signal(int)
    box_menu = Signal(int, QPoint)
    frame_wanted = Signal(object)
    """A `StackFrame` whose box was clicked once."""

    def __init__(
        self, capture: Capture, theme: Theme, messages: MessageTarget, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.capture = capture
        self.theme = theme
        self.export_name = "flame"
        self._messages = messages
        self.flame: Flame | None = None
        self.highlight: frozenset[int] = frozenset()
        self._colors: NameColors | None = None
        self.zoomed = -1
        self.current = -1
        """The box the arrow keys start from."""
        self._search: npt.NDArray[np.bool_] | None = None
        self._clicked = -1
        self._click_timer = QTimer(self)
        self._click_timer.setSingleShot(True)
        self._click_timer.timeout.connect(self._clicked_once)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(tr("Flame graph", "panel"))
        self.setMinimumHeight(60)
        self.bar = QScrollBar(Qt.Orientation.Vertical, self)
        self.bar.valueChanged.connect(lambda _value: self.update())
        self.bar.hide()

    def show_flame(self, flame: Flame) -> None:
        """Draw another graph, zoomed out."""
        self.flame = flame
        self.zoomed = self.current = -1
        self._fit_bar()
        self.update()

    def set_highlight(self, names: frozenset[int]) -> None:
        """Outline the boxes of these names."""
        self.highlight = names
        self.update()

    def set_search(self, matches: npt.NDArray[np.bool_] | None) -> None:
        """Dim boxes whose name (by string id) does not match; None to stop."""
        self._search = matches
        self.update()

    def zoom(self, box: int) -> None:
        """Let a box fill the width; −1 shows everything."""
        self.zoomed = box
        self.update()

    def _range(self) -> tuple[float, float]:
        assert self.flame is not None
        if 0 <= self.zoomed < len(self.flame):
            return float(self.flame.left[self.zoomed]), float(max(self.flame.value[self.zoomed], 1))
        return 0.0, float(max(self.flame.total, 1))

    def boxes(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """(boxes, left px, right px) of the boxes at least half a pixel wide."""
        if self.flame is None or not len(self.flame):
            empty = np.empty(0)
            return np.empty(0, np.int64), empty, empty
        origin, width = self._range()
        scale = self._width() / width
        left = (self.flame.left - origin) * scale
        right = (self.flame.left + self.flame.value - origin) * scale
        shown = np.flatnonzero((right > 0) & (left < self._width()) & (right - left >= 0.5))
        return shown, np.maximum(left[shown], 0), np.minimum(right[shown], self._width())

    def _width(self) -> int:
        return self.width() - (self.bar.width() if self.bar.isVisible() else 0)

    def box_at(self, point: QPoint) -> int:
        """The box at a point of the widget, −1 for none."""
        places, left, right = self.boxes()
        if self.flame is None or not len(places):
            return -1
        depth = (point.y() + self.bar.value()) // ROW_PX
        here = np.flatnonzero((self.flame.depth[places] == depth) & (left <= point.x()) & (right > point.x()))
        return int(places[here[0]]) if len(here) else -1

    def rect_of(self, box: int) -> QRect:
        """Rectangle of a box; empty if it is not drawn."""
        places, left, right = self.boxes()
        here = np.flatnonzero(places == box)
        if self.flame is None or not len(here):
            return QRect()
        i = int(here[0])
        top = int(self.flame.depth[box]) * ROW_PX - self.bar.value()
        return QRect(round(left[i]), top, max(1, round(right[i] - left[i])), ROW_PX - 2)

    @contained
    def paintEvent(self, painter: QPainter, event: QPaintEvent) -> None:
        painter.fillRect(self.rect(), self.theme.color("panel"))
        self.draw(painter)

    def draw(self, painter: QPainter) -> None:
        """Draw the boxes on any device."""
        flame = self.flame
        if flame is None:
            return
        font = ui_font(11)
        painter.setFont(font)
        metrics = painter.fontMetrics()
        self._draw_captions(painter)
        places, left, right = self.boxes()
        top = flame.depth[places] * ROW_PX - self.bar.value()
        visible = (top > -ROW_PX) & (top < self.height())
        for place, x0, x1, y in zip(
            places[visible].tolist(),
            left[visible].tolist(),
            right[visible].tolist(),
            top[visible].tolist(),
            strict=True,
        ):
            name = int(flame.name[place])
            found = self._named_frame(place)
            color = self._color(name, int(flame.row[place]), found)
            if self._search is not None and not (name < len(self._search) and self._search[name]):
                color.setAlpha(60)
            x, width = round(x0), max(1, round(x1) - round(x0))
            box = QRect(x, y, max(1, width - 1), ROW_PX - 2)
            draw_box(painter, box, color, code_of(found))
            if name in self.highlight:
                painter.setPen(self.theme.color("selection"))
                painter.drawRect(box.adjusted(0, 0, -1, -1))
                painter.drawRect(box.adjusted(1, 1, -2, -2))
            if place == self.current and self.hasFocus():
                painter.setPen(self.theme.color("text"))
                painter.drawRect(box.adjusted(0, 0, -1, -1))
            if width > _LABEL_PX:
                dark, light = to_rgb(self.theme.ink_dark), to_rgb(self.theme.ink_light)
                ground = color.rgb()
                is_dark = contrast_ratio(dark, ground) >= contrast_ratio(light, ground)
                painter.setPen(QColor(self.theme.ink_dark if is_dark else self.theme.ink_light))
                text = flame.text(self.capture, place)
                if found.file or found.is_native:
                    text = f"{found.function}   {found.module or found.place}".strip()
                if width > 150:
                    text = f"{text}   {self.value_text(int(flame.value[place]))}"
                inner = box.adjusted(5, 0, -3, 0)
                shown = metrics.elidedText(text, Qt.TextElideMode.ElideRight, inner.width())
                painter.drawText(inner, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, shown)

    def _draw_captions(self, painter: QPainter) -> None:
        """In time order, name the owner of the boxes that follow."""
        assert self.flame is not None
        painter.setPen(self.theme.color("muted"))
        for depth, text in self.flame.captions:
            line = QRect(5, depth * ROW_PX - self.bar.value(), self._width() - 10, ROW_PX - 2)
            shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, line.width())
            painter.drawText(line, Qt.AlignmentFlag.AlignBottom | Qt.AlignmentFlag.AlignLeft, shown)

    def _color(self, name: int, row: int, frame: StackFrame) -> QColor:
        """Hue by name; library colours for native functions; timeline colours for wait reasons."""
        beyond = name - len(self.capture.strings)
        if beyond >= 0:
            return color_of_wait(self.theme, beyond)
        code = code_of(frame)
        if code is not Code.SOURCE:
            return color_of_code(self.theme, code, frame.module)
        if self._colors is None or self._colors.theme is not self.theme:
            self._colors = NameColors(self.capture, self.theme)
        return QColor(self._colors.of_event(row) if row >= 0 else self._colors.of_range(name))

    def _named_frame(self, box: int) -> StackFrame:
        assert self.flame is not None
        is_ours = int(self.flame.name[box]) >= len(self.capture.strings)
        return StackFrame("") if is_ours else parse_frame(self.flame.text(self.capture, box))

    def codes(self) -> frozenset[Code]:
        """Origins of the boxes' code."""
        if self.flame is None:
            return frozenset()
        strings = self.capture.strings
        names = [name for name in np.unique(self.flame.name).tolist() if name < len(strings)]
        return frozenset(code_of(parse_frame(strings[name])) for name in names)

    def frame_of(self, box: int) -> StackFrame | None:
        """The source location or native function of a box."""
        flame = self.flame
        if flame is None or not 0 <= box < len(flame):
            return None
        found = self._named_frame(box)
        return found if found.file or found.is_native else None

    def value_text(self, value: int) -> str:
        """A value with its unit."""
        if self.flame is not None and self.flame.unit == "samples":
            return tr_n("{count:,} sample", "{count:,} samples", value)
        if self.flame is not None and self.flame.unit == "bytes":
            return format_bytes(value)
        return format_duration(value, 3)

    def tip(self, box: int) -> str:
        """Tooltip of a box."""
        flame = self.flame
        assert flame is not None
        whole = max(flame.total, 1)
        name = flame.text(self.capture, box)
        value, own = int(flame.value[box]), int(flame.own[box])
        lines = [
            name,
            f"{self.value_text(value)} · {value / whole:.1%} " + tr("of the selection"),
            tr("self {own}", own=self.value_text(own)),
        ]
        frame = self.frame_of(box)
        if frame is not None and frame.file:
            lines.append(tr("click to show its source line"))
        elif frame is not None:
            lines.append(tr("native function, known by its symbol only"))
        if flame.count[box] > 1:
            lines.append(tr_n("{count:,} event", "{count:,} events", int(flame.count[box])))
        return "\n".join(lines)

    def event(self, event: QEvent) -> bool:
        """Show tooltips; Backspace zooms out while zoomed in."""
        is_override = event.type() == QEvent.Type.ShortcutOverride and self.zoomed >= 0
        if is_override and isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Backspace:
            event.accept()
            return True

        def text_at(point: QPoint) -> str:
            box = self.box_at(point)
            return self.tip(box) if box >= 0 else ""

        return shows_tooltip(self, event, text_at) or super().event(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Select, or open the menu."""
        box = self.box_at(event.position().toPoint())
        if event.button() == Qt.MouseButton.RightButton:
            self.box_menu.emit(box, event.globalPosition().toPoint())
        elif box >= 0:
            self._go(box)
            # Show the source line, unless a second click zooms.
            self._clicked = box
            self._click_timer.start(QApplication.doubleClickInterval())

    def _clicked_once(self) -> None:
        frame = self.frame_of(self._clicked)
        if frame is not None:
            self.frame_wanted.emit(frame)

    def _go(self, box: int) -> None:
        self.current = box
        self.update()
        self.box_clicked.emit(box)

    def neighbour(self, box: int, key: Qt.Key) -> int:
        """The neighbouring box for an arrow key (the widest below); the box itself if there is none."""
        flame = self.flame
        if flame is None or not len(flame):
            return -1
        if box < 0:
            return 0
        if key == Qt.Key.Key_Up:
            return int(flame.parent[box]) if flame.parent[box] >= 0 else box
        if key == Qt.Key.Key_Down:
            parts = np.flatnonzero(flame.parent == box)
            return int(parts[np.argmax(flame.value[parts])]) if len(parts) else box
        # Boxes are sorted by depth and position.
        beside = box + (1 if key == Qt.Key.Key_Right else -1)
        return beside if 0 <= beside < len(flame) and flame.depth[beside] == flame.depth[box] else box

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrows move between boxes, Return zooms in, Backspace out, Menu opens the menu."""
        key = Qt.Key(event.key())
        if key in {Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Left, Qt.Key.Key_Right}:
            box = self.neighbour(self.current, key)
            if box >= 0:
                self._go(box)
        elif key in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            self.zoom(self.current)
        elif key == Qt.Key.Key_Backspace:
            self.zoom(-1)
        elif key == Qt.Key.Key_Menu:
            place = self.rect_of(self.current).center() if self.current >= 0 else QPoint(20, 20)
            self.box_menu.emit(self.current, self.mapToGlobal(place))
        else:
            super().keyPressEvent(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Zoom into a box, or out on the background."""
        self._click_timer.stop()
        self.zoom(self.box_at(event.position().toPoint()))

    def wheelEvent(self, event: QWheelEvent) -> None:
        self.bar.setValue(self.bar.value() - event.angleDelta().y() // 2)

    def resizeEvent(self, event: object) -> None:
        self._fit_bar()

    def _fit_bar(self) -> None:
        deepest = 0 if self.flame is None or not len(self.flame) else int(self.flame.depth.max()) + 1
        room = max(0, deepest * ROW_PX - self.height())
        self.bar.setRange(0, room)
        self.bar.setPageStep(self.height())
        self.bar.setVisible(room > 0)
        self.bar.setGeometry(self.width() - 10, 0, 10, self.height())

    def add_export(self, menu: QMenu) -> None:
        """Add the action that saves the graph to a menu."""
        menu.addAction(tr("Save chart…"), self.choose_export)

    def choose_export(self) -> None:
        """Ask for a file and save the graph."""
        ask_and_save(self, self.export_name, self.export, self._messages)

    def export(self, path: Path) -> None:
        """Save the visible part: SVG if the name ends in .svg, else PNG at twice its size."""
        save_picture(path, self.rect(), self.theme.color("panel"), self.draw)
