"""A recent capture on the start page: preview, age, length, size."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from PySide6.QtCore import QDate, QLocale, Qt
from PySide6.QtGui import QPixmap
from PySide6.QtWidgets import QPushButton, QVBoxLayout, QWidget

from warpline.i18n import tr, tr_n
from warpline.model.sizes import format_bytes
from warpline.model.times import format_duration
from warpline_app.look.elided import ElidedLabel
from warpline_app.look.files_there import local_time
from warpline_app.look.plain import PlainLabel, plain
from warpline_app.window.start.recent_pictures import PICTURE_SIZE, Remembered

_MARGIN = 10
_CLOCKS_DIFFER_MINUTES = 5
"""How far the clocks of a file server and this computer may differ."""


class RecentCard(QPushButton):
    """A button of several lines; the tooltip is the full path."""

    def __init__(self, path: Path, remembered: Remembered | None, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("recentCard")
        self.path = path
        self.setToolTip(plain(str(path)))
        self.setAccessibleName(path.name)
        self.setFixedWidth(PICTURE_SIZE.width() + 2 * _MARGIN)
        picture = PlainLabel()
        picture.setObjectName("recentPicture")
        picture.setFixedSize(PICTURE_SIZE)
        picture.setAlignment(Qt.AlignmentFlag.AlignCenter)
        if remembered is not None:
            picture.setPixmap(QPixmap.fromImage(remembered.picture))
        else:
            picture.setText(tr("folder") if path.is_dir() else tr("no preview yet"))
        name = ElidedLabel(path.name, mode=Qt.TextElideMode.ElideMiddle)
        name.setObjectName("subhead")
        folder = ElidedLabel(short_folder(path), mode=Qt.TextElideMode.ElideMiddle)
        folder.setObjectName("muted")
        figures = ElidedLabel(figures_of(path, remembered, datetime.now()))
        figures.setObjectName("muted")
        column = QVBoxLayout(self)
        column.setContentsMargins(_MARGIN, _MARGIN, _MARGIN, 8)
        column.setSpacing(3)
        for widget in (picture, name, figures, folder):
            # Only the button itself handles clicks.
            widget.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
            column.addWidget(widget)
        self.setFixedHeight(column.sizeHint().height())


def figures_of(path: Path, remembered: Remembered | None, now: datetime) -> str:
    """``box · 3 hours ago · 1.17 s · 57,506 events · 1.1 MiB``, with the machine where it is another one."""
    try:
        stat = path.stat()
    except OSError as error:  # deleted since it was listed
        return error.strerror or str(error)
    machine = [remembered.machine] if remembered is not None and remembered.machine else []
    parts = [*machine, age_text(local_time(stat.st_mtime), now)]
    if remembered is not None:
        parts.append(format_duration(remembered.duration_ns, 3))
        parts.append(tr_n("{count:,} event", "{count:,} events", remembered.events))
    if not path.is_dir():
        parts.append(format_bytes(stat.st_size, 3, exact_below=1024))
    return " · ".join(parts)


def age_text(made: datetime, now: datetime) -> str:
    """How long ago, in one unit; a date beyond a month, or for a time in the future."""
    minutes = int((now - made).total_seconds() // 60)
    if -_CLOCKS_DIFFER_MINUTES <= minutes < 1:
        return tr("just now")
    if 0 < minutes < 60:
        return tr_n("{count} minute ago", "{count} minutes ago", minutes)
    if 0 < minutes < 24 * 60:
        return tr_n("{count} hour ago", "{count} hours ago", minutes // 60)
    if 0 < minutes < 31 * 24 * 60:
        return tr_n("{count} day ago", "{count} days ago", minutes // (24 * 60))
    return QLocale().toString(QDate(made.year, made.month, made.day), QLocale.FormatType.ShortFormat)


def short_folder(path: Path) -> str:
    """The file's folder, with ``~`` for the home folder."""
    folder = path.parent
    try:
        return str(Path("~") / folder.relative_to(Path.home()))
    except (ValueError, RuntimeError):
        return str(folder)
