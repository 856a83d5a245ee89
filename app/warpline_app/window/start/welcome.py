"""The start page, shown while nothing is open."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from warpline.i18n import tr
from warpline_app.commands.keys import key_text
from warpline_app.commands.runner import CommandRunner
from warpline_app.look.files_there import is_there
from warpline_app.look.plain import PlainLabel, plain
from warpline_app.window.start.recent_card import RecentCard
from warpline_app.window.start.recent_pictures import RecentPictures

RECENT_SHOWN = 6
_GAP = 14
_ASIDE = 40


class WelcomePage(QWidget):
    """Ways to begin (record, open, drop), and as many recent captures as fit."""

    recent_chosen = Signal(object)
    """a Path"""

    def __init__(
        self, runner: CommandRunner, pictures: RecentPictures, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName("welcome")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self._pictures = pictures
        headline = PlainLabel(tr("What was the hardware waiting for?"))
        headline.setObjectName("headline")
        text = PlainLabel(tr("Record a program, open a capture, or drop a file on this window."))
        opens = PlainLabel(
            tr(
                "Opens Warpline captures and traces from PyTorch, Paddle, Nsight Systems, Chrome, Perfetto and others."
            )
        )
        for label in (text, opens):
            label.setObjectName("muted")
            label.setWordWrap(True)
        buttons = QHBoxLayout()
        buttons.setSpacing(10)
        for command_id, title, is_primary in (
            ("file.new_capture", tr("New capture…"), True),
            ("file.open", tr("Open…"), False),
            ("file.record_demo", tr("Record demo"), False),
        ):
            self._add_button(buttons, runner, command_id, title, is_primary)
        buttons.addStretch(1)
        self._recent_title = PlainLabel(tr("Recent"))
        self._recent_title.setObjectName("subhead")
        self._recent = QGridLayout()
        self._recent.setSpacing(_GAP)
        inner = QVBoxLayout()
        inner.setSpacing(10)
        inner.addStretch(2)
        for part in (headline, text, opens):
            inner.addWidget(part)
        inner.addSpacing(8)
        inner.addLayout(buttons)
        inner.addSpacing(22)
        inner.addWidget(self._recent_title)
        inner.addLayout(self._recent)
        inner.addStretch(3)
        centered = QHBoxLayout(self)
        centered.addStretch(1)
        centered.addLayout(inner)
        centered.addStretch(1)
        self.recent_cards: list[RecentCard] = []
        self._paths: list[Path] | None = None
        """The files to make cards for when the page is shown."""

    @staticmethod
    def _add_button(
        row: QHBoxLayout, runner: CommandRunner, command_id: str, title: str, is_primary: bool
    ) -> None:
        command = runner.commands[command_id]
        button = QPushButton(title)
        if is_primary:
            button.setObjectName("primary")
        button.setToolTip(plain(command.hint_text))
        button.clicked.connect(lambda: runner.run(command_id))
        row.addWidget(button)
        if command.keys:
            keys = PlainLabel(key_text(command.keys[0]))
            keys.setObjectName("keyCap")
            row.addWidget(keys)
        row.addSpacing(10)

    def set_recent(self, paths: list[Path]) -> None:
        """Offer these files; missing ones are left out. Cards are made when the page is shown."""
        self._paths = paths
        if self.isVisible():
            self._make_cards()

    def showEvent(self, event: QShowEvent) -> None:
        """Make the cards of files set while the page was hidden."""
        self._make_cards()
        super().showEvent(event)

    def _make_cards(self) -> None:
        if self._paths is None:
            return
        for card in self.recent_cards:
            card.hide()
            card.deleteLater()
        present = [path for path in self._paths if is_there(path)][:RECENT_SHOWN]
        self._paths = None
        self.recent_cards = [RecentCard(path, self._pictures.of(path)) for path in present]
        for card in self.recent_cards:
            card.clicked.connect(lambda _=False, chosen=card.path: self.recent_chosen.emit(chosen))
        self._recent_title.setVisible(bool(present))
        self._place()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Arrange cards in one to three columns, in as many rows as are visible."""
        super().resizeEvent(event)
        self._place()

    def _place(self) -> None:
        while self._recent.takeAt(0) is not None:
            pass
        if not self.recent_cards:
            return
        size = self.recent_cards[0].size()
        columns = max(1, min(3, (self.width() - 2 * _ASIDE + _GAP) // (size.width() + _GAP)))
        rows = max(1, (self.height() - 260) // (size.height() + _GAP))
        for index, card in enumerate(self.recent_cards):
            if index < rows * columns:
                self._recent.addWidget(card, index // columns, index % columns)
            card.setVisible(index < rows * columns)
