"""Options of a timeline picture: size, scale, theme."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, Signal
from PySide6.QtGui import QImageWriter
from PySide6.QtWidgets import QComboBox, QFormLayout, QHBoxLayout, QSpinBox, QWidget

from warpline.i18n import tr, tr_n, translated
from warpline.model.sizes import format_bytes
from warpline_app.look.plain import PlainLabel
from warpline_app.look.theme import THEMES
from warpline_app.pictures.export import drawing_size, picture_of
from warpline_app.pictures.rendering import whole_rows_px

if TYPE_CHECKING:
    from warpline.interchange.export.selection import ExportSelection
    from warpline_app.pictures.rendering import Picture
    from warpline_app.timeline.widgets.view import TimelineView

PICTURES = ("png", "svg")
"""Picture formats."""
SCALES = (1, 2, 3, 4)
MAX_SIDE_PX = 16_384
_BYTES_FOR_FINER = 1.3
"""A picture with twice the pixels in each direction is 2^1.3 times as large: edges grow linearly, areas compress."""


class PictureOptions(QWidget):
    """The options of a picture; they start from the timeline's own size, resolution and theme."""

    changed = Signal()

    def __init__(self, view: TimelineView, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._view = view
        self._bytes_per_px: float | None = None
        self.width_px, self.height_px = _side(360, view.width()), _side(160, whole_rows_px(view))
        self.width_px.setAccessibleName(tr("Width in pixels"))
        self.height_px.setAccessibleName(tr("Height in pixels"))
        self.scale = QComboBox()
        for factor in SCALES:
            self.scale.addItem(f"{factor}×", factor)
        self.scale.setCurrentIndex(min(max(1, round(view.devicePixelRatioF())), len(SCALES)) - 1)
        self.scale.setAccessibleName(tr("Scale"))
        self.theme = QComboBox()
        for theme in THEMES.values():
            self.theme.addItem(translated(theme.title), theme.name)
        self.theme.setCurrentIndex(max(0, self.theme.findData(view.theme.name)))
        size = QHBoxLayout()
        size.setSpacing(8)
        for widget in (self.width_px, PlainLabel("×"), self.height_px):
            size.addWidget(widget)
        size.addSpacing(18)
        size.addWidget(PlainLabel(tr("Scale")))
        size.addWidget(self.scale)
        size.addStretch(1)
        form = QFormLayout(self)
        form.setContentsMargins(0, 0, 0, 0)
        form.setHorizontalSpacing(18)
        form.setVerticalSpacing(10)
        form.addRow(tr("Size"), size)
        form.addRow(tr("Theme"), self.theme)
        self.width_px.valueChanged.connect(self.changed)
        self.height_px.valueChanged.connect(self.changed)
        self.scale.currentIndexChanged.connect(self.changed)
        self.theme.currentIndexChanged.connect(self.changed)

    def offer_for(self, name: str) -> None:
        """Offer the options that a format supports: vector graphics need no scale."""
        is_drawing = name == "svg"
        self.scale.setEnabled(not is_drawing)
        self.scale.setToolTip(
            tr("Vector graphics are sharp at every scale.")
            if is_drawing
            else tr("Scale up for print and high-resolution screens")
        )

    def picture(self, name: str, selection: ExportSelection) -> Picture:
        """The picture to draw of a selection in the format of this name."""
        return picture_of(
            self._view.document.capture,
            selection,
            size=(self.width_px.value(), self.height_px.value()),
            scale=float(self.scale.currentData()) if name != "svg" else 1.0,
            theme=str(self.theme.currentData()),
        )

    def expected(self, name: str, *, is_as_it_stands: bool) -> str:
        """The picture's expected size in pixels and, if known before drawing, in bytes."""
        width, height = self.width_px.value(), self.height_px.value()
        if name == "svg":
            parts = [tr("{width} × {height} pixels", width=width, height=height)]
            if is_as_it_stands and (width, height) == (self._view.width(), whole_rows_px(self._view)):
                shapes, size = drawing_size(self._view)
                parts.append(
                    tr_n("{count:,} rectangle", "{count:,} rectangles", shapes)
                    if shapes
                    else tr("too many events for vector graphics: embeds an image")
                )
                parts.append(tr("about {size}", size=format_bytes(size)))
            return " · ".join(parts)
        scale = int(self.scale.currentData())
        ratio = self._view.devicePixelRatioF()
        finer = (scale / ratio) ** _BYTES_FOR_FINER * ratio**2
        size = int(width * height * self._density() * finer)
        return " · ".join(
            (
                tr("{width} × {height} pixels", width=width * scale, height=height * scale),
                tr("about {size}", size=format_bytes(size)),
            )
        )

    def _density(self) -> float:
        """Bytes per pixel of a picture of the current view."""
        if self._bytes_per_px is None:
            image = self._view.picture()
            buffer = QBuffer()
            buffer.open(QIODevice.OpenModeFlag.WriteOnly)
            QImageWriter(buffer, QByteArray(b"png")).write(image)
            self._bytes_per_px = buffer.size() / max(1, image.width() * image.height())
        return self._bytes_per_px


def _side(least: int, value: int) -> QSpinBox:
    field = QSpinBox()
    field.setRange(least, MAX_SIDE_PX)
    field.setValue(value)
    field.setSingleStep(100)
    field.setFixedWidth(72)
    field.lineEdit().setTextMargins(5, 0, 0, 0)  # as in other fields; style sheets do not reach it
    return field
