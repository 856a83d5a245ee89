"""Picture exporters of the timeline, registered as entry points because `warpline` does not know the window."""

from __future__ import annotations

import glob
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QBuffer, QPoint, QRect, QSize
from PySide6.QtGui import QPainter
from PySide6.QtSvg import QSvgGenerator

from warpline import __version__
from warpline.i18n import tr
from warpline.interchange.export.exporter import ExportJob, SizeModel
from warpline.interchange.export.output_files import replacing
from warpline.interchange.export.selection import ExportSelection
from warpline.interchange.export.title import title_of
from warpline.model.errors import ExportError
from warpline.untrusted import xml_text
from warpline_app.pictures.rendering import DEFAULT_SIZE, Picture, render, require_widgets, save_picture
from warpline_app.timeline.draw.shapes import MAX_SHAPES, rectangles_of

if TYPE_CHECKING:
    from warpline.storage import Capture
    from warpline_app.timeline.widgets.view import TimelineView


_GROUP_OF_RECTANGLES = re.compile(r"<g ([^<>]*>\s*<rect )")
_EMPTY_GROUP = re.compile(r"<g [^<>]*>\s*</g>\s*")
"""Qt writes one for each change of pen and brush."""
_FAMILY = re.compile(r'font-family="([^",]+)"')
"""A browser that lacks the font would take one with serifs."""
BYTES_PER_SHAPE = 46
_BYTES_AROUND_SHAPES = 60_000


def drawing_size(view: TimelineView) -> tuple[int, int]:
    """The number of rectangles in an SVG of a timeline and its size in bytes; 0 rectangles if it embeds an image."""
    shapes = len(rectangles_of(view.canvas.render_frame().pixels))
    if shapes > MAX_SHAPES:
        return 0, _BYTES_AROUND_SHAPES + view.canvas.width() * view.canvas.height()
    return shapes, _BYTES_AROUND_SHAPES + BYTES_PER_SHAPE * shapes


class PngExporter:
    """The timeline as a PNG image, drawn without a display."""

    name = "png"
    suffixes: tuple[str, ...] = (".png",)
    size_model = SizeModel()

    @property
    def title(self) -> str:
        """The title shown to the user."""
        return tr("Picture (PNG)")

    def export(self, job: ExportJob) -> Path:
        """See `warpline.interchange.export.exporter.Exporter`. Draws in the calling thread, which must be Qt's main
        one.
        """
        capture, selection, out = job.capture, job.selection, job.out
        require_widgets()
        self._draw(
            capture, replace(picture_of(capture, selection), notes=job.notes, rows=job.options.rows), out
        )
        return out

    def _draw(self, capture: Capture, picture: Picture, out: Path) -> None:
        save_picture(render(capture, picture, title_of(capture)), out)


class SvgExporter(PngExporter):
    """The timeline as vector graphics: texts, lines, and rectangles for events."""

    name = "svg"
    suffixes = (".svg",)

    @property
    def title(self) -> str:
        """The title shown to the user."""
        return tr("Picture (SVG)")

    def _draw(self, capture: Capture, picture: Picture, out: Path) -> None:
        render(capture, picture, title_of(capture), paint=lambda view: save_svg(view, out))


def picture_of(
    capture: Capture,
    selection: ExportSelection,
    *,
    size: tuple[int, int] = DEFAULT_SIZE,
    scale: float = 1.0,
    theme: str = "dark",
) -> Picture:
    """The picture of a selection; see `Picture`."""
    origin = capture.span[0]
    start, stop = (
        None if time is None else time - origin for time in (selection.start_ns, selection.stop_ns)
    )
    tracks: tuple[str, ...] = ()
    if selection.tracks is not None:
        # URIs are patterns in `Picture`; one with a bracket would match other tracks.
        tracks = tuple(glob.escape(capture.tracks[track].uri) for track in sorted(selection.tracks))
    return Picture((start, stop), tracks, size, scale, theme)


def save_svg(view: TimelineView, out: Path) -> None:
    """Write the current view of a timeline as SVG, atomically through a temporary file.

    Raises ExportError when the file cannot be written.
    """
    generator = QSvgGenerator()
    generator.setSize(QSize(view.width(), view.height()))
    generator.setViewBox(QRect(0, 0, view.width(), view.height()))
    # Without it Qt gives millimetres of 72 dots an inch, and browsers show the picture a third too large.
    generator.setResolution(96)
    generator.setTitle(view.document.title)
    generator.setDescription(tr("Timeline drawn by Warpline {version}", version=__version__))
    painter = QPainter()
    try:
        with replacing(out) as part:
            # Into memory: the generator passes over errors of a file.
            drawn = QBuffer()
            generator.setOutputDevice(drawn)
            if not painter.begin(generator):
                raise ExportError(tr("{path}: cannot be written", path=out))
            painter.fillRect(0, 0, view.width(), view.height(), view.theme.color("header"))
            view.render(painter, QPoint(0, 0))
            painter.end()
            text = bytes(drawn.data().data()).decode()
            text = _FAMILY.sub(r'font-family="\1, sans-serif"', _EMPTY_GROUP.sub("", text))
            part.write_text(xml_text(with_sharp_edges(text)), "utf-8")
    except OSError as error:
        raise ExportError(
            tr("{path}: cannot be written: {reason}", path=out, reason=error.strerror or error)
        ) from error


def with_sharp_edges(svg: str) -> str:
    """Turn off edge smoothing, which would leave hairlines between touching rectangles."""
    return _GROUP_OF_RECTANGLES.sub(r'<g shape-rendering="crispEdges" \1', svg)


png = PngExporter()
svg = SvgExporter()
