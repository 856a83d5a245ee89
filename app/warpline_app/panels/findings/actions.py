"""Actions on a finding: highlight, step through instances, explain, dismiss, copy."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject, QPoint, Qt
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QHBoxLayout, QInputDialog, QMenu, QPushButton, QWidget

from warpline.analysis.findings.finding import Budget, Finding, Hop, Where
from warpline.analysis.findings.wording import finding_markdown, finding_text
from warpline.i18n import tr
from warpline.model.frames import StackFrame
from warpline_app.look.plain import plain
from warpline_app.look.widgets import muted_label
from warpline_app.open.document import Document
from warpline_app.panels.findings.card import FindingCard
from warpline_app.panels.findings.evidence import finding_key, lit_of
from warpline_app.panels.findings.explanation import Explanation
from warpline_app.state.lit_walk import show_stretch, step_lit


class FindingActions(QObject):
    """The actions of a panel's cards."""

    def __init__(self, document: Document, parent: QWidget) -> None:
        super().__init__(parent)
        self.document = document
        self.budget: Budget | None = None
        """The budget of the diagnosis whose cards are shown."""
        self._panel = parent

    def highlight(self, finding: Finding) -> None:
        """Highlight the finding's evidence in the timeline, or remove the highlight."""
        state = self.document.state
        if state.lit is not None and state.lit.key == finding_key(finding):
            state.set_lit(None)
        else:
            state.set_lit(lit_of(self.document.capture, finding))

    def follow(self, finding: Finding | None) -> None:
        """After a new diagnosis, highlight the same finding's new evidence, or nothing."""
        state = self.document.state
        if state.lit is not None:
            state.set_lit(None if finding is None else lit_of(self.document.capture, finding))

    def go_to(self, hop: Hop) -> None:
        """Show the event or time range of a hop."""
        state = self.document.state
        if hop.row >= 0:
            state.reveal(hop.row)
        if hop.stop_ns > hop.start_ns:
            show_stretch(state, hop.start_ns, hop.stop_ns)

    def add_tools(self, card: FindingCard) -> None:
        """Add the buttons to a card."""
        finding = card.finding
        card.place = muted_label()
        card.set_tools(
            [
                _button(
                    tr("Explain"),
                    tr("Show the chain of waits, the numbers, and what would refute the finding (E)"),
                    lambda: self.explain(card),
                ),
                _side_by_side(
                    _button("‹", tr("Previous instance (,)"), lambda: step_lit(self.document.state, -1)),
                    card.place,
                    _button("›", tr("Next instance (.)"), lambda: step_lit(self.document.state, 1)),
                ),
                *self._source_button(finding.where),
                _button(tr("Copy"), tr("Copy as text (Ctrl+C) or Markdown"), lambda: self.copy_menu(card)),
                _button(tr("Dismiss…"), tr("Hide this finding (Del)"), lambda: self.dismiss_menu(card)),
            ]
        )
        card.menu_wanted.connect(lambda where: self._menu(finding, card).popup(where))

    def _source_button(self, where: Where) -> list[QPushButton]:
        """A button that opens the finding's source line; none without a file."""
        if not where.file:
            return []
        frame = StackFrame(where.function, where.file, where.line or 0)
        tip = tr("Show the source line: {place}", place=frame.place)
        return [_button(tr("Source"), tip, lambda: self.document.state.show_source(frame))]

    def explain(self, card: FindingCard) -> None:
        """Expand or collapse the explanation below a card."""
        if card.explanation is not None:
            card.set_explanation(None)
        else:
            self.explain_as(card, card.finding)

    def explain_as(self, card: FindingCard, finding: Finding) -> None:
        """Show a finding's explanation below a card, replacing any other."""
        explanation = Explanation(finding, self.budget, self.document.capture)
        explanation.hop_chosen.connect(self.go_to)
        card.set_explanation(explanation)

    def key(self, card: FindingCard, event: QKeyEvent) -> None:
        """Handle the keys of a focused card."""
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy(card.finding, as_markdown=False)
        elif event.key() == Qt.Key.Key_E:
            self.explain(card)
        elif event.key() == Qt.Key.Key_Delete:
            self.dismiss_menu(card)
        else:
            return
        event.accept()

    def copy(self, finding: Finding, *, as_markdown: bool) -> None:
        """Copy a finding."""
        QGuiApplication.clipboard().setText(
            finding_markdown(finding) if as_markdown else finding_text(finding)
        )

    def copy_menu(self, card: FindingCard) -> None:
        """Open the menu of copy formats."""
        menu = self._new_menu()
        self._add_copy(menu, card.finding)
        _popup(menu, card)

    def _add_copy(self, menu: QMenu, finding: Finding) -> None:
        menu.addAction(tr("Copy as text"), lambda: self.copy(finding, as_markdown=False))
        menu.addAction(tr("Copy as Markdown"), lambda: self.copy(finding, as_markdown=True))

    def dismiss(self, finding: Finding, reason: str) -> None:
        """Hide a finding in this capture."""
        state = self.document.state
        if state.lit is not None and state.lit.key == finding_key(finding):
            state.set_lit(None)
        self.document.dismissals.dismiss(finding_key(finding), reason)

    def dismiss_menu(self, card: FindingCard) -> None:
        """Open the menu of reasons."""
        menu = self._new_menu()
        self._add_reasons(menu, card.finding)
        _popup(menu, card)

    def _add_reasons(self, menu: QMenu, finding: Finding) -> None:
        for reason in (
            tr("This is intended"),
            tr("Known, in progress"),
            tr("This is wrong"),
        ):
            menu.addAction(reason, partial(self.dismiss, finding, reason))
        menu.addAction(tr("Other reason…"), lambda: self._ask_reason(finding))

    def _ask_reason(self, finding: Finding) -> None:
        text, is_accepted = QInputDialog.getText(self._panel, tr("Dismiss finding"), tr("Reason:"))
        if is_accepted:
            self.dismiss(finding, text.strip())

    def _menu(self, finding: Finding, card: FindingCard) -> QMenu:
        menu = self._new_menu()
        menu.addAction(tr("Highlight in the timeline"), lambda: self.highlight(finding))
        menu.addAction(tr("Explain"), lambda: self.explain(card))
        menu.addSeparator()
        self._add_copy(menu, finding)
        menu.addSeparator()
        self._add_reasons(menu.addMenu(tr("Dismiss…")), finding)
        return menu

    def _new_menu(self) -> QMenu:
        menu = QMenu(self._panel)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        return menu


def _popup(menu: QMenu, card: FindingCard) -> None:
    menu.popup(card.tools.mapToGlobal(QPoint(0, card.tools.height())))


def _side_by_side(*widgets: QWidget) -> QWidget:
    group = QWidget()
    row = QHBoxLayout(group)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(6)
    for widget in widgets:
        row.addWidget(widget)
    return group


def _button(text: str, hint: str, act: Callable[[], object]) -> QPushButton:
    button = QPushButton(text)
    button.setObjectName("tool")
    button.setToolTip(plain(hint))
    button.setAccessibleName(hint)
    button.clicked.connect(lambda _checked: act())
    return button
