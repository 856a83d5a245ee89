"""Multi-line labels: long names may break, numbers stay with their units."""

from __future__ import annotations

import re

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

_BREAKS = re.compile(r"(::|[,<_/(\[{=;]|\.(?=[A-Za-z_]))(?=\S)")
_UNITS = re.compile(r"(?<=\d) (?=%|[nµm]?s\b|[KMGT]i?B\b)")
_HUMPS = re.compile(r"(?<=[a-z0-9#])(?=[A-Z])|(?<=#)(?=\w)")
_LONG = re.compile(r"[^\s\u200b\u00a0]{16}(?=[^\s\u200b\u00a0])")
_OPENED = re.compile(r"(?<=\s\()\u200b")
_NO_SPACE = "\u200b"
_NO_BREAK = "\u00a0"


def breakable(text: str) -> str:
    """The text with break opportunities after punctuation; names of templates and files have no spaces."""
    return _BREAKS.sub(rf"\1{_NO_SPACE}", text)


def prose(text: str) -> str:
    """The sentence with break opportunities in long names, and none between a number and its unit."""
    broken = _HUMPS.sub(_NO_SPACE, _OPENED.sub("", breakable(_UNITS.sub(_NO_BREAK, text))))
    return _LONG.sub(rf"\g<0>{_NO_SPACE}", broken)


class WrappedLabel(QLabel):
    """A plain sentence wrapped to its width; `text` returns the original."""

    def __init__(self, text: str, parent: QWidget | None = None) -> None:
        super().__init__(prose(text), parent)
        self._given = text
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(True)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)

    def text(self) -> str:
        """The sentence as it was set, without break characters."""
        return self._given

    def setText(self, text: str) -> None:
        """Set the sentence."""
        self._given = text
        super().setText(prose(text))
