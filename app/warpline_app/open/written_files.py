"""Reports that a file was written, and offers to open it or its folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from warpline.i18n import tr
from warpline_app.open.messages import Actions, MessageTarget, UserMessage


def show_in_folder(path: Path) -> None:
    """Open the file's folder in the desktop's file manager."""
    open_by_desktop(path.parent)


def open_by_desktop(path: Path) -> None:
    """Open a file with the desktop's default application."""
    from PySide6.QtCore import QUrl
    from PySide6.QtGui import QDesktopServices  # this module is also used without a display

    QDesktopServices.openUrl(QUrl.fromLocalFile(str(path)))


def show_written(
    messages: MessageTarget, path: Path, text: str = "", open_it: Callable[[Path], object] | None = None
) -> UserMessage:
    """Show that a file was written. ``open_it`` opens the file; without it the desktop does."""
    opening = open_it or open_by_desktop
    actions: Actions = (
        (tr("Open"), lambda: opening(path)),
        (tr("Show in folder"), lambda: show_in_folder(path)),
    )
    return messages.show(text or tr("Wrote {path}", path=path), "info", actions=actions)
