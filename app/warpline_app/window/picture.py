"""Renders the whole window with its panels, without a display."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtGui import QImage

from warpline_app.look.appearance import appearance
from warpline_app.pictures.rendering import Picture, document_of, wait_until
from warpline_app.remembered.settings import Settings
from warpline_app.window.main_window import MainWindow

if TYPE_CHECKING:
    from warpline.storage import Capture


def render_window(capture: Capture, picture: Picture, title: str = "") -> QImage:
    """Render a new user's window on a capture; see `warpline_app.pictures.rendering.render`."""
    document = document_of(capture, picture, title)
    appearance().choose(picture.theme)
    window = MainWindow(Settings.kept_nowhere())
    window.resize(*picture.size)
    window.show()
    window.workspace.show(document)
    page = window.tabs.current_page
    assert page is not None
    wait_until(lambda: page.view.is_idle)
    # Panels are made after the timeline's first frame and load in the background.
    wait_until(lambda: window.panels.is_settled and page.view.is_idle)
    image = window.grab().toImage()
    window.close()
    return image
