"""The header column: row tree, figures of the visible range, colour marks; resizing and reordering."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QHelpEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPixmap,
    QPolygonF,
    QWheelEvent,
)
from PySide6.QtWidgets import QToolTip, QWidget

from warpline.i18n import tr, tr_n
from warpline.model.notes import Note
from warpline_app.look.painting import contained, painting, saved
from warpline_app.look.plain import plain
from warpline_app.look.theme import Theme, note_color, ui_font, wash
from warpline_app.timeline.draw.shapes import is_drawing
from warpline_app.timeline.model.core_load import is_system_load
from warpline_app.timeline.model.curves import core_help, share_text, sum_help
from warpline_app.timeline.model.layout import MIN_LANE_PX, PINNED_KEY, PlacedRow, line_height
from warpline_app.timeline.model.row import Content
from warpline_app.timeline.model.scene import Scene
from warpline_app.timeline.widgets.titles import INDENT, Titles, title_left

MIN_WIDTH = 120
MAX_WIDTH = 700
PICTURES = 400
_GRIP = 4
_MARK = 3
_ONE_LINE = int(Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine)  # line feeds in names are blanks
_TITLE_PX = 26.0


class Header(QWidget):
    """Titles left, figures right. Drag the right edge to resize the column, a row to reorder it among its siblings."""

    menu_wanted = Signal(QPoint, str)
    """global position and key of a row"""
    width_wanted = Signal(int)
    link_wanted = Signal(str)
    """key of a row whose amber dot was clicked: it contains an end of the selection's links"""

    def __init__(self, scene: Scene, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.scene = scene
        self.theme = theme
        self.figures: Mapping[str, str] = {}
        self.linked_keys: frozenset[str] = frozenset()
        self._pictures: dict[tuple[object, ...], QPixmap] = {}
        self._titles = Titles()
        self._resizing = False
        self._height_of: PlacedRow | None = None
        self._height_from = (0.0, 0)
        self._dragged: PlacedRow | None = None
        self._drop: tuple[str, str | None, float] | None = None
        self._pressed = QPointF()
        self.setMouseTracking(True)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setAccessibleName(tr("Tracks", "timeline"))
        chosen = scene.state.track_selection_changed
        noted = scene.state.notes_changed
        for signal in (scene.layout_changed, scene.scrolled, scene.resized, chosen, noted):
            signal.connect(self._changed)

    def _changed(self, *_: object) -> None:
        self.update()

    def set_theme(self, theme: Theme) -> None:
        """Set the colours."""
        self.theme = theme
        self.update()

    def set_figures(self, figures: Mapping[str, str]) -> None:
        """Show these figures, by row key."""
        self.figures = figures
        self.update()

    def set_linked(self, keys: frozenset[str]) -> None:
        """Mark rows that contain the other ends of the selection's links."""
        if keys != self.linked_keys:
            self.linked_keys = keys
            self.update()

    # painting

    @contained
    def paintEvent(self, painter: QPainter, event: QPaintEvent) -> None:
        """Paint the visible rows."""
        painter.fillRect(self.rect(), self.theme.color("header"))
        layout = self.scene.layout
        area = layout.pinned_height
        unpinned = layout.between(self.scene.scroll_px, self.scene.scroll_px + self.height() - area)
        for rows in (layout.pinned, unpinned):
            self._titles.find(rows, self.width() - 1 - _MARK - 9, self._figure)
        for placed in layout.pinned:
            self._draw_row(painter, placed, placed.top)
        with saved(painter):
            painter.setClipRect(QRectF(0, area, self.width(), self.height() - area))
            for placed in layout.between(self.scene.scroll_px, self.scene.scroll_px + self.height() - area):
                self._draw_row(painter, placed, self.scene.top_of(placed))
            if self._drop is not None:
                painter.fillRect(QRectF(4, self._drop[2] - 1, self.width() - 8, 2), self.theme.color("text"))
        if area:
            painter.fillRect(QRectF(0, area - 1, self.width(), 1), self.theme.color("muted", 140))
        painter.fillRect(QRectF(self.width() - 1, 0, 1, self.height()), self.theme.color("hairline"))

    def _draw_row(self, painter: QPainter, placed: PlacedRow, top: int) -> None:
        # A stack can be thousands of lanes deep: a picture of all of it would take hundreds of megabytes.
        if not is_drawing(painter) and placed.height <= self.height():
            painter.drawPixmap(0, top, self._picture(placed))
            return
        with saved(painter):
            painter.translate(0, top)
            self._paint_row(painter, placed)

    def _picture(self, placed: PlacedRow) -> QPixmap:
        """A row's picture, cached by everything it depends on: scrolling only moves pictures."""
        row, ratio = placed.row, self.scene.ratio_of(self)
        key = (
            row.key,
            placed.pinned,
            placed.depth,
            placed.height,
            placed.is_open,
            row.is_foldable,
            row.key == self.scene.focus_key,
            row.key == self.scene.state.track_selection,
            row.key in self.linked_keys,
            self._figure(placed),
            self._titles.of(placed),
            self.width(),
            self.theme.name,
            ratio,
            self._hidden_above(placed),
            self._row_note(row.key),
        )
        picture = self._pictures.get(key)
        if picture is None:
            if len(self._pictures) > PICTURES:
                self._pictures.clear()
            picture = QPixmap(round(self.width() * ratio), round(placed.height * ratio))
            picture.setDevicePixelRatio(ratio)
            picture.fill(self.theme.color("header"))
            with painting(picture) as painter:
                self._paint_row(painter, placed)
            self._pictures[key] = picture
        return picture

    def _paint_row(self, painter: QPainter, placed: PlacedRow) -> None:
        row, theme, top = placed.row, self.theme, 0
        box = QRectF(0, top, self.width() - 1, placed.height)
        if row.is_group:
            painter.fillRect(box, theme.color("group"))
        if row.key == self.scene.state.track_selection:
            painter.fillRect(box, QColor(wash(theme)))
        painter.fillRect(QRectF(0, box.bottom() - 1, box.width(), 1), theme.color("hairline", 150))
        if row.key == self.scene.focus_key:
            painter.fillRect(QRectF(0, top, 2, placed.height), theme.color("text", 170))
        indent = 8 + (0 if placed.pinned else placed.depth * INDENT)
        line = min(float(box.height()), _TITLE_PX)
        # The title of a tall row stays visible while its top is scrolled out.
        first = QRectF(0, min(float(self._hidden_above(placed)), box.height() - line), box.width(), line)
        if row.is_foldable:
            self._paint_triangle(painter, QPointF(indent + 4, first.center().y()), placed.is_open)
        if row.content is not Content.MORE and not row.is_group:
            painter.fillRect(
                QRectF(box.right() - _MARK - 2, top + 3, _MARK, placed.height - 6),
                QColor(theme.family(row.family)),
            )
        figure = self._figure(placed)
        painter.setFont(ui_font(11))
        metrics = painter.fontMetrics()
        width = metrics.horizontalAdvance(figure) if figure else 0
        right = box.right() - _MARK - 9
        if figure:
            painter.setPen(theme.color("muted"))
            painter.drawText(
                QRectF(right - width, first.top(), width + 1, line),
                _ONE_LINE,
                figure,
            )
        painter.setFont(ui_font(12, bold=row.is_group))
        painter.setPen(theme.color("muted" if row.content is Content.MORE and not row.is_group else "text"))
        left = title_left(placed)
        room = right - width - 10 - left
        text = self._titles.of(placed)
        painter.drawText(QRectF(left, first.top(), room + 4, line), _ONE_LINE, text)
        note = self._row_note(row.key)
        if note is not None:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(note_color(theme, note.color))
            painter.drawPolygon(QPolygonF([QPointF(0, top), QPointF(9, top), QPointF(0, top + 9)]))
        if row.key in self.linked_keys:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
            painter.setBrush(theme.color("link"))
            painter.setPen(Qt.PenStyle.NoPen)
            painter.drawEllipse(QPointF(4, first.center().y()), 2.6, 2.6)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)

    def _row_note(self, key: str) -> Note | None:
        """The note on a whole row."""
        notes = self.scene.state.notes
        return next((note for note in notes if note.row == key and note.start_ns is None), None)

    def _hidden_above(self, placed: PlacedRow) -> int:
        """Pixels of a row scrolled out at the top; only for rows with room for a lower title."""
        if placed.pinned or placed.height < 2 * _TITLE_PX:
            return 0
        return max(0, self.scene.layout.pinned_height - self.scene.top_of(placed))

    def _figure(self, placed: PlacedRow) -> str:
        row = placed.row
        if row.role == "operators" and len(row.lanes) > 1 and placed.is_open:
            return tr_n("{count} level", "{count} levels", len(row.lanes), "timeline")
        return self.figures.get(row.key, "")

    def _paint_triangle(self, painter: QPainter, at: QPointF, is_open: bool) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self.theme.color("muted"))
        size = 3.2
        if is_open:
            points = [QPointF(-size, -size * 0.6), QPointF(size, -size * 0.6), QPointF(0, size * 0.8)]
        else:
            points = [QPointF(-size * 0.6, -size), QPointF(-size * 0.6, size), QPointF(size * 0.8, 0)]
        painter.drawPolygon(QPolygonF([at + point for point in points]))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)

    # mouse

    def _row_at(self, y: float) -> PlacedRow | None:
        return self.scene.placed_at(y)

    def _border_at(self, y: float) -> PlacedRow | None:
        """The row whose lower border at this height can be dragged."""
        placed = self._row_at(y - 2)
        if placed is None or placed.row.is_group or placed.row.content is Content.MORE:
            return None
        bottom = self.scene.top_of(placed) + placed.height
        return placed if abs(bottom - y) <= 2 else None

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Start resizing or reordering, or expand or collapse a row."""
        point = event.position()
        self._pressed = point
        if event.button() != Qt.MouseButton.LeftButton:
            return
        if point.x() >= self.width() - _GRIP:
            self._resizing = True
            return
        border = self._border_at(point.y())
        if border is not None:
            self._height_of = border
            self._height_from = (point.y(), line_height(border.row, self.scene.state.heights))
            return
        placed = self._row_at(point.y())
        if placed is None:
            return
        if point.x() <= 8 and placed.row.key in self.linked_keys:
            self.link_wanted.emit(placed.row.key)
            return
        self.scene.focus_key = placed.row.key
        indent = 8 + (0 if placed.pinned else placed.depth * INDENT)
        if placed.row.content is Content.MORE or (placed.row.is_foldable and point.x() < indent + 14):
            self.scene.toggle(placed.row)
        else:
            self._dragged = placed
        self.update()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Continue a drag, or show what a drag would do."""
        point = event.position()
        if self._resizing:
            self.width_wanted.emit(min(max(round(point.x()) + 1, MIN_WIDTH), MAX_WIDTH))
            return
        if self._height_of is not None:
            row = self._height_of.row
            lanes = max(1, len(self._height_of.lines))
            change = round((point.y() - self._height_from[0]) / lanes)
            self.scene.state.set_height(row.key, max(MIN_LANE_PX, self._height_from[1] + change), "height")
            return
        if self._dragged is not None and abs(point.y() - self._pressed.y()) > 5:
            self._drop = self._drop_at(point.y())
            self.setCursor(Qt.CursorShape.ClosedHandCursor)
            self.update()
            return
        if point.x() >= self.width() - _GRIP:
            self.setCursor(Qt.CursorShape.SplitHCursor)
        elif self._border_at(point.y()) is not None:
            self.setCursor(Qt.CursorShape.SplitVCursor)
        else:
            self.unsetCursor()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Drop a dragged row."""
        dragged, drop = self._dragged, self._drop
        self._resizing = False
        self.scene.state.end_gesture()
        self._height_of = self._dragged = self._drop = None
        self.unsetCursor()
        if dragged is not None and drop is not None:
            self._reorder(dragged, drop)
        elif dragged is not None and dragged.row.content is not Content.MORE:
            # A click on a title limits panels to this row; another click ends that.
            state = self.scene.state
            state.select_track(None if state.track_selection == dragged.row.key else dragged.row.key)
        self.update()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Expand or collapse a row."""
        placed = self._row_at(event.position().y())
        indent = 8 + (placed.depth * INDENT if placed is not None and not placed.pinned else 0)
        if placed is not None and event.position().x() >= indent + 14:
            self.scene.toggle(placed.row)

    def _drop_at(self, y: float) -> tuple[str, str | None, float] | None:
        """Where a dragged row would land: parent, next sibling, height."""
        dragged = self._dragged
        if dragged is None:
            return None
        if dragged.pinned:
            pins = self.scene.layout.pinned[1:]  # without the heading
            for other in pins:
                if y < other.top + other.height / 2:
                    return "", other.row.key, other.top
            return "", None, pins[-1].bottom
        parent = dragged.row.parent
        siblings = [
            placed
            for placed in self.scene.layout.rows
            if placed.row.parent is parent and placed.depth == dragged.depth
        ]
        key = parent.key if parent is not None else ""
        for other in siblings:
            top = self.scene.top_of(other)
            if y < top + other.height / 2:
                return key, other.row.key, top
        return key, None, self.scene.top_of(siblings[-1]) + siblings[-1].height

    def _reorder(self, dragged: PlacedRow, drop: tuple[str, str | None, float]) -> None:
        parent_key, before, _ = drop
        if before == dragged.row.key:
            return
        if dragged.pinned:
            keys = [key for key in self.scene.state.pins if key != dragged.row.key]
        else:
            parent = dragged.row.parent
            children = parent.children if parent is not None else []
            wish = {key: index for index, key in enumerate(self.scene.state.order.get(parent_key, ()))}
            ordered = sorted(children, key=lambda child: wish.get(child.key, len(wish)))
            keys = [child.key for child in ordered if child.key != dragged.row.key]
        keys.insert(keys.index(before) if before in keys else len(keys), dragged.row.key)
        if dragged.pinned:
            self.scene.state.set_pins(keys)
        else:
            self.scene.state.set_order(parent_key, keys)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Scroll rows."""
        way = event.pixelDelta().y() or round(event.angleDelta().y() / 120 * 54)
        self.scene.scroll_to(self.scene.scroll_px - way)
        event.accept()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Ask the view for a row's menu."""
        placed = self._row_at(event.pos().y())
        if placed is not None and placed.row.key != PINNED_KEY:
            self.scene.focus_key = placed.row.key
            self.update()
            self.menu_wanted.emit(event.globalPos(), placed.row.key)

    def event(self, event: QEvent) -> bool:
        """Show the full title and the meaning of the figure as a tooltip."""
        if isinstance(event, QHelpEvent):
            placed = self._row_at(event.pos().y())
            if placed is not None:
                QToolTip.showText(event.globalPos(), plain(self.help_of(placed)), self)
            return True
        return super().event(event)

    def help_of(self, placed: PlacedRow) -> str:
        """A row's full title, contents, and the meaning of its figure."""
        row = placed.row
        parts = [row.title]
        note = self._row_note(row.key)
        if note is not None and note.text:
            parts.append(note.text)
        if row.count:
            parts.append(tr_n("{count:,} event", "{count:,} events", row.count))
        if row.group is not None and self.scene.capture.duration_ns:
            share = row.group.total_ns / self.scene.capture.duration_ns
            parts.append(tr("{share} of the whole capture", "timeline", share=share_text(share)))
        if row.role in {"core", "cores"}:
            parts += core_help(self.scene.capture, row, *self.scene.state.view)
        elif self.figures.get(row.key):
            parts.append(tr("{figure} of the visible range", "timeline", figure=self.figures[row.key]))
            parts += sum_help(row, self.figures[row.key])
        if row.counter >= 0 and is_system_load(self.scene.capture, self.scene.capture.counters[row.counter]):
            parts.append(tr("all programs and the kernel, not only the recorded program", "timeline"))
        return "\n".join(parts)
