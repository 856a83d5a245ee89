"""Renders a comparison as a picture without a display: both timelines and the waterfall."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtGui import QImage

from warpline.analysis.compare.comparison import Comparison
from warpline.library.opening import Opened
from warpline_app.comparison.page import ComparisonPage
from warpline_app.open.comparing import ComparedFiles, ComparedPair
from warpline_app.open.workspace import Workspace
from warpline_app.pictures.rendering import require_widgets, save_picture, wait_until
from warpline_app.remembered.settings import Settings

SIZE = (1600, 1000)
SCALE = 2.0


def write_picture(comparison: Comparison, path: Path) -> None:
    """Write the comparison page as a PNG; the captures stay open. Raises ExportError if it cannot be written."""
    require_widgets(SCALE)
    a, b = (Opened(side.run.capture, Path(side.run.path)) for side in (comparison.a, comparison.b))
    pair = ComparedPair(ComparedFiles(a, b, comparison))
    page = ComparisonPage(pair, Workspace(Settings.kept_nowhere()))
    page.resize(*SIZE)
    page.show()
    wait_until(lambda: page.is_idle)
    image: QImage = page.grab().toImage()
    page.take_timelines_away()
    page.close()
    save_picture(image, path)
