"""The cards below the budget: a few at first, the rest on request; arrow keys move between them."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QEvent, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QLayout, QPushButton, QScrollArea, QVBoxLayout, QWidget

from warpline.analysis.findings.finding import Finding
from warpline.i18n import tr_n
from warpline_app.look.theme import Theme
from warpline_app.look.wrapped import WrappedLabel
from warpline_app.panels.findings.card import FindingCard
from warpline_app.panels.findings.dismissed_line import DismissedLine

_ABOVE_EXPLANATION_PX = 40
"""What stays in sight of the finding that is explained."""


class CardList(QScrollArea):
    """Cards in the findings' order."""

    chosen = Signal(object)
    """a Finding"""
    created = Signal(object)
    """a new FindingCard"""
    all_wanted = Signal()
    """all findings again, not only those of one cause"""
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
        self._kept: frozenset[int] | None = None
        self.cards: list[FindingCard] = []
        self.headline = WrappedLabel("")
        self.headline.setObjectName("verdict")
        self.headline.setContentsMargins(13, 4, 0, 2)
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
        self._kept = None
        for number, finding in enumerate(findings):
            card = FindingCard(finding, whole_ns, theme)
            card.chosen.connect(lambda finding=finding: self.chosen.emit(finding))
            card.key_pressed.connect(lambda event, card=card: self._key(card, event))
            card.explained.connect(
                lambda card=card: QTimer.singleShot(0, card, lambda: self._show_explanation(card))
            )
            self._column.insertWidget(1 + number, card)
            self.cards.append(card)
            self.created.emit(card)
        self.headline.setText(verdict)
        self.headline.setVisible(bool(verdict))
        self._hide_the_rest()
        if 0 <= focused < len(self.cards):
            self.cards[focused].setFocus()

    def scroll_to(self, card: FindingCard) -> None:
        """Scroll to a card and its buttons after these are laid out."""
        QTimer.singleShot(0, card, lambda: self._show_with_tools(card))

    def _show_with_tools(self, card: FindingCard) -> None:
        self._lay_out(card.layout())
        self.ensureWidgetVisible(card, 0, 8)
        self.ensureWidgetVisible(card.tools, 0, 8)

    def lay_out(self) -> None:
        """Give the cards their heights now; Qt does it one frame later."""
        self._lay_out(*(card.layout() for card in self.cards))
        body = self.widget()
        if body is not None:
            QCoreApplication.sendEvent(body, QEvent(QEvent.Type.LayoutRequest))

    def _lay_out(self, *layouts: QLayout | None) -> None:
        for layout in (*layouts, self._column):
            if layout is not None:
                layout.activate()
        body = self.widget()
        if body is not None:
            body.adjustSize()

    def _show_explanation(self, card: FindingCard) -> None:
        """Scroll so that an explanation is seen: its end if there is room, in any case its beginning."""
        explanation, body = card.explanation, self.widget()
        if explanation is None or body is None:
            return
        self._lay_out(explanation.layout(), card.layout())
        bar, room = self.verticalScrollBar(), self.viewport().height()
        begin = explanation.mapTo(body, QPoint(0, 0)).y() - _ABOVE_EXPLANATION_PX
        end = card.geometry().bottom() + 8 - room
        bar.setValue(min(max(bar.value(), end), begin))

    def set_theme(self, theme: Theme) -> None:
        """Use other colours."""
        for card in self.cards:
            card.set_theme(theme)

    def keep(self, numbers: frozenset[int] | None) -> None:
        """Show only the cards with these numbers; None shows them all again."""
        if numbers != self._kept:
            self._kept = numbers
            self._hide_the_rest()
            self.verticalScrollBar().setValue(0)

    def _show_all(self) -> None:
        if self._kept is not None:
            self.all_wanted.emit()
            return
        self._shows_all = True
        self._hide_the_rest()

    def _hide_the_rest(self) -> None:
        if self._kept is not None:
            for number, card in enumerate(self.cards):
                card.setVisible(number in self._kept)
            hidden = len(self.cards) - len(self._kept)
            self.more.setText(
                tr_n(
                    "Show {count} finding with other causes",
                    "Show {count} findings with other causes",
                    hidden,
                )
            )
            self.more.setVisible(hidden > 0)
            return
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
