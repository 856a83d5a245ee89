"""The page of a capture inside a notebook: a timeline to zoom and pan, with a picture underneath where none can run."""

from __future__ import annotations

import base64
import tempfile
from html import escape
from pathlib import Path

from warpline.interchange.export.exporter import ExportOptions
from warpline.interchange.export.exporting import export_capture
from warpline.interchange.export.selection import ExportSelection
from warpline.library.pictures import PngPicture
from warpline.query.kept_rows import kept_rows
from warpline.storage import Capture
from warpline.storage.notes_file import notes_of

_THEMES = {
    "dark": '[data-jp-theme-light="false"], .vscode-dark, .vscode-high-contrast, .dark, .dark-theme',
    "light": '[data-jp-theme-light="true"], .vscode-light, .vscode-high-contrast-light, .light, .light-theme',
}
"""What JupyterLab and nbconvert, VS Code and marimo write at the page when they are dark, or light: without it the
timeline would have the colors of the desktop. VS Code's light theme of high contrast has both of its classes: the later
rule counts.
"""
_MOST_BOXES = 45_000
"""A notebook with the page stays below 1.5 MB a cell."""
_HIDDEN = '<body class="frame" style="visibility:hidden">'
"""The page shows itself when its script runs: where none may, the picture alone is seen, not both."""
_PRINTED = (
    "@media print{.warpline-page:has(img){height:auto!important}.warpline-page:has(img) iframe{display:none}}"
)
"""Paper gets the picture: the page is drawn for the width of the screen."""
_STYLE = "".join(
    f":is({marks}) .warpline-page iframe{{color-scheme:{scheme}}}" for scheme, marks in _THEMES.items()
)


class NotebookPage:
    """The exported page of a part of a capture. At the end of a cell it is shown, also in a saved notebook.

    ``html`` is the page, ``picture`` the same part drawn, None where the window is not installed; ``height`` is in
    pixels. Nothing is loaded from anywhere.
    """

    def __init__(self, html: str, picture: PngPicture | None, height: int) -> None:
        self.html, self.picture, self.height = html, picture, height

    def _repr_html_(self) -> str:
        # Notebooks that are not trusted lose the frame and keep the picture below it. A file would not do: VS Code
        # shows only what is in the notebook.
        page = escape(self.html.replace("<body>", _HIDDEN, 1))
        frame = (
            f'<iframe srcdoc="{page}" sandbox="allow-scripts" title="the timeline" '
            'style="position:absolute;inset:0;width:100%;height:100%;border:0"></iframe>'
        )
        below = ""
        if self.picture is not None:
            data = base64.b64encode(self.picture).decode("ascii")
            below = f'<img alt="the timeline" style="width:100%" src="data:image/png;base64,{data}"/>'
        box = f"position:relative;height:{self.height}px;overflow:hidden"
        return (
            f'<style>{_STYLE}{_PRINTED}</style><div class="warpline-page" style="{box}">{below}{frame}</div>'
        )

    def _repr_png_(self) -> bytes | None:
        return None if self.picture is None else bytes(self.picture)

    def __repr__(self) -> str:
        return f"<page with a timeline, {len(self.html.encode()):,} bytes; a notebook shows it>"


def page_of(capture: Capture, source: Path, selection: ExportSelection) -> str:
    """The page that ``warpline export`` writes for a part of a capture, with the notes and derived rows beside
    ``source``. Raises ExportError.
    """
    options = ExportOptions(
        notes=notes_of(source, capture.uuid), rows=kept_rows(capture, source), most_boxes=_MOST_BOXES
    )
    with tempfile.TemporaryDirectory(prefix="warpline-") as folder:
        return export_capture(capture, Path(folder) / "page.html", selection, options).read_text("utf-8")
