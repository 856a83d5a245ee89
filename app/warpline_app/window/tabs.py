"""The tabs of a window, one for each item of its workspace."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QAbstractButton, QApplication, QMenu, QTabWidget, QToolButton, QWidget

from warpline.i18n import tr
from warpline_app.commands.runner import CommandRunner
from warpline_app.open.activity import Activity
from warpline_app.open.comparing import ComparedPair
from warpline_app.open.document import Document
from warpline_app.open.job.board import JobBoard
from warpline_app.open.job.opening import JobOpening
from warpline_app.open.opening import Opening
from warpline_app.open.workspace import Item, Workspace
from warpline_app.window.capture_page import CapturePage
from warpline_app.window.drop_tab_bar import DropTabBar
from warpline_app.window.opening_page import OpeningPage

if TYPE_CHECKING:
    from warpline_app.comparison.page import ComparisonPage


_COLLECTED_AFTER_MS = 250
"""Delay until Qt has deleted the widgets of several tabs closed in a row."""


class CaptureTabs(QTabWidget):
    """Follows the workspace: adds, raises and removes pages.

    What the user does to tabs (choose, close, move) goes to the workspace, which decides what happens.
    """

    page_opened = Signal(object)
    """a CapturePage: a file was opened"""

    def __init__(self, workspace: Workspace, commands: CommandRunner, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        bar = DropTabBar(self._source_of, self)
        bar.dropped.connect(self._compare_dropped)
        bar.hovered.connect(self._tell_drop)
        self.setTabBar(bar)
        self._workspace, self._commands = workspace, commands
        self._pages: dict[Item, QWidget] = {}
        self._timelines: dict[Document | ComparedPair, CapturePage | ComparisonPage] = {}
        self.setObjectName("captureTabs")
        self.setDocumentMode(True)
        self.setTabsClosable(True)
        self.setMovable(True)
        self.setTabBarAutoHide(True)
        self.tabBar().setDrawBase(False)
        self.setElideMode(Qt.TextElideMode.ElideNone)
        self.list_button = QToolButton()
        self.list_button.setObjectName("tabList")
        self.list_button.setArrowType(Qt.ArrowType.DownArrow)
        self.list_button.setToolTip(tr("All tabs"))
        self.list_button.setAccessibleName(tr("All tabs"))
        self.list_button.clicked.connect(self.show_list)
        self.setCornerWidget(self.list_button)
        self.tabCloseRequested.connect(lambda index: workspace.close(workspace.items[index]))
        self.currentChanged.connect(self._tab_chosen)
        self.tabBar().tabMoved.connect(workspace.move)
        workspace.item_added.connect(self._add)
        workspace.item_replaced.connect(self._replace)
        workspace.item_removed.connect(self._remove)
        workspace.front_changed.connect(self._raise)
        # Widgets, callbacks and documents form reference cycles. Python would collect old ones only after many new
        # objects,
        # and large columns and pictures count as few objects.
        self._collect_soon = QTimer(self)
        self._collect_soon.setSingleShot(True)
        self._collect_soon.setInterval(_COLLECTED_AFTER_MS)
        self._collect_soon.timeout.connect(gc.collect)
        workspace.item_removed.connect(lambda _item: self._collect_soon.start())
        workspace.item_replaced.connect(lambda _old, _new: self._collect_soon.start())
        workspace.document_opened.connect(lambda document: self.page_opened.emit(self._pages[document]))

    @property
    def pages(self) -> list[CapturePage]:
        """The pages of open captures, in tab order."""
        return [page for item in self._workspace.items if isinstance(page := self._pages[item], CapturePage)]

    @property
    def current_page(self) -> CapturePage | None:
        """The page of the capture in front, or None."""
        page = self.timeline_page
        return page if isinstance(page, CapturePage) else None

    @property
    def timeline_page(self) -> CapturePage | ComparisonPage | None:
        """The page in front if it shows one or two timelines, else None."""
        front = self._workspace.front
        if isinstance(front, Activity):
            return self._timelines.get(front.document) if front.document is not None else None
        return self._timelines.get(front) if isinstance(front, Document | ComparedPair) else None

    def page_of(self, item: Item) -> QWidget:
        """The page of an item. Raises KeyError for an item without a tab."""
        return self._pages[item]

    def forget_document(self, document: Document) -> None:
        """Release a document's timeline before its file is closed."""
        page = self._timelines.pop(document, None)
        self._pages.pop(document, None)
        if isinstance(page, CapturePage):
            page.take_timeline_away()
            page.deleteLater()

    # -- updates from the workspace -------------------------------------------------------------------------

    def _add(self, item: Item) -> None:
        self._insert(self.count(), item)

    def _insert(self, index: int, item: Item) -> None:
        page = self._pages[item] = self._live_page(item) or self._page_for(item)
        # The workspace decides which tab is in front.
        self.blockSignals(True)
        self.insertTab(index, page, item.title)
        self.blockSignals(False)
        if isinstance(item, Document):
            hint = tr("Drag this tab onto another one to compare them")
            self.setTabToolTip(index, f"{item.source}\n{hint}")
        elif isinstance(item, JobBoard):
            self.setTabToolTip(index, "\n".join(map(str, item.paths[:20])))

    def _page_for(self, item: Item) -> QWidget:
        """Raises TypeError for an item without a page."""
        if isinstance(item, Document):
            return self._capture_page(item)
        if isinstance(item, ComparedPair):
            return self._comparison_page(item)
        if isinstance(item, JobBoard | JobOpening):
            return self._job_page(item)
        if isinstance(item, Opening):
            page = OpeningPage(item)
            page.cancel_requested.connect(lambda: self._workspace.close(item))
            return page
        # Imported only for recordings.
        from warpline_app.recording.recording import Recording
        from warpline_app.window.recording_page import RecordingPage

        if isinstance(item, Recording):
            return RecordingPage(item, self._capture_page)
        raise TypeError(f"no page shows a {type(item).__name__}")

    def _capture_page(self, document: Document) -> CapturePage:
        # Imports the timeline, which the opening thread has loaded.
        from warpline_app.verbs.timeline_input import TimelineInput

        shown = self._timelines[document] = CapturePage(document, self._workspace)
        TimelineInput(shown.navigator, self._commands)
        return shown

    def _live_page(self, item: Item) -> QWidget | None:
        """The page that has shown a document while it was recorded."""
        page = self._timelines.get(item) if isinstance(item, Document) else None
        if page is not None:
            page.setParent(None)
        return page

    def _job_page(self, item: JobBoard | JobOpening) -> QWidget:
        # Imported only for jobs.
        from warpline_app.job.opening_page import JobOpeningPage
        from warpline_app.job.page import JobPage

        if isinstance(item, JobBoard):
            return JobPage(item, self._workspace)
        page = JobOpeningPage(item)
        page.cancel_requested.connect(lambda: self._workspace.close(item))
        return page

    def _comparison_page(self, pair: ComparedPair) -> QWidget:
        # Imported only for comparisons.
        from warpline_app.comparison.page import ComparisonPage
        from warpline_app.verbs.timeline_input import TimelineInput

        page = self._timelines[pair] = ComparisonPage(pair, self._workspace)
        for navigator in page.navigators:
            TimelineInput(navigator, self._commands)
        return page

    def _replace(self, old: Item, new: Item) -> None:
        index, is_in_front = self.indexOf(self._pages[old]), self._workspace.front is old
        focus = QApplication.focusWidget()
        # Leave the keyboard where somebody types, such as the palette; nobody types into the button that opened it.
        page = self._pages[old]
        has_keyboard = (
            focus is None or isinstance(focus, QAbstractButton) or focus is page or page.isAncestorOf(focus)
        )
        self._live_page(new)
        self._take_out(old)
        self._insert(index, new)
        if is_in_front:
            self.blockSignals(True)
            self.setCurrentIndex(index)
            self.blockSignals(False)
            if isinstance(old, Activity) and has_keyboard:
                self._pages[new].setFocus()

    def _remove(self, item: Item) -> None:
        self._take_out(item)

    def _take_out(self, item: Item) -> None:
        self.blockSignals(True)
        self.removeTab(self.indexOf(self._pages[item]))
        self.blockSignals(False)
        if isinstance(item, Document):
            return
        page = self._timelines.pop(item, None) if isinstance(item, ComparedPair) else None
        if page is not None and not isinstance(page, CapturePage):
            page.take_timelines_away()
        self._pages.pop(item).deleteLater()

    def _raise(self, item: Item | None) -> None:
        if item is None:
            return
        page = self._pages[item]
        self.blockSignals(True)
        self.setCurrentWidget(page)
        self.blockSignals(False)
        if isinstance(item, Activity) and item.job is None:
            page.setFocus()  # what is typed goes to the recorded program

    def show_list(self) -> QMenu:
        """List all tabs in a menu; choosing one brings it to the front."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for item in self._workspace.items:
            entry = menu.addAction(item.title.replace("&", "&&"))
            entry.setCheckable(True)
            entry.setChecked(item is self._workspace.front)
            entry.triggered.connect(lambda _checked, item=item: self._workspace.bring_to_front(item))
        menu.popup(self.list_button.mapToGlobal(self.list_button.rect().bottomLeft()))
        return menu

    def tabInserted(self, index: int) -> None:
        """Offer the list of tabs when there are several."""
        super().tabInserted(index)
        self.list_button.setVisible(self.count() > 1)

    def tabRemoved(self, index: int) -> None:
        """Put the list of tabs away with the last but one."""
        super().tabRemoved(index)
        self.list_button.setVisible(self.count() > 1)

    def _source_of(self, index: int) -> Path | None:
        """The file a tab shows, None for a tab without a capture."""
        items = self._workspace.items
        item = items[index] if 0 <= index < len(items) else None
        return item.source if isinstance(item, Document) else None

    def _tell_drop(self, index: int, path: Path) -> None:
        before = self._source_of(index)
        if before is not None:
            self._workspace.tell(tr("Drop to compare {a} (A) with {b} (B)", a=before.name, b=path.name))

    def _compare_dropped(self, index: int, path: Path) -> None:
        before = self._source_of(index)
        if before is not None:
            # A drag may still run in its own mouse handler: change the tabs afterwards.
            QTimer.singleShot(0, self, lambda: self._workspace.compare(before, path))

    # -- what a person does ---------------------------------------------------------------------------------

    def _tab_chosen(self, index: int) -> None:
        if 0 <= index < self.count():
            self._workspace.bring_to_front(self._workspace.items[index])
