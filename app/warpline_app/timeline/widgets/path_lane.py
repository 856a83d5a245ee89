"""The critical path as a lane above the rows, segment by segment."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QRectF, Qt
from PySide6.QtGui import QColor, QHelpEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QToolTip, QWidget

from warpline.i18n import tr, translated
from warpline.model import format_duration
from warpline_app.look.painting import contained, report_once, saved
from warpline_app.look.plain import plain
from warpline_app.look.theme import Theme, luminance, to_rgb, ui_font
from warpline_app.open.background import Job
from warpline_app.open.held_capture import HeldCapture
from warpline_app.timeline.draw.cause_look import CauseLook, cause_looks, fill_cause
from warpline_app.timeline.model.scene import Scene
from warpline_app.timeline.model.why.path import PathSegments, path_of

if TYPE_CHECKING:
    from warpline.storage import Capture

HEIGHT = 28
_AIR = 5
_TEXT_FROM_PX = 40


class PathLane(QWidget):
    """Computed in the background when first shown. A click on a segment goes to its event."""

    def __init__(self, scene: Scene, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.scene = scene
        self.theme = theme
        self.segments: PathSegments | None = None
        self.missing = ""
        self.title_px = 0
        self._held = HeldCapture(scene.document)
        self._job: Job | None = None
        self._is_known = False
        self._of: str | None = None
        self._hovered = -1
        self._is_shut = False
        self.setFixedHeight(HEIGHT)
        self.setMouseTracking(True)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setAccessibleName(tr("Critical path", "timeline"))
        self.setAccessibleDescription(tr("The chain of work and waits that set the total time"))
        self.hide()
        for signal in (scene.state.view_changed, scene.state.selection_changed, scene.resized):
            signal.connect(self._changed)
        scene.state.track_selection_changed.connect(self._follow)

    def _changed(self, *_: object) -> None:
        if self.isVisible():
            self.update()

    def set_theme(self, theme: Theme) -> None:
        """Set the colours."""
        self.theme = theme
        self.update()

    @property
    def is_busy(self) -> bool:
        """Whether the path is being computed."""
        return self._job is not None

    def set_wanted(self, on: bool) -> None:
        """Show or hide the lane; hiding drops a running computation."""
        self.setVisible(on)
        if on:
            self._begin()
        elif self._job is not None:
            self._job.cancel()

    def _follow(self, _key: object = None) -> None:
        """Show the path of the selected row; the old one stays until it is computed."""
        if self._of == self._wanted():
            return
        self._is_known = False
        if self._job is not None:
            self._job.cancel()
        elif self.isVisible():
            self._begin()

    def _wanted(self) -> str | None:
        """The URI of the selected row's track, or None."""
        key = self.scene.state.track_selection
        uri = None if key is None else key.partition("#")[0]
        return uri if uri in {track.uri for track in self.scene.capture.tracks} else None

    def _begin(self) -> None:
        if self._is_known and self._of != self._wanted():
            self._is_known = False
        if not self._is_known and self._job is None:
            capture, of = self.scene.capture, self._wanted()
            self._of = of
            document = self.scene.document
            document.keep(capture)
            self._job = Job(lambda _progress, is_cancelled: path_of(capture, of, is_cancelled), self)
            self._job.finished.connect(partial(document.release, capture))
            self._job.succeeded.connect(partial(self._show, capture))
            self._job.failed.connect(partial(self._failed, capture))
            self._job.cancelled.connect(self._dropped)
            self._job.launch()

    def _dropped(self) -> None:
        self._ended()
        if self.isVisible() and not self._is_shut:
            self._begin()

    def _show(self, capture: Capture, result: PathSegments | str) -> None:
        self._held.hold(capture)
        self.missing = result if isinstance(result, str) else ""
        self.segments = None if isinstance(result, str) else result
        self._found_in(capture)

    def _failed(self, capture: Capture, error: Exception) -> None:
        self.missing = str(error) or type(error).__name__
        report_once(self, error)
        self._found_in(capture)

    def _found_in(self, capture: Capture) -> None:
        """Go on with the scene's capture if it was replaced meanwhile."""
        self._is_known = capture is self.scene.capture
        self._ended()
        if self.isVisible():
            self._begin()

    def _ended(self) -> None:
        self._job = None
        self.update()

    def adopt(self) -> None:
        """Compute the path of the scene's new capture, if it is shown; the old one stays until then.

        While a recording runs, a computation ends first: it may take longer than until the next capture.
        """
        self._is_known = False
        if self._job is not None:
            if self.scene.document.live_edge is None:
                self._job.cancel()
        elif self.isVisible():
            self._begin()

    def shut_down(self) -> None:
        """Stop: the file will be closed."""
        self._is_shut = True
        if self._job is not None:
            self._job.cancel()
        self.segments = None
        self._held.hold(None)

    # painting

    @contained
    def paintEvent(self, painter: QPainter, event: QPaintEvent) -> None:
        """Paint the title in the header column, the segments over the canvas."""
        theme, lane = self.theme, QRectF(self.title_px, 0, self.scene.width_px, HEIGHT)
        painter.fillRect(self.rect(), theme.color("header"))
        painter.fillRect(lane, theme.color("canvas"))
        painter.setFont(ui_font(12, bold=True))
        painter.setPen(theme.color("text"))
        title = QRectF(14, 0, self.title_px - 20, HEIGHT)
        name = tr("Critical path", "timeline")
        painter.drawText(title, int(Qt.AlignmentFlag.AlignVCenter), name)
        if self.segments is not None:
            rest = title.adjusted(painter.fontMetrics().horizontalAdvance(name) + 8, 0, 0, 0)
            painter.setFont(ui_font(11))
            painter.setPen(theme.color("muted"))
            whose = painter.fontMetrics().elidedText(
                translated(self.segments.title), Qt.TextElideMode.ElideRight, int(rest.width())
            )
            painter.drawText(rest, int(Qt.AlignmentFlag.AlignVCenter), whose)
        if self.segments is None:
            text = self.missing or tr("Computing the critical path…", "timeline")
            painter.setFont(ui_font(11))
            painter.setPen(theme.color("muted"))
            painter.drawText(lane.adjusted(8, 0, -8, 0), int(Qt.AlignmentFlag.AlignVCenter), text)
        else:
            with saved(painter):
                painter.setClipRect(lane)
                painter.translate(self.title_px, 0)
                self._paint_segments(painter, self.segments)
        painter.fillRect(QRectF(0, HEIGHT - 1, self.width(), 1), theme.color("hairline"))

    def _paint_segments(self, painter: QPainter, segments: PathSegments) -> None:
        runs = segments.runs(self.scene.scale).tolist()
        keys = tuple(segments.key(segment) for _first, _last, segment in runs)
        looks = dict(zip(keys, cause_looks(keys, self.theme), strict=True))
        selected = self._held.row_then(self.scene.state.selection)
        painter.setFont(ui_font(11))
        for (first, last, segment), key in zip(runs, keys, strict=True):
            box = QRectF(first, _AIR, last - first, HEIGHT - 2 * _AIR - 1)
            fill_cause(painter, box, looks[key], self.theme)
            if last - first > 2:
                painter.fillRect(QRectF(first, _AIR, 1, box.height()), QColor(0, 0, 0, 70))
            if last - first >= _TEXT_FROM_PX:
                self._paint_text(painter, box, looks[key], segments.text(segment))
            is_selected = selected is not None and int(segments.row[segment]) == selected
            if is_selected or segment == self._hovered:
                painter.setPen(self.theme.color("selection" if is_selected else "text"))
                painter.drawRect(box.adjusted(0, 0, -1, -1))

    def _paint_text(self, painter: QPainter, box: QRectF, look: CauseLook, text: str) -> None:
        metrics = painter.fontMetrics()
        shown = metrics.elidedText(text, Qt.TextElideMode.ElideRight, int(box.width()) - 10)
        if look.is_hatched:
            quiet = QRectF(
                box.left() + 3, box.top() + 2, metrics.horizontalAdvance(shown) + 6, box.height() - 4
            )
            painter.fillRect(quiet, self.theme.color("canvas", 215))
            painter.setPen(self.theme.color("text"))
        else:
            is_light = luminance(to_rgb(look.color)) > 0.21
            painter.setPen(QColor(self.theme.ink_dark if is_light else self.theme.ink_light))
        painter.drawText(box.adjusted(6, 0, -4, 0), int(Qt.AlignmentFlag.AlignVCenter), shown)

    # mouse

    def segment_at(self, x: float) -> int:
        """The segment at a position of the widget, −1 for none."""
        if self.segments is None or x < self.title_px:
            return -1
        return self.segments.at(self.scene.scale.to_ns(x - self.title_px))

    def tooltip_of(self, segment: int) -> str:
        """Cause, length, owner and place, one per line."""
        assert self.segments is not None
        segments = self.segments
        length = format_duration(int(segments.stop[segment] - segments.start[segment]))
        lines = (
            f"{translated(segments.cause[segment] or '')} · {length}",
            segments.track[segment],
            segments.place[segment],
        )
        return "\n".join(translated(line) for line in lines if line)

    def event(self, event: QEvent) -> bool:
        """Show a segment's tooltip."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            segment = self.segment_at(event.pos().x())
            if segment >= 0:
                QToolTip.showText(event.globalPos(), plain(self.tooltip_of(segment)), self)
            else:
                QToolTip.hideText()
            return True
        return super().event(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Frame the segment under the pointer."""
        segment = self.segment_at(event.position().x())
        if segment != self._hovered:
            self._hovered = segment
            leads = segment >= 0
            self.setCursor(Qt.CursorShape.PointingHandCursor if leads else Qt.CursorShape.ArrowCursor)
            self.update()

    def leaveEvent(self, event: QEvent) -> None:
        """Remove the frame."""
        self._hovered = -1
        self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Go to the event of a segment."""
        segment = self.segment_at(event.position().x())
        if self.segments is None or segment < 0 or event.button() != Qt.MouseButton.LeftButton:
            return
        row = int(self.segments.row[segment])
        now = self._held.row_now(row) if row >= 0 else None
        if now is not None:
            self.scene.state.reveal(now)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Zoom to a segment."""
        segment = self.segment_at(event.position().x())
        if self.segments is not None and segment >= 0:
            self.scene.show_range(int(self.segments.start[segment]), int(self.segments.stop[segment]), 0.5)
