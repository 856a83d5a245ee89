"""File → Export comparison…: as a web page or a picture."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QWidget

from warpline.analysis.compare.comparison_page import comparison_page
from warpline.i18n import tr
from warpline.interchange.export.output_files import writing
from warpline.model.errors import WarplineError
from warpline_app.comparison.page import ComparisonPage
from warpline_app.look.file_dialog import FileDialog
from warpline_app.open.workspace import Workspace
from warpline_app.open.written_files import show_written
from warpline_app.pictures.rendering import save_picture


def show_share_comparison(workspace: Workspace, view: QWidget, parent: QWidget | None) -> QFileDialog | None:
    """Ask for a file and write a timeline's comparison; None when it is not part of one."""
    page = page_around(view)
    if page is None:
        return None
    dialog = FileDialog(parent, tr("Export comparison"))
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setNameFilters([tr("Page") + " (*.html)", tr("Picture") + " (*.png)"])
    dialog.setDefaultSuffix("html")
    dialog.filterSelected.connect(lambda name: dialog.setDefaultSuffix("png" if "png" in name else "html"))
    a, b = (document.path for document in page.pair.documents)
    dialog.setDirectory(str(b.parent))
    dialog.selectFile(f"{a.stem}-{b.stem}.html")
    dialog.fileSelected.connect(lambda name: write_comparison(workspace, page, Path(name)))
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.open()
    return dialog


def page_around(view: QWidget) -> ComparisonPage | None:
    """The comparison page that contains a timeline."""
    widget: QWidget | None = view
    while widget is not None and not isinstance(widget, ComparisonPage):
        widget = widget.parentWidget()
    return widget


def write_comparison(workspace: Workspace, page: ComparisonPage, path: Path) -> None:
    """Write a picture of the tab, or a page with the report in its table. Failures are shown as messages."""
    try:
        if path.suffix.lower() == ".png":
            save_picture(page.grab().toImage(), path)
        else:
            shown = page.changes.shown
            shown_part = (
                page.pair.comparison if shown is None else replace(page.pair.comparison, tables=(shown,))
            )
            html = comparison_page(shown_part, page.pair.title).encode()
            with writing(path) as file:
                file.write(html)
    except (OSError, WarplineError) as error:
        workspace.messages.show(tr("Cannot write the comparison: {error}", error=error))
    else:
        show_written(workspace.messages, path)
