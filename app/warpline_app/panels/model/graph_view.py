"""A graph of the modules inside one module, in call order, coloured by a measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPainterPath,
    QPen,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QMenu, QToolTip, QWidget

from warpline.i18n import tr
from warpline_app.look.appearance import appearance
from warpline_app.look.painting import saved
from warpline_app.look.plain import plain
from warpline_app.look.theme import contrast_ratio, to_rgb
from warpline_app.open.messages import MessageTarget
from warpline_app.panels.charts.drawn_chart import DrawnChart
from warpline_app.panels.charts.share_view import Part
from warpline_app.panels.model.layers import Place, can_lay_out, layered, layers_in_a_row

_NODE_PX = (148.0, 36.0)
_GAP_PX = (30.0, 14.0)
_ROW_GAP_PX = 30.0
_MARGIN_PX = 12.0
_TITLE_PX = 20.0
_LEAST_SCALE, _MOST_SCALE = 0.3, 2.0
_ARROW_PX = 5.0
_DIM = 0.3
"""Opacity of what has no part in the flow of the node under the pointer."""
_OWN_KEYS = (
    *(Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Down),
    *(Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Backspace, Qt.Key.Key_F),
)


@dataclass(frozen=True)
class Node:
    """A module: its share of the whole, and whether it contains modules."""

    part: Part
    has_more: bool


class GraphView(DrawnChart):
    """Draws nodes and arrows; the wheel zooms, dragging moves, a click selects, a double click opens."""

    node_clicked = Signal(int)
    node_opened = Signal(int)
    left = Signal()
    """The user wants to see the enclosing module."""
    menu_wanted = Signal(QMenu, int)
    """A menu for a node is about to open; others may add to it."""

    def __init__(self, messages: MessageTarget, parent: QWidget | None = None) -> None:
        super().__init__(messages, parent)
        self.export_name = "graph"
        self.setMinimumWidth(200)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(tr("Graph of modules"))
        self._nodes: list[Node] = []
        self._edges: list[tuple[int, int, int]] = []
        self._places: list[Place] = []
        self._centres: list[QPointF] = []
        self._title = ""
        self._chosen = -1
        self._scale = 1.0
        self._offset = QPointF()
        self._is_own_view = False
        self._press: QPointF | None = None
        self._hovered = -1
        self.setMouseTracking(True)

    def sizeHint(self) -> QSize:
        return QSize(460, 240)

    @property
    def nodes(self) -> list[Node]:
        """The nodes drawn."""
        return self._nodes

    @property
    def edges(self) -> list[tuple[int, int, int]]:
        """Pairs of nodes, and how often the second followed the first."""
        return self._edges

    def show_graph(self, nodes: Sequence[Node], edges: Sequence[tuple[int, int, int]], title: str) -> None:
        """Replace the graph. Edges are (from index, to index, count)."""
        is_same = [node.part.item for node in nodes] == [node.part.item for node in self._nodes]
        self._nodes, self._edges, self._title = list(nodes), list(edges), title
        self._places, self._hovered = [], -1
        if can_lay_out() and nodes:
            pairs = [(first, second) for first, second, _count in edges]
            self._places = layered(len(nodes), pairs, _NODE_PX[1], _GAP_PX[1])
        if not (is_same and self._is_own_view):
            self.fit()
        self.update()

    def set_chosen(self, item: int | None) -> None:
        """Outline the node of this table row."""
        self._chosen = -1 if item is None else item
        self.update()

    def flow_of(self, item: int) -> tuple[set[int], set[int]]:
        """Edges into and out of a node, and the nodes at their ends, as indexes; the whole graph without one."""
        index = self._index_of(item)
        if index < 0:
            return set(range(len(self._edges))), set(range(len(self._nodes)))
        edges = {number for number, edge in enumerate(self._edges) if index in edge[:2]}
        return edges, {index, *(node for number in edges for node in self._edges[number][:2])}

    def _index_of(self, item: int) -> int:
        return next((index for index, node in enumerate(self._nodes) if node.part.item == item), -1)

    @property
    def hovered(self) -> int:
        """The table row of the node under the pointer; −1 for none. Its flow stands out."""
        return self._hovered

    def _set_hovered(self, item: int) -> None:
        if item != self._hovered:
            self._hovered = item
            self.update()

    def fit(self) -> None:
        """Show the whole graph as large as is readable."""
        self._is_own_view = False
        room = QRectF(self.rect()).adjusted(_MARGIN_PX, _TITLE_PX + 4, -_MARGIN_PX, -_MARGIN_PX)
        self._centres = self._arranged((room.width(), room.height()))
        bounds = self._bounds()
        if bounds.isEmpty() or room.isEmpty():
            return
        scale = min(room.width() / bounds.width(), room.height() / bounds.height(), 1.0)
        self._scale = max(scale, _LEAST_SCALE)
        size = bounds.size() * self._scale
        corner = QPointF(
            room.left() + max(room.width() - size.width(), 0) / 2,
            room.top() + max(room.height() - size.height(), 0) / 2,
        )
        self._offset = corner - bounds.topLeft() * self._scale

    def _arranged(self, room: tuple[float, float]) -> list[QPointF]:
        """Centres of the nodes; long graphs wrap into several rows."""
        if not self._places:
            return []
        width = _NODE_PX[0] + _GAP_PX[0]
        height = max(y for _layer, y in self._places) + _NODE_PX[1] + _ROW_GAP_PX
        layers = max(layer for layer, _y in self._places) + 1
        per_row = layers_in_a_row(layers, (width, height), room)
        return [QPointF(layer % per_row * width, layer // per_row * height + y) for layer, y in self._places]

    def place_of(self, item: int) -> QRectF:
        """Rectangle of a node; empty if it is not drawn."""
        for node, centre in zip(self._nodes, self._centres, strict=False):
            if node.part.item == item:
                return QRectF(
                    self._box(centre).topLeft() * self._scale + self._offset,
                    self._box(centre).size() * self._scale,
                )
        return QRectF()

    def _bounds(self) -> QRectF:
        bounds = QRectF()
        if not self._places:
            return bounds  # no layout package is installed
        for centre in self._centres:
            bounds = bounds.united(self._box(centre))
        if any(self._places[second][0] <= self._places[first][0] for first, second, _count in self._edges):
            bounds.adjust(0, -_ROW_GAP_PX, 0, 0)  # backward arrows run above
        return bounds

    @staticmethod
    def _box(centre: QPointF) -> QRectF:
        width, height = _NODE_PX
        return QRectF(centre.x() - width / 2, centre.y() - height / 2, width, height)

    def _node_at(self, point: QPointF) -> Node | None:
        at = (point - self._offset) / self._scale
        for node, centre in zip(self._nodes, self._centres, strict=False):
            if self._box(centre).contains(at):
                return node
        return None

    def draw(self, painter: QPainter) -> None:
        """Draw on any device."""
        title = self._title
        if not can_lay_out():
            title = tr("The graph needs the package grandalf: pip install grandalf")
        self.draw_title(painter, title, Qt.TextElideMode.ElideLeft)
        with saved(painter):
            painter.setClipRect(self.rect().adjusted(0, int(_TITLE_PX) - 2, 0, 0))
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.translate(self._offset)
            painter.scale(self._scale, self._scale)
            lit_edges, lit_nodes = self.flow_of(self._hovered)
            marked = self.flow_of(self._hovered if self._hovered >= 0 else self._chosen)[0]
            is_marked = len(marked) < len(self._edges) or self._hovered >= 0
            if self._centres:
                for number, (first, second, count) in enumerate(self._edges):
                    painter.setOpacity(1.0 if number in lit_edges else _DIM)
                    self._arrow(painter, first, second, count, is_marked and number in marked)
            for index, (node, centre) in enumerate(zip(self._nodes, self._centres, strict=False)):
                painter.setOpacity(1.0 if index in lit_nodes else _DIM)
                self._draw_node(painter, node, self._box(centre))

    def _arrow(self, painter: QPainter, first: int, second: int, count: int, is_marked: bool) -> None:
        """Draw an edge; ``is_marked``: it belongs to the flow of the node that is pointed at or chosen."""
        color = appearance().theme.color("selection" if is_marked else "muted")
        most = max(edge[2] for edge in self._edges)
        width, height = _NODE_PX
        start, end = self._centres[first], self._centres[second]
        pen = QPen(color, 1.0 + 1.2 * count / most + is_marked)
        is_below = end.y() - start.y() > height and end.x() <= start.x()
        if self._places[second][0] <= self._places[first][0]:
            # Over the boxes and down into the module called again.
            pen.setStyle(Qt.PenStyle.DashLine)
            start, end = start - QPointF(0, height / 2), end - QPointF(0, height / 2)
            top = min(start.y(), end.y()) - _ROW_GAP_PX
            path = _curve(start, QPointF(start.x(), top), QPointF(end.x(), top), end)
            tip = QPointF(0, -1)
        elif is_below:
            start, end = start + QPointF(0, height / 2), end - QPointF(0, height / 2)
            middle = end.y() - _ROW_GAP_PX / 2
            path = _curve(start, QPointF(start.x(), middle), QPointF(end.x(), middle), end)
            tip = QPointF(0, -1)
        else:
            start, end = start + QPointF(width / 2, 0), end - QPointF(width / 2, 0)
            bend = QPointF(max((end.x() - start.x()) / 2, 10.0), 0)
            path = _curve(start, start + bend, end - bend, end)
            tip = QPointF(-1, 0)
        painter.setPen(pen)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPath(path)
        painter.fillPath(_tip(end, tip), color)

    def _draw_node(self, painter: QPainter, node: Node, box: QRectF) -> None:
        theme = appearance().theme
        shape = QPainterPath()
        shape.addRoundedRect(box, 4, 4)
        painter.fillPath(shape, QColor(node.part.color))
        if node.has_more:
            painter.strokePath(shape, QPen(theme.color("muted"), 1))
        if node.part.item == self._chosen:
            painter.strokePath(shape, QPen(theme.color("selection"), 2.4))
        ground = to_rgb(node.part.color)
        dark = contrast_ratio(to_rgb(theme.ink_dark), ground) >= contrast_ratio(
            to_rgb(theme.ink_light), ground
        )
        painter.setPen(QColor(theme.ink_dark if dark else theme.ink_light))
        metrics = painter.fontMetrics()
        lines = (node.part.name + (" ▸" if node.has_more else ""), f"{node.part.share:.1%}")
        for number, line in enumerate(lines):
            text = metrics.elidedText(line, Qt.TextElideMode.ElideMiddle, int(box.width()) - 12)
            painter.drawText(QPointF(box.left() + 6, box.top() + 14 + 15 * number), text)

    def event(self, event: QEvent) -> bool:
        """Show tooltips; the graph's keys take precedence over shortcuts."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.ShortcutOverride:
            if event.key() in _OWN_KEYS and not event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
                event.accept()
                return True
        elif isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            node = self._node_at(QPointF(event.pos()))
            if node is not None:
                hint = "\n" + tr("Double-click to show its modules") if node.has_more else ""
                QToolTip.showText(
                    event.globalPos(), plain(f"{node.part.full_name}\n{node.part.share:.2%}{hint}"), self
                )
            else:
                QToolTip.hideText()
            return True
        return super().event(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the whole graph in view until the user moves it."""
        if not self._is_own_view:
            self.fit()
        super().resizeEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom at the pointer."""
        factor = 1.0015 ** event.angleDelta().y()
        scale = min(max(self._scale * factor, _LEAST_SCALE), _MOST_SCALE)
        at = (event.position() - self._offset) / self._scale
        self._offset = event.position() - at * scale
        self._scale, self._is_own_view = scale, True
        self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Select a node, start moving, or open the menu."""
        node = self._node_at(event.position())
        if event.button() == Qt.MouseButton.RightButton:
            menu = QMenu(self)
            menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            menu.addAction(tr("Show enclosing module"), self.left.emit)
            menu.addAction(tr("Show whole graph"), self._fit_again)
            menu.addAction(tr("Save chart…"), self.choose_export)
            if node is not None:
                self.menu_wanted.emit(menu, node.part.item)
            menu.popup(event.globalPosition().toPoint())
        elif node is not None:
            self.node_clicked.emit(node.part.item)
        else:
            self._press = event.position() - self._offset

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Move the graph, or light the flow of the node under the pointer."""
        if self._press is not None:
            self._offset, self._is_own_view = event.position() - self._press, True
            self.update()
            return
        node = self._node_at(event.position())
        self._set_hovered(-1 if node is None else node.part.item)

    def leaveEvent(self, event: QEvent) -> None:
        """Show the whole graph alike again."""
        self._set_hovered(-1)
        super().leaveEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._press = None

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Open a node, or on the background the enclosing module."""
        node = self._node_at(event.position())
        if node is None:
            self.left.emit()
        elif node.has_more:
            self.node_opened.emit(node.part.item)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrows select, Return opens, Backspace goes back, F shows everything."""
        items = [node.part.item for node in self._nodes]
        place = items.index(self._chosen) if self._chosen in items else -1
        key = event.key()
        if key in (Qt.Key.Key_Right, Qt.Key.Key_Down) and items:
            self.node_clicked.emit(items[min(place + 1, len(items) - 1)])
        elif key in (Qt.Key.Key_Left, Qt.Key.Key_Up) and items:
            self.node_clicked.emit(items[max(place - 1, 0)])
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and place >= 0 and self._nodes[place].has_more:
            self.node_opened.emit(items[place])
        elif key == Qt.Key.Key_Backspace:
            self.left.emit()
        elif key == Qt.Key.Key_F:
            self._fit_again()
        else:
            super().keyPressEvent(event)

    def _fit_again(self) -> None:
        self.fit()
        self.update()


def _curve(start: QPointF, first: QPointF, second: QPointF, end: QPointF) -> QPainterPath:
    path = QPainterPath(start)
    path.cubicTo(first, second, end)
    return path


def _tip(at: QPointF, back: QPointF) -> QPainterPath:
    """An arrowhead pointing away from ``back``."""
    foot, side = at + back * _ARROW_PX * 1.6, QPointF(back.y(), back.x()) * _ARROW_PX
    path = QPainterPath(at)
    path.lineTo(foot + side)
    path.lineTo(foot - side)
    path.closeSubpath()
    return path
