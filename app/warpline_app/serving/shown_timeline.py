"""The timeline that pages look at: one widget that no screen shows, set to each page's view before it is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QPoint, QRect
from PySide6.QtWidgets import QWidget

from warpline_app.look.appearance import appearance
from warpline_app.open.live_document import FOLLOWED_NS
from warpline_app.panels.findings.evidence import lit_of
from warpline_app.serving.png import png_bytes
from warpline_app.serving.view_request import ViewRequest
from warpline_app.state.timeline_state import Filter
from warpline_app.timeline.model.event_text import EventText, describe_event
from warpline_app.timeline.widgets.view import HEADER_WIDTH, TimelineView

if TYPE_CHECKING:
    from warpline.analysis.findings.finding import Finding
    from warpline_app.open.document import Document

_NARROW_PX = 900
_NARROW_HEADER_PX = 170


class ShownTimeline:
    """Draws views of a document's capture and tells what is where in them.

    Every request carries its whole view, so pages with different ones take turns. Rows and times of answers count like
    those of `ViewRequest`.
    """

    def __init__(self, document: Document) -> None:
        self.document = document
        self.generation = 0
        """Counts the captures of a running recording."""
        self.findings: tuple[Finding, ...] = ()
        """Findings whose evidence can be highlighted, in the order in which pages list them."""
        self._finding = -1
        self.view = TimelineView(document)
        self.view.scroll_bar.hide()
        self.view.resize(1200, 700)
        self.view.show()

    @property
    def is_idle(self) -> bool:
        """Whether nothing is left to be drawn of the present view."""
        return self.view.is_idle

    def set_findings(self, findings: tuple[Finding, ...]) -> None:
        """Take other findings; a highlight of the former ones ends."""
        if findings is not self.findings:
            self.findings = findings
            self._light(-1)

    def adopt(self) -> None:
        """The document has another capture, which its view shows already."""
        self.generation += 1
        self._finding = -1

    def set_view(self, request: ViewRequest) -> None:
        """Show what a request asks for."""
        view, state = self.view, self.document.state
        appearance().choose(request.theme)
        if view.scene.pixel_ratio != request.ratio:
            # Curves are the same at every resolution: without them, rows would be empty until they are computed again.
            curves = view.canvas.renderer.curves
            view.scene.pixel_ratio = request.ratio
            view.canvas.renderer.curves = curves
            view.canvas.invalidate()
        view.set_header_width(HEADER_WIDTH if request.width_px >= _NARROW_PX else _NARROW_HEADER_PX)
        size = (request.width_px, request.height_px)
        if (view.width(), view.height()) != size:
            view.resize(*size)
            _activate(view)
        with state.unrecorded():
            if state.filter.names != request.names:
                state.set_filter(Filter(names=request.names))
            state.set_all_expanded(dict(request.folds))
            self._set_time(request)
            if request.range_ns is None:
                state.select_range(None)
            else:
                first, last = request.range_ns
                state.select_range(first + state.span[0], max(first + 1, last) + state.span[0])
            if request.generation == self.generation:
                known = 0 <= request.selection < len(self.document.capture.events)
                state.select(request.selection if known else None)
            self._light(request.finding)
        view.scene.scroll_to(request.top_px)

    def _set_time(self, request: ViewRequest) -> None:
        state = self.document.state
        low, high = state.span
        length = request.stop_ns - request.start_ns
        if length <= 0 and self.document.live_edge is not None:
            state.set_view(max(low, high - FOLLOWED_NS), high)
        elif length <= 0:
            state.show_all()
        elif request.follows:
            state.set_view(high - length, high)
        else:
            state.set_view(low + request.start_ns, low + request.stop_ns)

    def _light(self, number: int) -> None:
        known = number if 0 <= number < len(self.findings) else -1
        if known != self._finding:
            self._finding = known
            capture = self.document.capture
            self.document.state.set_lit(None if known < 0 else lit_of(capture, self.findings[known]))

    # answers

    def picture(self) -> tuple[dict[str, Any], bytes]:
        """What is shown: its measures, and a PNG file of it."""
        image = self.view.picture()
        return {**self.measures(), "is_exact": self.is_idle}, png_bytes(image)

    def measures(self) -> dict[str, Any]:
        """Where everything is in the picture, in logical pixels."""
        view, scene, state = self.view, self.view.scene, self.document.state
        low, high = state.span
        edge = self.document.live_edge
        return {
            "generation": self.generation,
            "view": [state.view[0] - low, state.view[1] - low],
            "span_ns": high - low,
            "activity": [state.activity[0] - low, state.activity[1] - low],
            "origin_ns": state.origin_ns - low,
            "size": [view.width(), view.height()],
            "canvas": _rectangle(view.canvas, view),
            "header": _rectangle(view.header, view),
            "ruler": _rectangle(view.ruler, view),
            "overview": _rectangle(view.overview, view),
            "top": scene.scroll_px,
            "most_top": scene.max_scroll_px,
            "content_px": scene.layout.height,
            "pinned_px": scene.layout.pinned_height,
            "rows": self._rows(),
            "selection": None if state.selection is None else self.event(state.selection),
            "live": None
            if edge is None
            else {"head_ns": edge.head_ns - low, "settled_ns": edge.settled_ns - low},
        }

    def _rows(self) -> list[dict[str, Any]]:
        scene = self.view.scene
        top = scene.scroll_px
        visible = scene.layout.between(top, top + scene.height_px - scene.layout.pinned_height)
        return [
            {
                "key": placed.row.key,
                "title": placed.row.title,
                "top": scene.top_of(placed),
                "height": placed.height,
                "depth": placed.depth,
                "is_open": placed.is_open if placed.row.is_foldable else None,
            }
            for placed in (*scene.layout.pinned, *visible)
        ]

    def event(self, row: int) -> dict[str, Any]:
        """What a tooltip says of an event, and when it was."""
        capture, state = self.document.capture, self.document.state
        start, stop = capture.event_span(row)
        text = describe_event(capture, row, state.origin_ns)
        return {"row": row, "times": [start - state.span[0], stop - state.span[0]], **_texts(text)}

    def event_at(self, x_px: float, y_px: float) -> dict[str, Any] | None:
        """The event at a point of the canvas; None where there is none."""
        scene, state = self.view.scene, self.document.state
        row = scene.event_at(x_px, y_px)
        if row is not None:
            return self.event(row)
        derived = scene.derived_event_at(x_px, y_px)
        if derived is None or derived[0].events is None:
            return None
        group, place = derived
        assert group.events is not None
        start = int(group.events.start[place]) - state.span[0]
        stop = start + int(group.events.duration[place])
        return {"row": -1, "times": [start, stop], **_texts(group.text(place, state.origin_ns))}

    def neighbour(self, row: int, direction: int) -> dict[str, Any] | None:
        """The next (1) or previous (−1) event in an event's lane."""
        capture = self.document.capture
        if not 0 <= row < len(capture.events):
            return None
        other = capture.next_event(row) if direction > 0 else capture.previous_event(row)
        return None if other is None else self.event(other)

    def close(self) -> None:
        """Stop drawing; the caller closes the document."""
        self.view.shut_down()
        self.view.hide()
        self.view.deleteLater()


def _texts(text: EventText) -> dict[str, Any]:
    return {"title": text.title[:2_000], "lines": [line[:2_000] for line in text.lines]}


def _rectangle(widget: QWidget, view: TimelineView) -> list[int]:
    place = QRect(widget.mapTo(view, QPoint(0, 0)), widget.size())
    return [place.x(), place.y(), place.width(), place.height()]


def _activate(view: TimelineView) -> None:
    layout = view.layout()
    if layout is not None:
        layout.activate()
