"""Says that a file was written, with what helps next: to see it in its folder, or to open it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from warpline.i18n import tr
from warpline_app.open.messages import Actions, MessageList, UserMessage


def show_in_folder(path: Path) -> None:
    """Open the folder of a file in the desktop's file manager."""
    open_by_desktop(path.parent)


def open_by_desktop(path: Path) -> None:
    """Open a file in what the desktop opens such files with."""
    from PySide6.QtCore import QUrl
    from PySide6.QtGui import QDesktopServices  # sessions are there without a display, too

    QDesktopServices.openUrl(QUrl.fromLocalFile(str(path)))


def tell_written(
    messages: MessageList, path: Path, text: str = "", open_it: Callable[[Path], object] | None = None
) -> UserMessage:
    """Tell it in passing. ``open_it`` opens the file; without it the desktop does."""
    opening = open_it or open_by_desktop
    actions: Actions = (
        (tr("Open"), lambda: opening(path)),
        (tr("Show in Folder"), lambda: show_in_folder(path)),
    )
    return messages.show(text or tr("{path} is written", path=path), "info", actions=actions)
