"""Renders pictures of captures without a display, with the window's own widgets."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from warpline.i18n import tr
from warpline.interchange.export.output_files import replacing
from warpline.model.errors import ExportError, UsageError
from warpline.model.notes import Note
from warpline.model.track_patterns import match_tracks, outermost_tracks
from warpline.platform.systems import pictures_need_offscreen

if TYPE_CHECKING:
    from PySide6.QtGui import QImage
    from PySide6.QtWidgets import QApplication

    from warpline.storage import Capture
    from warpline.storage.columns.derived_events import ShownRow
    from warpline_app.open.document import Document
    from warpline_app.state.timeline_state import TimelineState
    from warpline_app.timeline.widgets.view import TimelineView

IDLE_TIMEOUT_MS = 60_000
DEFAULT_SIZE = (1600, 900)
MAX_PIXELS = 1 << 28


@dataclass(frozen=True)
class Picture:
    """A picture to draw: range in ns since the start of the capture (None: no limit), tracks by URI patterns, size.

    ``size`` is in logical pixels, each drawn as ``scale`` × ``scale``.
    """

    range_ns: tuple[int | None, int | None] = (None, None)
    tracks: tuple[str, ...] = ()
    size: tuple[int, int] = DEFAULT_SIZE
    scale: float = 1.0
    theme: str = "dark"
    notes: tuple[Note, ...] = ()
    rows: tuple[ShownRow, ...] = ()


def require_widgets(scale: float = 1.0) -> None:
    """Ensure an application that can draw: the process's own, else one that needs no display.

    Raises ExportError when the process's application has no widgets, where Qt would abort, or when there is no font.
    """
    from PySide6.QtWidgets import QApplication

    existing = QApplication.instance()
    if existing is None:
        prepare_offscreen(scale)
    elif not isinstance(existing, QApplication):
        raise ExportError(
            tr(
                "this program has a {kind}, which cannot draw; make a QApplication instead",
                kind=type(existing).__name__,
            )
        )


def prepare_offscreen(scale: float) -> QApplication:
    """Create an application that needs no display; must be the first in this process.

    Outside Linux it uses the system's platform, since the offscreen one finds no fonts there.

    Raises ExportError when the system has no font.
    """
    if pictures_need_offscreen():
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
    os.environ["QT_SCALE_FACTOR"] = f"{scale:g}"
    os.environ["QT_LOGGING_RULES"] = "*.debug=false;qt.qpa.*=false"
    from PySide6.QtCore import QtMsgType, qInstallMessageHandler

    def message(kind: QtMsgType, _context: object, text: str) -> None:
        # The offscreen platform warns about everything it lacks.
        if kind is not QtMsgType.QtDebugMsg and not text.startswith("This plugin does not support"):
            print(text, file=sys.stderr)

    qInstallMessageHandler(message)
    from warpline_app.look.application import make_application

    application = make_application("system", "system")
    from PySide6.QtGui import QFontMetricsF

    metrics = QFontMetricsF(application.font())
    if metrics.horizontalAdvance("iii") == metrics.horizontalAdvance("WWW"):
        raise ExportError(tr("no font found; install one, for example the package fonts-dejavu-core"))
    return application


def picture_range(capture: Capture, wanted: tuple[int | None, int | None]) -> tuple[int, int]:
    """Convert a range since the start of the capture to capture times; without one, everything that happens.

    Raises UsageError when it lies outside.
    """
    if wanted == (None, None):
        return capture.activity.range_ns
    low, high = capture.span
    start = low if wanted[0] is None else low + wanted[0]
    stop = high if wanted[1] is None else low + wanted[1]
    if start >= max(high, low + 1) or stop <= start:
        from warpline.model.times import format_duration

        raise UsageError(
            tr(
                "{path}: no data in that range; the capture lasts {length}",
                path=capture.path,
                length=format_duration(capture.duration_ns),
            )
        )
    return start, min(stop, max(high, low + 1))


def document_of(
    capture: Capture, picture: Picture, title: str, prepare: Callable[[TimelineState], None] | None = None
) -> Document:
    """A document with the capture's state set up for the picture.

    Raises UsageError for a range or tracks outside the capture, and for a picture that is too large.
    """
    from warpline_app.open.document import Document

    width, height = picture.size
    if width * height * picture.scale**2 > MAX_PIXELS:
        raise UsageError(tr("picture size {width} × {height} is too large", width=width, height=height))
    start, stop = picture_range(capture, picture.range_ns)
    chosen = match_tracks(capture.tracks, picture.tracks)
    tracks = tuple(track.uri for track in outermost_tracks(capture.tracks, chosen or frozenset()))
    document = Document(capture, title)
    document.state.set_view(start, stop)
    if tracks:
        document.state.change_filter(only=tracks)
    document.state.set_notes(picture.notes)
    document.derived.show_all(picture.rows)
    if prepare is not None:
        prepare(document.state)
    return document


def render(
    capture: Capture,
    picture: Picture,
    title: str = "",
    *,
    paint: Callable[[TimelineView], None] | None = None,
    prepare: Callable[[TimelineState], None] | None = None,
) -> QImage:
    """Draw a capture; call `prepare_offscreen` first. The caller closes the capture.

    ``paint`` gets the finished timeline to paint it on something other than an image. ``prepare`` gets the state before
    drawing, to select, pin, order or filter.

    Raises UsageError like `document_of`, and ExportError when drawing does not finish.
    """
    from warpline_app.look.appearance import appearance
    from warpline_app.timeline.widgets.view import TimelineView

    document = document_of(capture, picture, title, prepare)
    appearance().choose(picture.theme)
    view = TimelineView(document)
    view.resize(*picture.size)
    view.show()
    wait_until(lambda: view.is_idle)
    prepare_picture(view)
    wait_until(lambda: view.is_idle)
    if paint is not None:
        paint(view)
    image = view.picture()
    view.shut_down()
    view.hide()
    view.deleteLater()
    return image


def prepare_picture(view: TimelineView) -> None:
    """Hide what a picture does not need: the scroll bar, and a last row that would be cut off."""
    from PySide6.QtWidgets import QGridLayout

    from warpline_app.timeline.widgets.view import REST_ROW

    view.scroll_bar.hide()
    grid = view.layout()
    assert isinstance(grid, QGridLayout)
    hidden = grid.rowMinimumHeight(REST_ROW)
    grid.setRowMinimumHeight(REST_ROW, _cut_row_px(view, view.canvas.height() + hidden))


def whole_rows_px(view: TimelineView) -> int:
    """The height at which a picture of the current view ends with a whole row."""
    return view.height() - _cut_row_px(view, view.canvas.height())


def _cut_row_px(view: TimelineView, canvas_px: int) -> int:
    """Height of the last row's part that a canvas shows; 0 if that fills most of it."""
    scene = view.scene
    area = canvas_px - scene.layout.pinned_height
    bottom = scene.scroll_px + area
    cut = [placed.top for placed in scene.layout.between(scene.scroll_px, bottom) if placed.bottom > bottom]
    rest = bottom - min(cut, default=bottom)
    return rest if 2 * rest < area else 0


def wait_until(is_done: Callable[[], bool]) -> None:
    """Run Qt's event loop until a condition holds in two looks: what changed last is laid out between them.

    Raises ExportError on timeout.
    """
    from PySide6.QtCore import QElapsedTimer, QEventLoop, QTimer

    clock = QElapsedTimer()
    clock.start()
    loop = QEventLoop()
    tick = QTimer()
    held = False

    def look() -> None:
        nonlocal held
        before, held = held, is_done()
        if (before and held) or clock.elapsed() > IDLE_TIMEOUT_MS:
            loop.quit()

    tick.timeout.connect(look)
    tick.start(5)
    loop.exec()
    tick.stop()
    if not is_done():
        raise ExportError(tr("the picture was not finished after a minute"))


def save_picture(image: QImage, path: Path) -> None:
    """Write an image in the format of its suffix, atomically through a temporary file.

    Raises ExportError when the format is unknown or the file cannot be written.
    """
    from PySide6.QtGui import QImageWriter

    from warpline_app.look.image_files import encoded

    suffix = path.suffix.lower().lstrip(".")
    known = [bytes(name.data()).decode() for name in QImageWriter.supportedImageFormats()]
    if suffix not in known:
        raise ExportError(tr("{path}: unsupported picture format; use for example .png", path=path))
    try:
        with replacing(path) as part:
            part.write_bytes(encoded(image, suffix))
    except OSError as error:
        raise ExportError(tr("{path}: {reason}", path=path, reason=error.strerror or error)) from error
