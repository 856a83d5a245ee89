"""Draws pictures while the window is in use: a hidden copy of the timeline, with its own range and theme."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QElapsedTimer, QObject, Qt, QTimer, Signal

from warpline.i18n import tr
from warpline.model.errors import ExportError, WarplineError
from warpline_app.look import style
from warpline_app.look import theme as themes
from warpline_app.pictures.export import save_svg
from warpline_app.pictures.rendering import (
    IDLE_TIMEOUT_MS,
    Picture,
    document_of,
    prepare_picture,
    save_picture,
)
from warpline_app.remembered.saved_layout import apply_layout, layout_of
from warpline_app.state.timeline_state import TimelineState
from warpline_app.timeline.widgets.view import TimelineView

if TYPE_CHECKING:
    from warpline_app.open.document import Document

_LOOK_MS = 15


class PictureDrawing(QObject):
    """Draws a part of a document's capture into a file; emits ``drawn`` or ``failed`` unless stopped.

    Rows are expanded, ordered and sized as in ``source``. With ``is_as_shown``, hidden rows, filter, selection and
    scroll position are copied too.
    A file name ending in ``.svg`` gives vector graphics, any other an image.

    Raises the errors of `document_of`.
    """

    drawn = Signal(object)
    """the Path"""
    failed = Signal(object)
    """the WarplineError"""

    def __init__(
        self,
        source: TimelineView,
        picture: Picture,
        out: Path,
        *,
        is_as_shown: bool = False,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._out = out
        self._top = _top_row(source) if is_as_shown else None
        self._is_prepared = False
        document = document_of(
            source.document.capture,
            picture,
            source.document.title,
            lambda state: arrange(state, source.state, is_as_shown=is_as_shown),
        )
        document.derived.take_over(source.document.derived)
        self._view: TimelineView | None = _out_of_sight(document, picture)
        self._clock = QElapsedTimer()
        self._clock.start()
        self._looks = QTimer(self)
        self._looks.timeout.connect(self._look)
        self._looks.start(_LOOK_MS)

    def _look(self) -> None:
        """Paint pending parts, which Qt does not request for a hidden widget; write the file when complete."""
        view = self._view
        if view is None:
            return
        placed = None if self._top is None else view.scene.layout.by_key.get(self._top)
        view.scene.scroll_to(0 if placed is None else placed.top)
        image = view.picture()
        if not view.is_idle:
            if self._clock.elapsed() > IDLE_TIMEOUT_MS:
                self.stop()
                self.failed.emit(ExportError(tr("the picture was not finished after a minute")))
            return
        if not self._is_prepared:
            self._is_prepared = True
            prepare_picture(view)
            return
        try:
            if self._out.suffix.lower() == ".svg":
                save_svg(view, self._out)
            else:
                save_picture(image, self._out)
        except WarplineError as error:
            self.stop()
            self.failed.emit(error)
        else:
            self.stop()
            self.drawn.emit(self._out)

    def stop(self) -> None:
        """Stop drawing; an existing file of that name is kept."""
        self._looks.stop()
        view, self._view = self._view, None
        if view is not None:
            view.shut_down()
            view.hide()
            view.deleteLater()


def _top_row(view: TimelineView) -> str | None:
    """The key of the first row in view, except for pinned ones: a picture begins with a whole row."""
    placed = view.scene.layout.at(view.scene.scroll_px, pinned=False)
    return None if placed is None else placed.row.key


def arrange(state: TimelineState, source: TimelineState, *, is_as_shown: bool) -> None:
    """Copy expanded rows, order and heights of another timeline; as shown, also hidden rows, filter and selection."""
    layout = layout_of(source)
    del layout["view"]
    if not is_as_shown:
        layout["hidden"] = []
    apply_layout(state, layout)
    state.set_notes(source.notes)
    state.set_derived_rows(source.derived_rows)
    if is_as_shown:
        state.set_filter(source.filter)
        state.set_highlight(source.highlight)
        state.select(source.selection)


def _out_of_sight(document: Document, picture: Picture) -> TimelineView:
    theme = themes.theme_by_name(picture.theme)
    view = TimelineView(document, theme=theme)
    view.scene.pixel_ratio = picture.scale
    view.setAttribute(Qt.WidgetAttribute.WA_DontShowOnScreen)
    view.setAttribute(Qt.WidgetAttribute.WA_ShowWithoutActivating)
    # The scroll bar uses the application's style.
    view.setPalette(themes.palette(theme))
    view.setStyleSheet(themes.style_sheet(theme) + style.style_sheet(theme))
    view.resize(*picture.size)
    view.show()
    return view
