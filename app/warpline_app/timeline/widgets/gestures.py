"""Mouse and trackpad gestures on the canvas: hover, click, range, pan, wheel, pinch."""

from __future__ import annotations

import math
from enum import Enum, auto

from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent, QNativeGestureEvent, QWheelEvent
from PySide6.QtWidgets import QWidget

from warpline_app.timeline.model.derived_rows import DerivedGroup
from warpline_app.timeline.model.scene import Scene
from warpline_app.timeline.model.why.gaps import gap_at
from warpline_app.timeline.widgets.overlay import Overlay
from warpline_app.timeline.widgets.tooltip import Tooltip

CLICK_PX = 4
EDGE_PX = 5
WHEEL_ZOOM = 1.25
WHEEL_SCROLL_PX = 54
WHEEL_PAN_SHARE = 0.12
PIXELS_PER_E_FOLD = 180.0


class _Mode(Enum):
    NONE = auto()
    PRESSED = auto()
    RANGE = auto()
    PAN = auto()
    EDGE = auto()


class Gestures:
    """Turns mouse events of the canvas into state changes; also places the tooltip."""

    def __init__(self, scene: Scene, overlay: Overlay, tooltip: Tooltip, canvas: QWidget) -> None:
        self._scene = scene
        self._overlay = overlay
        self._tooltip = tooltip
        self._derived: tuple[DerivedGroup, int] | None = None
        """The derived row's event under the pointer."""
        self._canvas = canvas
        self._mode = _Mode.NONE
        self._from = QPointF()
        self._last = QPointF()
        self._fixed_ns = 0
        self.last_y = 0.0

    @property
    def is_active(self) -> bool:
        """Whether a button is down."""
        return self._mode is not _Mode.NONE

    # pressing and dragging

    def press(self, event: QMouseEvent) -> None:
        """Handle a button press."""
        point = event.position()
        self._from = self._last = point
        shifted = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        if event.button() == Qt.MouseButton.MiddleButton or (
            event.button() == Qt.MouseButton.LeftButton and shifted
        ):
            self._mode = _Mode.PAN
            self._canvas.setCursor(Qt.CursorShape.ClosedHandCursor)
        elif event.button() == Qt.MouseButton.LeftButton:
            edge = self._edge_at(point)
            if edge is not None and self._scene.state.range_selection is not None:
                start, stop = self._scene.state.range_selection
                self._fixed_ns = stop if edge == 0 else start
                self._mode = _Mode.EDGE
            else:
                self._fixed_ns = self._scene.scale.to_ns(point.x())
                self._mode = _Mode.PRESSED
        self._tooltip.dismiss()

    def move(self, event: QMouseEvent) -> None:
        """Handle pointer motion."""
        point = event.position()
        self.last_y = point.y()
        state = self._scene.state
        time_ns = self._scene.scale.to_ns(point.x())
        state.set_cursor(min(max(time_ns, state.span[0]), state.span[1]))
        if self._mode is _Mode.PRESSED and abs(point.x() - self._from.x()) > CLICK_PX:
            self._mode = _Mode.RANGE
        if self._mode in {_Mode.RANGE, _Mode.EDGE}:
            state.select_range(self._fixed_ns, time_ns)
        elif self._mode is _Mode.PAN:
            self._pan(point)
        elif self._mode is _Mode.NONE:
            self.hover(point)

    def release(self, event: QMouseEvent) -> None:
        """Handle a button release."""
        mode, self._mode = self._mode, _Mode.NONE
        if mode is _Mode.PRESSED:
            self._click(event.position())
        elif mode is _Mode.PAN:
            self._scene.state.end_gesture()
        self._canvas.unsetCursor()
        self.hover(event.position())

    def double_click(self, event: QMouseEvent) -> None:
        """Zoom to an event."""
        row = self._scene.event_at(event.position().x(), event.position().y())
        if event.button() == Qt.MouseButton.LeftButton and row is not None:
            self._scene.state.select(row)
            self._scene.frame_event(row)

    def _click(self, point: QPointF) -> None:
        tab = self._overlay.tab_at(point)
        if tab is not None:
            self._scene.state.select(tab.event)
            self._scene.reveal_event(tab.event)
            return
        placed = self._scene.placed_at(point.y())
        if placed is not None:
            self._scene.focus_key = placed.row.key
        derived = self._scene.derived_event_at(point.x(), point.y())
        if derived is not None:
            start, stop = self._span_of(*derived)
            self._scene.state.select_range(start, max(stop, start + 1))
            return
        event = self._scene.event_at(point.x(), point.y())
        self._scene.state.select(event)
        if event is None and placed is not None:
            moment = self._scene.scale.to_ns(point.x())
            self._scene.state.select_gap(gap_at(self._scene.capture, placed.row, moment))

    @staticmethod
    def _span_of(group: DerivedGroup, place: int) -> tuple[int, int]:
        assert group.events is not None
        start = int(group.events.start[place])
        return start, start + int(group.events.duration[place])

    def _pan(self, point: QPointF) -> None:
        ratio = self._canvas.devicePixelRatioF()
        dx = round((self._last.x() - point.x()) * ratio)
        dy = round(self._last.y() - point.y())
        if dx:
            moved = self._scene.device_scale(ratio).moved(dx)
            self._scene.state.set_view(moved.start_ns, moved.stop_ns, gesture="drag")
        if dy:
            self._scene.scroll_to(self._scene.scroll_px + dy)
        self._last = QPointF(self._last.x() - dx / ratio, self._last.y() - dy)

    def _edge_at(self, point: QPointF) -> int | None:
        """0 or 1 if the pointer is on an edge of the selected range, else None."""
        selected = self._scene.state.range_selection
        if selected is None:
            return None
        away = [abs(self._scene.scale.to_px(edge) - point.x()) for edge in selected]
        nearest = 0 if away[0] <= away[1] else 1
        return nearest if away[nearest] <= EDGE_PX else None

    def hover(self, point: QPointF) -> None:
        """Update what is under the pointer."""
        state = self._scene.state
        if self._overlay.tab_at(point) is not None:
            self._canvas.setCursor(Qt.CursorShape.PointingHandCursor)
            state.set_hover(None)
            return
        if self._edge_at(point) is not None:
            self._canvas.setCursor(Qt.CursorShape.SplitHCursor)
            state.set_hover(None)
            return
        self._canvas.unsetCursor()
        row = self._scene.event_at(point.x(), point.y())
        at = QPoint(round(point.x()), round(point.y()))
        derived = self._scene.derived_event_at(point.x(), point.y())
        if derived is not None:
            state.set_hover(None)
            self._show_derived(derived, at)
            return
        self.forget_derived()
        if row == state.hover:
            self._tooltip.follow(at)
        else:
            state.set_hover(row)
            if row is not None:
                self._tooltip.show_event(row, at)

    def forget_derived(self) -> None:
        """Hide the tooltip of a derived row's event."""
        if self._derived is not None:
            self._derived = None
            self._tooltip.dismiss()

    def _show_derived(self, derived: tuple[DerivedGroup, int], at: QPoint) -> None:
        if self._derived == derived:
            self._tooltip.follow(at)
        else:
            self._derived = derived
            group, place = derived
            self._tooltip.show_text(group.text(place, self._scene.state.origin_ns), at)

    # wheel and trackpad

    def wheel(self, event: QWheelEvent) -> None:
        """Scroll; with Shift pan, with Ctrl zoom at the pointer. Trackpads send pixels, wheels send notches."""
        pixels = event.pixelDelta()
        angle = QPointF(event.angleDelta().x() / 120.0, event.angleDelta().y() / 120.0)
        x = event.position().x()
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            if not pixels.isNull():
                self._scene.zoom(math.exp(-pixels.y() / PIXELS_PER_E_FOLD), x, "wheel")
            else:
                # Some platforms rotate a wheel event with a modifier by 90 degrees.
                self._scene.zoom(WHEEL_ZOOM ** -(angle.y() or angle.x()), x, "wheel")
        elif event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            way = pixels.y() or pixels.x() if not pixels.isNull() else 0
            if not way:
                way = round((angle.y() or angle.x()) * self._scene.width_px * WHEEL_PAN_SHARE)
            self._scene.pan(-way, "wheel", self._canvas.devicePixelRatioF())
        elif not pixels.isNull():
            if pixels.x():
                self._scene.pan(-pixels.x(), "wheel", self._canvas.devicePixelRatioF())
            if pixels.y():
                self._scene.scroll_to(self._scene.scroll_px - pixels.y())
        else:
            if angle.x():
                way = round(angle.x() * self._scene.width_px * WHEEL_PAN_SHARE)
                self._scene.pan(-way, "wheel", self._canvas.devicePixelRatioF())
            if angle.y():
                self._scene.scroll_to(self._scene.scroll_px - round(angle.y() * WHEEL_SCROLL_PX))
        event.accept()

    def native(self, event: QNativeGestureEvent) -> bool:
        """Pinch to zoom at the pointer; double-tap with two fingers to show everything. True when handled."""
        kind = event.gestureType()
        if kind == Qt.NativeGestureType.ZoomNativeGesture:
            self._scene.zoom(1.0 / max(0.2, 1.0 + event.value()), event.position().x(), "pinch")
        elif kind == Qt.NativeGestureType.SmartZoomNativeGesture:
            self._scene.state.show_all()
        elif kind == Qt.NativeGestureType.EndNativeGesture:
            self._scene.state.end_gesture()
        else:
            return False
        return True
