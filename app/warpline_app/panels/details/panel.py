"""Details of the selected event: time, place, attributes with units, links and nesting."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QBrush, QFont, QGuiApplication, QKeyEvent, QKeySequence
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QHeaderView,
    QMenu,
    QPushButton,
    QSizePolicy,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from warpline.i18n import tr, translated
from warpline.model.frames import StackFrame
from warpline.model.progress import IsCancelled
from warpline.model.tracks import Track
from warpline_app.look.native_keys import native_keys
from warpline_app.look.plain import PlainLabel, plain
from warpline_app.look.theme import Theme
from warpline_app.look.widgets import muted_label, single_shot
from warpline_app.look.wrapped import breakable
from warpline_app.open.background import Job
from warpline_app.open.document import Document
from warpline_app.panels.details.wrapping import WrappingDelegate
from warpline_app.panels.facts.event_facts import EventFacts, Section, event_facts
from warpline_app.panels.facts.fact import Fact
from warpline_app.panels.facts.gap_facts import gap_facts, gap_reasons
from warpline_app.panels.facts.view_facts import view_facts, view_sections
from warpline_app.panels.frame.base import Panel
from warpline_app.panels.frame.scope import scope_suffix, selected_tracks
from warpline_app.timeline.draw.name_colors import NameColors

ROW_ROLE = Qt.ItemDataRole.UserRole
COPY_ROLE = Qt.ItemDataRole.UserRole + 1
"""a line's texts for copying, without break characters"""
_LINES_OF_NAME = 4
_NARROWEST_TITLES = 84
_WIDEST_TITLES = 168
_DELAY_MS = 250
"""Delay before the visible time is analysed."""


class FactTree(QTreeWidget):
    """Sections of two columns; a click or Return on a linked line follows the link."""

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._document = document
        self.setColumnCount(2)
        self.setHeaderHidden(True)
        self.setIndentation(12)
        self.setRootIsDecorated(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setMouseTracking(True)
        self.setAccessibleName(tr("Facts about the event"))
        font = QFont(self.font())
        font.setPixelSize(12)
        self.setFont(font)
        self.setItemDelegate(WrappingDelegate(self))
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        header = self.header()
        header.setStretchLastSection(True)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Interactive)
        self._title_px = _NARROWEST_TITLES
        """title width set last"""
        header.resizeSection(0, self._title_px)
        self.itemClicked.connect(self._follow)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._menu)
        self._closed: dict[str, bool] = {}
        self.itemExpanded.connect(lambda item: self._remember(item, False))
        self.itemCollapsed.connect(lambda item: self._remember(item, True))

    def show_facts(self, facts: EventFacts, theme: Theme) -> None:
        """Show an event."""
        self.clear()
        muted, link = QBrush(theme.color("muted")), QBrush(theme.color("link"))
        text = QBrush(theme.color("text"))
        bold = QFont(self.font())
        bold.setBold(True)
        for section in facts.sections:
            items = [self._item(fact, muted, link, text) for fact in section.facts]
            if not section.title:
                self.addTopLevelItems(items)
                continue
            head = QTreeWidgetItem([section.title])
            head.setFirstColumnSpanned(True)
            head.setFont(0, bold)
            head.addChildren(items)
            self.addTopLevelItem(head)
            head.setFirstColumnSpanned(True)
            head.setExpanded(not self._closed.get(self._key(section.title), not section.is_open))
            for item, fact in zip(items, section.facts, strict=True):
                # A line without a title uses the full width.
                if not fact.title:
                    item.setFirstColumnSpanned(True)
        self._fit_titles([fact.title for section in facts.sections for fact in section.facts])

    def _fit_titles(self, titles: list[str]) -> None:
        """Size the title column to its content, up to a limit, unless the user set a width."""
        header = self.header()
        if header.sectionSize(0) != self._title_px:
            return
        indent = 2 * self.indentation() + 14
        needed = max((self.fontMetrics().horizontalAdvance(title) for title in titles), default=0) + indent
        self._title_px = max(_NARROWEST_TITLES, min(needed, _WIDEST_TITLES))
        header.resizeSection(0, self._title_px)

    def _item(self, fact: Fact, muted: QBrush, link: QBrush, text: QBrush) -> QTreeWidgetItem:
        value = f"{fact.value}   {fact.note}" if fact.note else fact.value
        shown = breakable(value)
        item = QTreeWidgetItem([fact.title, shown] if fact.title else [shown, ""])
        for place in (0, 1):
            item.setTextAlignment(place, Qt.AlignmentFlag.AlignTop)
        item.setData(0, COPY_ROLE, [part for part in (fact.title, value) if part])
        track = None if fact.track is None else self._document.capture.tracks[fact.track]
        item.setData(0, ROW_ROLE, next((to for to in (fact.row, fact.frame, track) if to is not None), None))
        column = 1 if fact.title else 0
        item.setForeground(0, muted if fact.title else text)
        is_library = fact.row is None and fact.frame is not None and not fact.frame.is_own
        item.setForeground(column, muted if is_library else link if fact.is_link else text)
        item.setToolTip(column, plain(value))
        if fact.title:
            item.setToolTip(0, plain(fact.title))
        return item

    @staticmethod
    def _key(title: str) -> str:
        # "Contains 12 events" and "Contains 3 events" are the same section.
        return "".join(letter for letter in title if not letter.isdigit() and letter != ",").rstrip("s")

    def _remember(self, item: QTreeWidgetItem, is_closed: bool) -> None:
        self._closed[self._key(item.text(0))] = is_closed

    def _follow(self, item: QTreeWidgetItem, _column: int = 0) -> None:
        target = item.data(0, ROW_ROLE)
        if isinstance(target, int):
            self._document.state.reveal(target)
        elif isinstance(target, StackFrame):
            self._document.state.show_source(target)
        elif isinstance(target, Track):
            self._document.state.reveal_row(target.uri)

    def viewportEvent(self, event: QEvent) -> bool:
        """Show a hand cursor over links."""
        if event.type() == QEvent.Type.MouseMove:
            item = self.itemAt(event.position().toPoint())  # type: ignore[attr-defined]  # QMouseEvent
            leads = item is not None and item.data(0, ROW_ROLE) is not None
            self.viewport().setCursor(
                Qt.CursorShape.PointingHandCursor if leads else Qt.CursorShape.ArrowCursor
            )
        return super().viewportEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Return follows a link, Ctrl+C copies."""
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        elif event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            item = self.currentItem()
            if item is not None:
                self._follow(item)
        else:
            super().keyPressEvent(event)

    def keyboardSearch(self, search: str) -> None:
        """Disabled: letters are commands."""

    def copy(self) -> None:
        """Copy the selected lines, or all if none is selected."""
        items = self.selectedItems() or self._all_items()
        lines = ["\t".join(item.data(0, COPY_ROLE) or [item.text(0)]) for item in items]
        QGuiApplication.clipboard().setText("\n".join(lines))

    def _all_items(self) -> list[QTreeWidgetItem]:
        items: list[QTreeWidgetItem] = []
        for index in range(self.topLevelItemCount()):
            head = self.topLevelItem(index)
            if head is not None:
                items.append(head)
                children = (head.child(number) for number in range(head.childCount()))
                items += [child for child in children if child is not None]
        return items

    def _menu(self, position: QPoint) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(tr("Copy") + native_keys("\tCtrl+C"), self.copy)
        item = self.itemAt(position)
        if item is not None and item.data(0, ROW_ROLE) is not None:
            menu.addAction(tr("Go there"), lambda: self._follow(item))
        menu.popup(self.viewport().mapToGlobal(position))


class DetailsPanel(Panel):
    """Follows the selection."""

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(document, parent)
        self._page = QWidget()
        self.mark = QWidget()
        self.mark.setFixedWidth(3)
        self.mark.setAutoFillBackground(True)
        self.name = PlainLabel()
        self.name.setTextFormat(Qt.TextFormat.PlainText)
        self.name.setWordWrap(True)
        self.name.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        # Template names have few break opportunities, so the panel's width must not depend on the longest word.
        self.name.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.name.setObjectName("subhead")
        self.kind = muted_label()
        texts = QVBoxLayout()
        texts.setSpacing(2)
        texts.addWidget(self.name)
        texts.addWidget(self.kind)
        head = QHBoxLayout()
        head.setContentsMargins(10, 8, 8, 6)
        head.setSpacing(9)
        head.addWidget(self.mark)
        head.addLayout(texts, 1)
        self.tree = FactTree(document)
        layout = QVBoxLayout(self._page)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        self.findings = QPushButton(tr("Findings for this range"))
        self.findings.setObjectName("link")
        self.findings.setToolTip(tr("Select this time range and show its findings"))
        self.findings.clicked.connect(self._show_findings)
        layout.addLayout(head)
        layout.addWidget(self.findings)
        layout.addWidget(self.tree, 1)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(self._page)
        self.facts: EventFacts | None = None
        self._job: Job | None = None
        self._question: object = None
        """what the running job is to answer"""
        self._answer: tuple[object, Any] | None = None
        """a background request and its result"""
        self._delay_timer = single_shot(self, _DELAY_MS, self.mark_stale)
        self.state.selection_changed.connect(self.mark_stale)
        self.state.gap_changed.connect(self.mark_stale)
        self.state.origin_changed.connect(self.mark_stale)
        self.state.view_changed.connect(self._time_changed)
        self.state.range_selection_changed.connect(self._time_changed)
        self.state.track_selection_changed.connect(self._time_changed)

    @property
    def is_busy(self) -> bool:
        """Whether something is being computed."""
        return self._job is not None or self._delay_timer.isActive()

    def _time_changed(self, *_values: object) -> None:
        """Analyse a new range after a short delay, unless an event is selected."""
        if self.state.selection is None and self.state.gap is None:
            self._stop_asking()
            self._delay_timer.start()

    def refresh(self) -> None:
        """Show the selected event or gap, else the visible range."""
        row, gap = self.state.selection, self.state.gap
        capture, origin = self.document.capture, self.state.origin_ns
        if row is not None:
            self._stop_asking()
            self.facts = event_facts(capture, row, origin)
            self.findings.setVisible(capture.event_span(row)[1] > capture.event_span(row)[0])
        elif gap is not None:
            found = self._ask(gap, partial(gap_reasons, capture, gap))
            why = (Fact(tr("Unknown"), str(found)),) if isinstance(found, Exception) else found
            self.facts = gap_facts(capture, gap, origin, why)
            self.findings.show()
        else:
            chosen = self.state.range_selection
            span = chosen or self.state.view
            tracks = selected_tracks(capture, self.state)
            found = self._ask((span, tracks), partial(view_sections, capture, span, tracks))
            failed = (Section("", (Fact(tr("Unknown"), str(found)),)),)
            told = failed if isinstance(found, Exception) else found
            suffix = scope_suffix(capture, self.state)
            hints = self.document.hints.are_wanted
            self.facts = view_facts(span, chosen is not None, origin, told, suffix, with_hints=hints)
            self.findings.setVisible(chosen is not None)
        self._show()

    def _ask(self, question: object, find: Callable[[IsCancelled], Any]) -> Any:
        """The result or exception of a background request; None while it runs, followed by a refresh."""
        if self._answer is not None and self._answer[0] == question:
            return self._answer[1]
        if self._job is not None and self._question == question:
            return None
        self._stop_asking()
        job = Job(lambda _progress, is_cancelled: find(is_cancelled), self, again=self._ask_again)
        self._job, self._question = job, question

        def show(answer: object) -> None:
            # A cancelled job is already forgotten: a refresh on its behalf would cancel the one that followed it.
            if self._job is job:
                self._job, self._answer = None, (question, answer)
                self.mark_stale()

        job.succeeded.connect(show)
        job.failed.connect(show)
        job.launch()
        return None

    def _ask_again(self) -> None:
        self._job = None
        self.mark_stale()

    def _stop_asking(self) -> None:
        """Cancel the request that runs, if any."""
        if self._job is not None:
            self._job.cancel()
            self._job = None

    def _show_findings(self) -> None:
        """Select the shown range and show its findings."""
        row, gap = self.state.selection, self.state.gap
        if row is not None:
            self.state.select_range(*self.document.capture.event_span(row))
        elif gap is not None:
            self.state.select_range(*gap.with_end)
        self.state.ask_findings()

    def _show(self) -> None:
        facts = self.facts
        if facts is None:
            return
        name = facts.name or tr("(without a name)")
        metrics = self.name.fontMetrics()
        limit = metrics.horizontalAdvance("x") * 42 * _LINES_OF_NAME
        self.name.setText(breakable(metrics.elidedText(name, Qt.TextElideMode.ElideMiddle, limit)))
        self.name.setToolTip(plain(name))
        self.kind.setText(translated(facts.kind_title))
        row = self.state.selection
        color = self.theme.family("neutral")
        if row is not None:
            color = NameColors(self.document.capture, self.theme).of_event(row)
        self.mark.setStyleSheet(f"background: {color}; border-radius: 1px;")
        self.tree.show_facts(facts, self.theme)

    def apply_theme(self, theme: Theme) -> None:
        self._show()
