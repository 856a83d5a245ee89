"""Texts that Qt shows as they are. Names in a capture may look like HTML, which Qt would render: with pictures, too."""

from __future__ import annotations

import re

from PySide6.QtGui import Qt as GuiQt
from PySide6.QtWidgets import QLabel, QWidget

_JOINER = "\u2060"
"""Takes no room and is no part of a tag."""
_TAG = re.compile(r"<(?=\S)|&(?=lt;)")


def plain(text: str) -> str:
    """The text in a form that `Qt.mightBeRichText` takes for plain text; looks the same, and mostly is."""
    return _TAG.sub(rf"\g<0>{_JOINER}", text) if GuiQt.mightBeRichText(text) else text


class PlainLabel(QLabel):
    """A label that shows its text as it is."""

    def __init__(self, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(text, parent)
        self.setTextFormat(GuiQt.TextFormat.PlainText)
