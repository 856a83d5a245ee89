"""The cards below the budget: a few at first, the rest on request; arrow keys move between them."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QPushButton, QScrollArea, QVBoxLayout, QWidget

from warpline.analysis.findings.finding import Finding
from warpline.i18n import tr_n
from warpline_app.look.plain import PlainLabel
from warpline_app.look.theme import Theme
from warpline_app.panels.findings.card import FindingCard
from warpline_app.panels.findings.dismissed_line import DismissedLine


class CardList(QScrollArea):
    """Cards in the findings' order."""

    chosen = Signal(object)
    """a Finding"""
    created = Signal(object)
    """a new FindingCard"""
    key_pressed = Signal(object, object)
    """a FindingCard and an unhandled QKeyEvent"""

    def __init__(self, at_most: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._at_most = at_most
        self._shows_all = False
        self.cards: list[FindingCard] = []
        self.headline = PlainLabel()
        self.headline.setObjectName("verdict")
        self.headline.setContentsMargins(13, 4, 0, 2)
        self.headline.setWordWrap(True)
        self.headline.hide()
        self.more = QPushButton()
        self.more.setObjectName("link")
        self.more.clicked.connect(self._show_all)
        body = QWidget()
        body.setObjectName("panel")
        self._column = QVBoxLayout(body)
        self._column.setContentsMargins(0, 0, 0, 6)
        self._column.setSpacing(0)
        self._column.addWidget(self.headline)
        self._column.addWidget(self.more)
        self.dismissed = DismissedLine()
        self._column.addWidget(self.dismissed)
        self._column.addStretch(1)
        self.setWidget(body)

    def show_findings(
        self, findings: tuple[Finding, ...], whole_ns: int, theme: Theme, verdict: str = ""
    ) -> None:
        """Replace the cards; ``verdict`` is the heading."""
        focused = next((number for number, card in enumerate(self.cards) if card.hasFocus()), -1)
        for card in self.cards:
            self._column.removeWidget(card)
            card.hide()
            card.deleteLater()
        self.cards = []
        for number, finding in enumerate(findings):
            card = FindingCard(finding, whole_ns, theme)
            card.chosen.connect(lambda finding=finding: self.chosen.emit(finding))
            card.key_pressed.connect(lambda event, card=card: self._key(card, event))
            self._column.insertWidget(1 + number, card)
            self.cards.append(card)
            self.created.emit(card)
        self.headline.setText(verdict)
        self.headline.setVisible(bool(verdict))
        self._hide_the_rest()
        if 0 <= focused < len(self.cards):
            self.cards[focused].setFocus()

    def scroll_to(self, card: FindingCard) -> None:
        """Scroll to a card after its buttons are laid out."""
        QTimer.singleShot(0, card, lambda: self.ensureWidgetVisible(card, 0, 8))

    def set_theme(self, theme: Theme) -> None:
        """Use other colours."""
        for card in self.cards:
            card.set_theme(theme)

    def _show_all(self) -> None:
        self._shows_all = True
        self._hide_the_rest()

    def _hide_the_rest(self) -> None:
        rest = len(self.cards) - self._at_most
        is_cut = rest > 0 and not self._shows_all
        for number, card in enumerate(self.cards):
            card.setVisible(not is_cut or number < self._at_most)
        self.more.setText(tr_n("Show {count} more", "Show {count} more", max(rest, 0)))
        self.more.setVisible(is_cut)

    def _key(self, card: FindingCard, event: QKeyEvent) -> None:
        step = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1}.get(Qt.Key(event.key()), 0)
        shown = [card for card in self.cards if not card.isHidden()]
        at = next((number for number, card in enumerate(shown) if card.hasFocus()), -1)
        if step and 0 <= at + step < len(shown):
            shown[at + step].setFocus()
            self.ensureWidgetVisible(shown[at + step])
            event.accept()
        elif not step:
            self.key_pressed.emit(card, event)
