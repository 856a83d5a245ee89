"""Short ways to make widgets, layouts and timers that many rooms use."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, QTimer
from PySide6.QtGui import QColor, QHelpEvent, QIcon, QPainter, QPixmap
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QLabel, QLineEdit, QToolTip, QVBoxLayout, QWidget

from warpline_app.look.file_dialog import FileDialog
from warpline_app.look.painting import painting
from warpline_app.look.plain import PlainLabel, plain


def single_shot(owner: QObject, delay_ms: int, call: Callable[..., object]) -> QTimer:
    """A timer that calls once, ``delay_ms`` after its last start."""
    timer = QTimer(owner)
    timer.setSingleShot(True)
    timer.setInterval(delay_ms)
    timer.timeout.connect(call)
    return timer


def muted_label(text: str = "") -> QLabel:
    """A label in the muted text colour."""
    label = PlainLabel(text)
    label.setObjectName("muted")
    return label


def flat_column(widget: QWidget) -> QVBoxLayout:
    """A vertical layout for a widget without margins and spacing."""
    column = QVBoxLayout(widget)
    column.setContentsMargins(0, 0, 0, 0)
    column.setSpacing(0)
    return column


def tool_row(margin_px: int = 5, spacing_px: int = 8) -> QHBoxLayout:
    """A horizontal layout for the controls above a panel or a page."""
    row = QHBoxLayout()
    row.setContentsMargins(10, margin_px, 10, margin_px)
    row.setSpacing(spacing_px)
    return row


def search_field(hint: str, *, name: str = "", width_px: tuple[int, int] | None = None) -> QLineEdit:
    """A text field with a clear button; ``width_px`` is its minimum and maximum width."""
    field = QLineEdit()
    field.setPlaceholderText(hint)
    field.setAccessibleName(name or hint)
    field.setClearButtonEnabled(True)
    if width_px is not None:
        field.setMinimumWidth(width_px[0])
        field.setMaximumWidth(width_px[1])
    return field


def dot_icon(color: QColor) -> QIcon:
    """A dot in a colour, 12 px wide."""
    picture = QPixmap(24, 24)
    picture.setDevicePixelRatio(2)
    picture.fill(Qt.GlobalColor.transparent)
    with painting(picture) as painter:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(color)
        painter.drawEllipse(2, 2, 8, 8)
    return QIcon(picture)


def shows_tooltip(widget: QWidget, event: QEvent, text_at: Callable[[QPoint], str]) -> bool:
    """Handle a tooltip event of a widget; an empty text shows none. False for other events."""
    if not isinstance(event, QHelpEvent) or event.type() != QEvent.Type.ToolTip:
        return False
    QToolTip.showText(event.globalPos(), plain(text_at(event.pos())), widget)
    return True


def ask_for_file(
    owner: QWidget, title: str, filters: list[str], proposed: str, save: Callable[[Path], object]
) -> None:
    """Ask where to save a file, proposing a name with its suffix, and call ``save`` with the answer."""
    dialog = FileDialog(owner, title)
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setNameFilters(filters)
    dialog.setDefaultSuffix(proposed.rpartition(".")[2])
    dialog.selectFile(proposed)
    dialog.fileSelected.connect(lambda name: save(Path(name)))
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.open()
