"""The message line over the bottom of the tab in front: its most severe message, and how many others there are.

The line moves nothing and never grows: details open over the window, and other messages are in a list behind the
count. Success messages disappear by themselves. After a click on the cross the line stays for a moment, so that a
second click cannot hit the next message's cross by mistake.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPoint, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QKeyEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QMenu,
    QPlainTextEdit,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from warpline.i18n import tr, tr_n
from warpline_app.look.elided import ElidedLabel
from warpline_app.look.plain import PlainLabel, plain
from warpline_app.open.messages import MessageList, UserMessage

PASSING_MS = 8_000
"""How long a success message stays; the pointer on it stops the clock."""
HOLD_MS = 1_000
"""After a click on a cross, how long no other cross appears in its place unless the pointer leaves."""
_SIGNS = {"error": "✕", "warning": "!", "info": "i"}
_GRAVEST = ("error", "warning", "info")
_DETAILS_PX = QSize(620, 180)
_LISTED_CHARACTERS = 110
_MARGIN_PX = 10
_BELOW_PX = 4


class MessageBar(QFrame):
    """A message in one line: icon, text, buttons, cross."""

    dismissed = Signal(object)
    """its UserMessage"""
    closed = Signal(object)
    """the UserMessage whose cross was clicked"""
    list_wanted = Signal()
    """the list of other messages is requested"""

    def __init__(self, message: UserMessage, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.message = message
        text, level = message.text, message.level
        self.setObjectName("messageBar")
        self.setProperty("level", level)
        self.setAccessibleName(text)
        self.text = text
        sign = PlainLabel(_SIGNS[level])
        sign.setObjectName("messageSign")
        sign.setProperty("level", level)
        sign.setAlignment(Qt.AlignmentFlag.AlignCenter)
        sign.setFixedSize(18, 18)
        self.label = ElidedLabel(text, mode=Qt.TextElideMode.ElideMiddle)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 4, 8, 4)
        row.setSpacing(10)
        row.addWidget(sign)
        row.addWidget(self.label, 1)
        for title, callback in message.actions:
            row.addWidget(self._button(title, partial(self._act, callback)))
        self.details = self._button(tr("Details"), self.show_details)
        self.details.setVisible(bool(message.details))
        row.addWidget(self.details)
        self.more = self._button("", self.list_wanted.emit)
        self.more.setToolTip(tr("Other messages"))
        self.more.hide()
        row.addWidget(self.more)
        self.close_button = QToolButton()
        self.close_button.setObjectName("flat")
        self.close_button.setText("✕")
        self.close_button.setToolTip(tr("Dismiss"))
        self.close_button.setAccessibleName(tr("Dismiss"))
        self.close_button.clicked.connect(lambda: self.closed.emit(self.message))
        row.addWidget(self.close_button)
        # Buttons do not change the height, so the next message moves nothing.
        self.details.ensurePolished()
        row.addStrut(self.details.sizeHint().height())
        self.passing = QTimer(self)
        self.passing.setSingleShot(True)
        self.passing.setInterval(PASSING_MS)
        self.passing.timeout.connect(self._pass)

    def _button(self, title: str, callback: Callable[[], object]) -> QPushButton:
        button = QPushButton(title)
        button.clicked.connect(callback)
        return button

    def _act(self, callback: Callable[[], object]) -> None:
        callback()
        if self.message.is_passing:
            self.dismiss()

    def _pass(self) -> None:
        focus = self.window().focusWidget()
        if self.underMouse() or (focus is not None and self.isAncestorOf(focus)):
            self.passing.start()
        else:
            self.dismiss()

    def showEvent(self, event: QShowEvent) -> None:
        """Start the timer of a success message when it becomes visible."""
        super().showEvent(event)
        if self.message.is_passing:
            self.passing.start()

    def hideEvent(self, event: QHideEvent) -> None:
        """Stop the timer while a more severe message hides this one."""
        super().hideEvent(event)
        self.passing.stop()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Offer the details when the text does not fit."""
        super().resizeEvent(event)
        self.details.setVisible(bool(self.message.details) or self.label.is_elided)

    def show_details(self) -> None:
        """Open the details over the window, without moving anything."""
        popup = QFrame(self, Qt.WindowType.Popup)
        popup.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        popup.setObjectName("paletteFrame")
        text = QPlainTextEdit("\n\n".join(part for part in (self.text, self.message.details) if part))
        text.setReadOnly(True)
        layout = QVBoxLayout(popup)
        layout.setContentsMargins(6, 6, 6, 6)
        layout.addWidget(text)
        popup.resize(min(_DETAILS_PX.width(), self.width()), _DETAILS_PX.height())
        has_room = self.mapTo(self.window(), QPoint(0, 2 * popup.height())).y() < self.window().height()
        top = self.height() if has_room else -popup.height()
        popup.move(self.mapToGlobal(QPoint(self.width() - popup.width(), top)))
        popup.show()
        text.setFocus()

    def dismiss(self) -> None:
        """Ask for the bar to be removed."""
        self.dismissed.emit(self.message)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Escape dismisses the focused bar."""
        if event.key() == Qt.Key.Key_Escape:
            self.dismiss()
        else:
            super().keyPressEvent(event)


class MessageBars(QWidget):
    """The most severe and newest message of the item in front, in one line; hidden while there is none."""

    def __init__(self, messages: MessageList, over: QWidget | None = None) -> None:
        """``over`` is the widget over which the line lies; None leaves its place to a layout."""
        super().__init__(over)
        self._over = over
        if over is not None:
            over.installEventFilter(self)
        self._messages = messages
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(0)
        self.bars: list[MessageBar] = []
        """One bar for each message, newest first; only one is visible."""
        self.shown: MessageBar | None = None
        self._hold = QTimer(self)
        self._hold.setSingleShot(True)
        self._hold.setInterval(HOLD_MS)
        self._hold.timeout.connect(self._let_go)
        messages.rowsInserted.connect(self._insert)
        messages.rowsRemoved.connect(self._remove)
        messages.front_changed.connect(lambda: self._show(None))
        self.hide()

    def _insert(self, _parent: QModelIndex, first: int, last: int) -> None:
        for row in range(first, last + 1):
            bar = MessageBar(self._messages.all[row], self)
            bar.hide()
            bar.dismissed.connect(self._messages.dismiss)
            bar.closed.connect(self._close)
            bar.list_wanted.connect(self.show_list)
            self.bars.insert(row, bar)
            self._layout.insertWidget(row, bar)
        # Do not replace a message under the pointer: the user may be reading it or about to click.
        self._show(self.shown if self._hold.isActive() or self.underMouse() else None)

    def _remove(self, _parent: QModelIndex, first: int, last: int) -> None:
        for bar in self.bars[first : last + 1]:
            self._layout.removeWidget(bar)
            bar.hide()
            bar.deleteLater()
        del self.bars[first : last + 1]
        self._show(self.shown if self.shown in self.bars else None)

    def _show(self, wanted: MessageBar | None) -> None:
        """Show this message, or the most severe one, and the number of others."""
        here = [bar for bar in self.bars if bar.message in self._messages.here]
        gravest = sorted(here, key=lambda bar: _GRAVEST.index(bar.message.level))
        self.shown = wanted or next(iter(gravest), None)
        for bar in self.bars:
            bar.setVisible(bar is self.shown)
        others = [bar for bar in gravest if bar is not self.shown]
        if self.shown is not None:
            more = self.shown.more
            more.setText(tr_n("{count} more", "{count} more", len(others)))
            more.setVisible(bool(others))
        self.setVisible(self.shown is not None)
        self._place()

    def _place(self) -> None:
        """Lie over the bottom of the widget below, and above its other children."""
        if self._over is not None and self.shown is not None:
            width, height = self._over.width() - 2 * _MARGIN_PX, self.sizeHint().height()
            self.setGeometry(_MARGIN_PX, self._over.height() - height - _BELOW_PX, width, height)
            self.raise_()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow the size of the widget below."""
        if watched is self._over and event.type() in {QEvent.Type.Resize, QEvent.Type.ChildAdded}:
            self._place()
        return super().eventFilter(watched, event)

    def show_list(self) -> QMenu:
        """Show the other messages in a menu below the count; choosing one shows it."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.setToolTipsVisible(True)
        for bar in self.bars:
            if bar is not self.shown and bar.message in self._messages.here:
                text = (
                    bar.text if len(bar.text) <= _LISTED_CHARACTERS else f"{bar.text[:_LISTED_CHARACTERS]}…"
                )
                entry = menu.addAction(text.replace("&", "&&"), partial(self._show, bar))
                entry.setToolTip(plain(bar.text))
        menu.addSeparator()
        menu.addAction(tr("Dismiss all"), self._messages.clear_here)
        if self.shown is not None:
            menu.popup(self.shown.more.mapToGlobal(QPoint(0, self.shown.more.height())))
        return menu

    # -- after a click on the cross

    def _close(self, message: UserMessage) -> None:
        """Grey the line out; it goes when the pointer leaves it, or after a moment."""
        bar = self.shown
        if bar is not None and bar.message is message:
            bar.setEnabled(False)
            self._hold.start()

    def _let_go(self) -> None:
        self._hold.stop()
        if self.shown is not None and not self.shown.isEnabled():
            self.shown.dismiss()

    def leaveEvent(self, event: QEvent) -> None:
        """Remove the greyed line: a click can no longer hit the wrong cross."""
        super().leaveEvent(event)
        if self._hold.isActive():
            self._let_go()
