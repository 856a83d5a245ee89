"""The canvas: one widget that draws all lanes and passes on gestures."""

from __future__ import annotations

import time

from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, Qt, QTimer, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QCursor,
    QMouseEvent,
    QNativeGestureEvent,
    QPainter,
    QPaintEvent,
    QRegion,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QWidget

from warpline.i18n import tr
from warpline_app.look.painting import contained, painting, report_once
from warpline_app.look.theme import Theme
from warpline_app.timeline.draw.codes import ColorTable
from warpline_app.timeline.draw.compositor import Frame
from warpline_app.timeline.draw.emphasis import EVERYTHING, Emphasis
from warpline_app.timeline.draw.renderer import Renderer, Viewport
from warpline_app.timeline.draw.shapes import paint_frame
from warpline_app.timeline.model.layout import PlacedRow
from warpline_app.timeline.model.scene import Scene
from warpline_app.timeline.widgets.gestures import Gestures
from warpline_app.timeline.widgets.overlay import Overlay
from warpline_app.timeline.widgets.tooltip import Tooltip

SETTLE_MS = 90
SLOW_FRAME_S = 0.006
"""Zoom frames slower than this are drawn with half the columns until the view rests."""


class Canvas(QWidget):
    """All lanes of one timeline.

    A frame is rendered on change and cached; pointer and overlay are painted over it. While the view moves, frames may
    be coarse; an exact one follows after a short rest, and ``settled`` is emitted.
    """

    settled = Signal()
    menu_wanted = Signal(QPoint, object)
    """global position, and the time in ns under it"""
    frame_drawn = Signal()

    def __init__(self, scene: Scene, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.scene = scene
        self.theme = theme
        self.overlay = Overlay(scene, theme)
        self.curves_wanted: tuple[PlacedRow, ...] = ()
        self.last_frame_s = 0.0
        self.slow_frame_s = SLOW_FRAME_S
        """lower when several canvases move together and share a frame's time"""
        self._emphasis: Emphasis = EVERYTHING
        self._renderer: Renderer | None = None
        self._frame: Frame | None = None
        self._view: Viewport | None = None
        self._is_kept = False
        self._dirty = True
        self._labels_left = False
        self._exact = False
        self._last_length = 0
        self._slow_full = 0.0
        self._pointer_x: float | None = None
        self._settle = QTimer(self)
        self._settle.setSingleShot(True)
        self._settle.setInterval(SETTLE_MS)
        self._settle.timeout.connect(self._rest)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setMinimumSize(80, 60)
        self.setAccessibleName(tr("Timeline", "timeline"))
        self.tooltip = Tooltip(scene, theme, self)
        self.gestures = Gestures(scene, self.overlay, self.tooltip, self)
        state = scene.state
        state.view_changed.connect(self._time_moves_below)
        for signal in (state.view_changed, scene.layout_changed, scene.scrolled):
            signal.connect(self.invalidate)
        for signal in (
            state.range_selection_changed,
            state.notes_changed,
            state.lit_changed,
            state.gap_changed,
        ):
            signal.connect(self.repaint_overlay)
        state.arrows_changed.connect(self._arrows_changed)
        state.selection_changed.connect(self._selection_changed)
        state.hover_changed.connect(self._hover_changed)
        state.origin_changed.connect(self.invalidate)

    # frame

    @property
    def renderer(self) -> Renderer:
        """Draws frames at this screen's resolution."""
        ratio = self.scene.ratio_of(self)
        if self._renderer is None or self._renderer.ratio != ratio:
            self._make_renderer(ratio)
        assert self._renderer is not None
        return self._renderer

    def _make_renderer(self, ratio: float, table: ColorTable | None = None) -> None:
        self._renderer = Renderer(self.scene.capture, self.theme, ratio, table)
        self._renderer.set_emphasis(self._emphasis)
        self.overlay.text_spans = self._renderer.text_spans

    @property
    def is_settled(self) -> bool:
        """Whether the frame on screen is exact and complete."""
        return not (self._dirty or self._labels_left or self._settle.isActive())

    def adopt(self) -> None:
        """Draw the scene's new capture; the frame on screen stays until it is drawn."""
        former, self._renderer = self._renderer, None
        if former is not None:
            if former.ratio == self.scene.ratio_of(self):
                self._make_renderer(former.ratio, former.table)
            self.renderer.labels.take_texts(former.labels)
            self.renderer.curves.take_over(former.curves)
        self._hover_changed(None)
        self.overlay.set_selection(self.scene.state.selection)
        self.invalidate()
        self._exact = True

    def set_theme(self, theme: Theme) -> None:
        """Set the colours."""
        self.theme = theme
        self.overlay.theme = theme
        self.tooltip.set_theme(theme)
        curves = self._renderer.curves if self._renderer is not None else None
        self._renderer = None
        if curves is not None:
            self.renderer.curves = curves
        self.invalidate()

    def set_emphasis(self, emphasis: Emphasis) -> None:
        """Dim events that do not pass the filter."""
        self._emphasis = emphasis
        self.renderer.set_emphasis(emphasis)
        self.invalidate()

    def invalidate(self, *_: object) -> None:
        """Redraw at the next paint event, and exactly once the view rests."""
        self._dirty = True
        self._settle.start()
        self.update()

    def redraw(self) -> None:
        """Redraw the same view (a curve is ready), without starting idle work again."""
        self._dirty = True
        self._exact = True
        self.update()

    def shut_down(self) -> None:
        """Stop drawing: the file will be closed."""
        self._settle.stop()
        self.tooltip.dismiss()
        self._dirty = self._labels_left = False
        self.hide()

    def repaint_overlay(self, *_: object) -> None:
        """Repaint the overlay over the cached frame."""
        self.update()

    def _rest(self) -> None:
        if not self.gestures.is_active:
            self.scene.fit_levels()
        self.overlay.find_all_links()
        self.overlay.find_related()
        self._dirty = True
        self._exact = True
        if self.isVisible():
            self.update()
        else:
            self._dirty = self._labels_left = False
        self.settled.emit()

    def _selection_changed(self, row: int | None) -> None:
        self.overlay.set_selection(row)
        self._settle.start()
        self.update()

    def _hover_changed(self, row: int | None) -> None:
        self.overlay.set_hover(row)
        self.tooltip.show_event(row, self.mapFromGlobal(QCursor.pos()) if row is not None else QPoint())
        self.update()

    def _arrows_changed(self, _mode: str) -> None:
        self.overlay.find_all_links()
        self.update()

    # drawing

    def render_frame(self) -> Frame:
        """The frame of the current view, drawn if needed."""
        frame, size, view = self._frame, self._size_px(), self._next_view()
        if frame is None or (frame.width, frame.height) != size:
            frame = self._frame = Frame(*size, view.ratio)
            frame.image.setDevicePixelRatio(view.ratio)
            self._is_kept = False
        if not self._is_kept:
            self._render(frame, view)
        elif self._labels_left:
            self._label_later(self.renderer.label_again())
        return frame

    def _render_below(self, event: QPaintEvent) -> bool:
        """Draw a coarse frame of a zoom directly on screen, if possible, because it is shown only once."""
        view = self._next_view()
        if self._is_kept or view.bin_px == 1 or event.region() != QRegion(self.rect()):
            return False
        with painting(self) as painter:
            frame = Frame.below(painter, *self._size_px(), view.ratio)
            if frame is not None:
                self._render(frame, view)
        return frame is not None

    def _size_px(self) -> tuple[int, int]:
        ratio = self.scene.ratio_of(self)
        return max(1, round(self.width() * ratio)), max(1, round(self.height() * ratio))

    def _next_view(self) -> Viewport:
        """The next viewport, changed if anything changed."""
        scene, ratio = self.scene, self.scene.ratio_of(self)
        if self._view is not None and self._view.ratio == ratio and not self._dirty:
            return self._view
        if (scene.width_px, scene.height_px) != (self.width(), self.height()):
            scene.resize(self.width(), self.height())
        length = scene.state.view[1] - scene.state.view[0]
        zooming = length != self._last_length and not self._exact
        self._last_length = length
        self._view = Viewport(
            scale=scene.device_scale(ratio),
            scroll_px=scene.scroll_px,
            height_px=scene.height_px,
            ratio=ratio,
            ticks_ns=scene.ticks().times,
            bin_px=2 if zooming and self._slow_full > self.slow_frame_s else 1,
            exact=self._exact,
        )
        self._dirty = self._exact = self._is_kept = False
        return self._view

    def _render(self, frame: Frame, view: Viewport) -> None:
        renderer = self.renderer
        begin = time.perf_counter()
        drawn = renderer.draw(frame, self.scene.layout, view)
        self.last_frame_s = time.perf_counter() - begin
        if renderer.cache.shift_px is None and view.bin_px == 1:
            self._slow_full = self.last_frame_s
        self.curves_wanted = drawn.curves_wanted
        self._is_kept = frame is self._frame
        self._label_later(drawn.labels_left)

    def _label_later(self, some_left: bool) -> None:
        """Add new names to the atlas a few at a time, so that no frame is late."""
        self._labels_left = some_left
        if some_left:
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the frame and the overlay."""
        try:
            if not self._render_below(event):
                self.render_frame()
        except (
            Exception
        ) as error:  # must not escape a virtual function of Qt: report it and keep the old frame
            self._is_kept = True
            report_once(self, error)
            return
        self._paint(event)
        self.frame_drawn.emit()

    @contained
    def _paint(self, painter: QPainter, event: QPaintEvent) -> None:
        if self._frame is not None and self._is_kept:
            paint_frame(painter, self._frame)
        self.renderer.paint_labels(painter)
        self.overlay.paint(painter)
        if self._pointer_x is not None:
            self.overlay.paint_pointer(painter, self._pointer_x)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Tell the scene the new size."""
        self.scene.resize(self.width(), self.height())
        self.invalidate()

    # pointer

    def _time_moves_below(self, *_view: object) -> None:
        """The view moves by keys while the pointer rests: update the time under the pointer."""
        state = self.scene.state
        if self._pointer_x is not None and state.cursor_ns is not None:
            time_ns = self.scene.scale.to_ns(self._pointer_x)
            state.set_cursor(min(max(time_ns, state.span[0]), state.span[1]))

    def set_pointer(self, x: float | None) -> None:
        """Move the pointer line by repainting two narrow strips."""
        before, self._pointer_x = self._pointer_x, x
        for position in (before, x):
            if position is not None:
                self.update(QRect(round(position) - 2, 0, 5, self.height()))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Start a gesture."""
        self.gestures.press(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Continue a gesture, or update what is under the pointer."""
        self.set_pointer(event.position().x())
        self.gestures.move(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """End a gesture."""
        self.gestures.release(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Zoom to the event under the pointer."""
        self.gestures.double_click(event)

    def leaveEvent(self, event: QEvent) -> None:
        """The pointer left the canvas."""
        self.set_pointer(None)
        self.scene.state.set_hover(None)
        self.gestures.forget_derived()
        self.scene.state.set_cursor(None)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Scroll, pan or zoom."""
        self.gestures.wheel(event)

    def event(self, event: QEvent) -> bool:
        """Handle pinching on a trackpad."""
        if isinstance(event, QNativeGestureEvent) and self.gestures.native(event):
            return True
        return super().event(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Ask the view for a menu."""
        time_ns = self.scene.scale.to_ns(event.pos().x())
        self.menu_wanted.emit(event.globalPos(), time_ns)

    def pointer_position(self) -> QPointF | None:
        """The pointer's position, None outside the canvas."""
        if self._pointer_x is None:
            return None
        return QPointF(self._pointer_x, self.gestures.last_y)
