"""Texts about keys and the mouse, as the platform writes them."""

from __future__ import annotations

from PySide6.QtGui import QKeySequence


def native_keys(text: str) -> str:
    """The text with the platform's name of Ctrl: ``⌘click`` for ``Ctrl+click`` on macOS."""
    control = QKeySequence("Ctrl+A").toString(QKeySequence.SequenceFormat.NativeText).removesuffix("A")
    return text.replace("Ctrl+", control)
