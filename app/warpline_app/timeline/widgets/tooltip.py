"""The tooltip card beside the pointer."""

from __future__ import annotations

import re

from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtWidgets import QLabel, QWidget

from warpline_app.look.theme import Theme, ui_font
from warpline_app.timeline.model.event_text import EventText, describe_event
from warpline_app.timeline.model.scene import Scene

DELAY_MS = 180
MAX_WIDTH = 440
_OFFSET = QPoint(14, 18)


class Tooltip(QLabel):
    """A label over the canvas; never under the pointer, and it ignores the mouse."""

    def __init__(self, scene: Scene, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._scene = scene
        self._room = parent
        self._row: int | None = None
        self._text: EventText | None = None
        self._at = QPoint()
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setTextFormat(Qt.TextFormat.RichText)
        self.setWordWrap(True)
        self.setFont(ui_font(12))
        self.set_theme(theme)
        self.hide()
        self._delay = QTimer(self)
        self._delay.setSingleShot(True)
        self._delay.setInterval(DELAY_MS)
        self._delay.timeout.connect(self._appear)
        scene.state.view_changed.connect(self.dismiss)
        scene.state.origin_changed.connect(self._tell_anew)

    def set_theme(self, theme: Theme) -> None:
        """Set the colours."""
        self._theme = theme
        self.setStyleSheet(
            f"Tooltip {{ background: {theme.header}; color: {theme.text}; border: 1px solid {theme.hairline};"
            " border-radius: 6px; padding: 8px 10px; }"
        )

    def show_event(self, row: int | None, at: QPoint) -> None:
        """Show an event's tooltip after a moment; None hides it."""
        self._show(row, None, at)

    def show_text(self, text: EventText, at: QPoint) -> None:
        """Show a text after a moment, such as that of an event that a query made."""
        self._show(None, text, at)

    def _show(self, row: int | None, text: EventText | None, at: QPoint) -> None:
        self._row, self._text, self._at = row, text, at
        if row is None and text is None:
            self.dismiss()
        elif self.isVisible():
            self._appear()
        else:
            self._delay.start()

    def follow(self, at: QPoint) -> None:
        """Follow the pointer on the same event."""
        self._at = at
        if self.isVisible():
            self._move()

    def _tell_anew(self, _origin_ns: object) -> None:
        if self.isVisible():
            self._appear()

    def dismiss(self, *_: object) -> None:
        """Hide until the pointer reaches another event."""
        self._delay.stop()
        self.hide()

    def _appear(self) -> None:
        text = self._text
        if self._row is not None:
            text = describe_event(self._scene.capture, self._row, self._scene.state.origin_ns)
        if text is None:
            return
        name = text.title if len(text.title) <= 240 else text.title[:239] + "…"
        from html import escape  # a table of 2000 entities, not needed for the first frame

        # Names have no spaces: mark where lines may break.
        title = escape(re.sub(r"([,:<>_(])(?=[^,:<>_(]{3})", "\\1\u200b", name))
        lines = [f"<b>{title}</b>"]
        for index, line in enumerate(text.lines):
            color = self._theme.text if index == 0 else self._theme.muted
            body = escape(line).replace("   ", "&nbsp;&nbsp; ")
            lines.append(f'<span style="color:{color}">{body}</span>')
        self.setText('<div style="line-height:135%">' + "<br>".join(lines) + "</div>")
        metrics = self.fontMetrics()
        longest = max(metrics.horizontalAdvance(line) for line in (text.title + "  ", *text.lines))
        self.setFixedWidth(min(MAX_WIDTH, longest + 44))
        self.setFixedHeight(self.heightForWidth(self.width()))
        self._move()
        self.show()
        self.raise_()

    def _move(self) -> None:
        room = self._room.rect()
        at = self._at + _OFFSET
        if at.x() + self.width() > room.right() - 4:
            at.setX(max(4, self._at.x() - self.width() - 10))
        if at.y() + self.height() > room.bottom() - 4:
            at.setY(max(4, self._at.y() - self.height() - 10))
        self.move(at)
