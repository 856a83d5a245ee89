"""The main window: tabs of captures, what surrounds them, and where commands act."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QMimeData, Qt, QUrl, Signal
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent, QGuiApplication
from PySide6.QtWidgets import (
    QFileDialog,
    QMainWindow,
    QMenu,
    QStackedWidget,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from warpline.i18n import tr
from warpline.library.opening import Opened
from warpline_app.commands.actions import CommandActions
from warpline_app.panels.frame.layout import PanelLayout
from warpline_app.panels.frame.registry import PANELS
from warpline_app.session.alignment import ClockShifts, moved, remembered
from warpline_app.session.background import Job
from warpline_app.session.document import Document
from warpline_app.session.opening import OpenProblem, open_job, problem_of
from warpline_app.session.page import CapturePage
from warpline_app.session.settings import Settings
from warpline_app.verbs.catalogue import all_commands
from warpline_app.verbs.timeline_input import TimelineInput
from warpline_app.window.context import WindowContext
from warpline_app.window.menus import RecentMenu, theme_menu
from warpline_app.window.message_bars import MessageStack
from warpline_app.window.search_link import SearchLink
from warpline_app.window.statusline import StatusLine
from warpline_app.window.toolrow import ToolRow
from warpline_app.window.welcome import OpeningPage, WelcomePage

if TYPE_CHECKING:
    from warpline.storage import Capture
    from warpline_app.recording.page import RecordingPage


_windows: list[MainWindow] = []
"""Windows that are open, in the order in which they were made; nobody else keeps them alive."""


def open_windows() -> tuple[MainWindow, ...]:
    """The windows that are open."""
    return tuple(_windows)


class MainWindow(QMainWindow):
    """Shows captures in tabs; opens, closes and remembers."""

    capture_opened = Signal(object)
    """a CapturePage"""
    open_failed = Signal(object)
    """an OpenProblem"""
    current_changed = Signal()
    """Another tab is in front, or none."""

    def __init__(self, settings: Settings | None = None) -> None:
        super().__init__()
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setAcceptDrops(True)
        self.setWindowTitle("Warpline")
        self.settings = settings or Settings()
        self.context = WindowContext(self)
        self.actions_ = CommandActions(self, self.context, all_commands())
        self.tabs = QTabWidget()
        self.tabs.setObjectName("captureTabs")
        self.tabs.setDocumentMode(True)
        self.tabs.setTabsClosable(True)
        self.tabs.setMovable(True)
        self.tabs.setTabBarAutoHide(True)
        self.tabs.tabBar().setDrawBase(False)
        self.tabs.setElideMode(Qt.TextElideMode.ElideMiddle)
        self.tabs.tabCloseRequested.connect(self._close_index)
        self.tabs.currentChanged.connect(self._tab_changed)
        self.welcome = WelcomePage(self.actions_)
        self.welcome.recent_chosen.connect(self.open_file)
        self._center = QStackedWidget()
        self._center.addWidget(self.welcome)
        self._center.addWidget(self.tabs)
        self.messages = MessageStack()
        self.panels = PanelLayout(self._center, parent=self)
        self.tool_row = ToolRow(self.actions_)
        self.tool_row.search.left.connect(self.give_focus_back)
        self.search = SearchLink(self.tool_row.search, self.tool_row.matches, self)
        self.status_line = StatusLine()
        body = QWidget()
        column = QVBoxLayout(body)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.tool_row)
        column.addWidget(self.messages)
        column.addWidget(self.panels.widget, 1)
        column.addWidget(self.status_line)
        self.setCentralWidget(body)
        self.menus = self.actions_.fill_menu_bar(
            self.menuBar(),
            {"file.open": self._recent_menu, "view.full_screen": partial(theme_menu, self.actions_)},
        )
        self.menus["File"].aboutToShow.connect(self._recent.fill)
        self.actions_.ran.connect(lambda _id: self.tool_row.refresh())
        self._jobs: dict[OpeningPage, Job] = {}
        self._page: CapturePage | None = None
        self._restore()
        self.tool_row.set_document(None)
        self.status_line.set_document(None)
        self._tab_changed()
        self.welcome.setFocus()
        _windows.append(self)

    # -- what is open ---------------------------------------------------------------------------------------

    @property
    def pages(self) -> list[CapturePage]:
        """The open captures in the order of their tabs."""
        widgets = (self.tabs.widget(index) for index in range(self.tabs.count()))
        return [widget for widget in widgets if isinstance(widget, CapturePage)]

    @property
    def current_page(self) -> CapturePage | None:
        """The capture in front, None while another kind of tab or nothing is."""
        widget = self.tabs.currentWidget()
        return widget if isinstance(widget, CapturePage) else None

    @property
    def is_opening(self) -> bool:
        """Whether a file is being opened."""
        return bool(self._jobs)

    # -- opening --------------------------------------------------------------------------------------------

    def open_files(self, paths: list[Path]) -> None:
        """Open several files, each in a tab."""
        for path in paths:
            self.open_file(path)

    def open_file(self, path: Path, console_text: str = "") -> None:
        """Open a file in a tab of its own, in the background; one that is open already comes to the front."""
        path = path.absolute()
        for page in self.pages:
            if page.source == path and not console_text:
                self.tabs.setCurrentWidget(page)
                return
        self.watch_opening(path, open_job(path, self), console_text)

    def watch_opening(self, path: Path, job: Job, console_text: str = "") -> None:
        """Show a job that will succeed with `Opened` in a tab of its own, and the capture in its place."""
        opening = OpeningPage(path)
        self._jobs[opening] = job
        opening.cancel_requested.connect(lambda: self._stop_opening(opening))
        job.progressed.connect(opening.report)
        job.succeeded.connect(lambda opened: self._opened(opening, opened, console_text))
        job.failed.connect(lambda error: self._failed(opening, problem_of(path, error)))
        job.cancelled.connect(lambda: self._remove_opening(opening))
        self._add_tab(opening, path.name)
        job.launch()

    def _stop_opening(self, opening: OpeningPage) -> None:
        job = self._jobs.get(opening)
        if job is not None:
            job.cancel()
        self._remove_opening(opening)

    def _remove_opening(self, opening: OpeningPage) -> None:
        # A job that was cancelled says so once it has ended; its tab is gone by then.
        if self._jobs.pop(opening, None) is not None:
            self._drop_tab(opening)

    def _opened(self, opening: OpeningPage, opened: Opened, console_text: str) -> None:
        if opening not in self._jobs:
            opened.capture.close()
            return
        del self._jobs[opening]
        alignment = remembered(opened.capture, self.settings)
        capture = moved(opened.capture, alignment.shifts) if alignment.shifts else opened.capture
        document = Document(capture, opened.source.name, self)
        document.alignment = alignment
        document.console_text = console_text
        page = CapturePage(document, opened.source, self.settings)
        TimelineInput(page.view, self.actions_)
        index = self.tabs.indexOf(opening)
        was_current = self.tabs.currentWidget() is opening
        self.tabs.removeTab(index)
        opening.deleteLater()
        self.tabs.insertTab(index, page, opened.source.name)
        self.tabs.setTabToolTip(index, str(opened.source))
        if was_current:
            self.tabs.setCurrentWidget(page)
            page.setFocus()
        self.settings.add_recent_file(opened.source)
        self._tab_changed()
        self.capture_opened.emit(page)

    def replace_capture(self, page: CapturePage, capture: Capture, alignment: ClockShifts) -> CapturePage:
        """Show the same file with other clocks in place of a page; what is in view and selected stays so."""
        old = page.document
        document = Document(capture, old.title, self)
        document.alignment, document.console_text = alignment, old.console_text
        page.view.save_layout()
        made = CapturePage(document, page.source, self.settings)
        TimelineInput(made.view, self.actions_)
        document.state.take_over(old.state)
        index, is_current = self.tabs.indexOf(page), self.tabs.currentWidget() is page
        # One change of tabs is told: from the old page to the new one.
        self.tabs.blockSignals(True)
        self.tabs.removeTab(index)
        self.tabs.insertTab(index, made, old.title)
        self.tabs.setTabToolTip(index, str(page.source))
        if is_current:
            self.tabs.setCurrentIndex(index)
        self.tabs.blockSignals(False)
        self._tab_changed()
        self.panels.forget_document(old)
        page.take_timeline_away()
        page.deleteLater()
        return made

    def add_page(self, page: CapturePage) -> None:
        """Show a capture that is open already."""
        TimelineInput(page.view, self.actions_)
        self._add_tab(page, page.document.title)
        self.tabs.setTabToolTip(self.tabs.indexOf(page), str(page.source))

    def _failed(self, opening: OpeningPage, problem: OpenProblem) -> None:
        self._remove_opening(opening)
        self.messages.show_message(problem.text, "error", problem.details)
        self.open_failed.emit(problem)

    def choose_files(self) -> None:
        """Ask for files and open them."""
        dialog = QFileDialog(self, tr("Open"))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        dialog.setNameFilters(
            [
                tr("Captures and traces")
                + " (*.h5 *.hdf5 *.json *.json.gz *.sqlite *.csv *.gz *.zip *.nsys-rep)",
                tr("Captures") + " (*.h5 *.hdf5)",
                tr("All files") + " (*)",
            ]
        )
        if self.settings.last_folder:
            dialog.setDirectory(self.settings.last_folder)
        dialog.filesSelected.connect(self._files_chosen)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.open()

    def _files_chosen(self, names: list[str]) -> None:
        paths = [Path(name) for name in names]
        if paths:
            self.settings.last_folder = str(paths[0].parent)
        self.open_files(paths)

    # -- recording ------------------------------------------------------------------------------------------

    def add_recording(self, page: RecordingPage) -> None:
        """Show a running recording in a tab; its capture opens in its place."""
        page.capture_ready.connect(lambda path: self._recording_done(page, path))
        page.capture_written.connect(lambda path: self.open_file(path, page.console_text))
        page.closed.connect(lambda: self._drop_tab(page))
        self._add_tab(page, page.title)
        page.setFocus()

    def _recording_done(self, page: RecordingPage, path: Path) -> None:
        text = page.console_text
        self._drop_tab(page)
        self.open_file(path, text)

    # -- tabs -----------------------------------------------------------------------------------------------

    def _add_tab(self, widget: QWidget, title: str) -> None:
        self.tabs.addTab(widget, title)
        self.tabs.setCurrentWidget(widget)
        self._tab_changed()

    def _drop_tab(self, widget: QWidget) -> None:
        index = self.tabs.indexOf(widget)
        if index >= 0:
            self.tabs.removeTab(index)
            widget.deleteLater()
        self._tab_changed()

    def close_current(self) -> None:
        """Close the tab in front."""
        if self.tabs.count():
            self._close_index(self.tabs.currentIndex())

    def _close_index(self, index: int) -> None:
        widget = self.tabs.widget(index)
        if isinstance(widget, CapturePage):
            self._close_page(widget)
        elif isinstance(widget, OpeningPage):
            self._stop_opening(widget)
        elif widget is not None:
            widget.close()

    def _close_page(self, page: CapturePage) -> None:
        self.tabs.removeTab(self.tabs.indexOf(page))
        self._tab_changed()
        self.panels.forget_document(page.document)
        page.close_document()
        page.deleteLater()

    def step_tab(self, step: int) -> None:
        """Go some tabs on, round the corner."""
        if self.tabs.count():
            self.tabs.setCurrentIndex((self.tabs.currentIndex() + step) % self.tabs.count())

    def _tab_changed(self, _index: int = -1) -> None:
        is_empty = self.tabs.count() == 0
        if is_empty:
            self.welcome.set_recent(self.settings.recent_files)
        self._center.setCurrentWidget(self.welcome if is_empty else self.tabs)
        page = self.current_page
        if page is self._page:
            return
        self._page = page
        document = page.document if page is not None else None
        self.tool_row.set_document(document)
        self.status_line.set_document(document)
        self.search.follow(page.view if page is not None else None)
        self.panels.set_document(document)
        if page is not None:
            # Panels are not what the person is waiting for: the timeline's first frame comes before they are made.
            page.after_first_frame(self._load_panels)
        self.setWindowTitle(f"{document.title} — Warpline" if document is not None else "Warpline")
        self.current_changed.emit()

    def _load_panels(self) -> None:
        """Import the panels that are seen in a thread, so that the timeline can be moved meanwhile, then make them."""
        seen = [spec for spec in PANELS if self.panels.is_in_front(spec.id)]
        job = Job(lambda _progress, _is_cancelled: [spec.load() for spec in seen], self)
        job.succeeded.connect(self._fill_panels)
        job.failed.connect(self._fill_panels)  # which meets the failure again, where it is told
        job.launch()

    def _fill_panels(self, _loaded: object = None) -> None:
        if self.current_page is self._page:
            self.panels.fill()

    def give_focus_back(self) -> None:
        """The keyboard belongs to what is in front again."""
        (self.tabs.currentWidget() or self.welcome).setFocus()

    def _recent_menu(self, parent: QWidget) -> QMenu:
        self._recent = RecentMenu(self.settings, parent)
        self._recent.chosen.connect(self.open_file)
        return self._recent

    # -- drag and drop --------------------------------------------------------------------------------------

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Files are welcome."""
        if _local_files(event.mimeData()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        """Open what was dropped."""
        paths = _local_files(event.mimeData())
        if paths:
            event.acceptProposedAction()
            self.open_files(paths)

    # -- session --------------------------------------------------------------------------------------------

    def _restore(self) -> None:
        geometry = self.settings.bytes_of("window/geometry")
        if geometry is None or not self.restoreGeometry(geometry):
            screen = QGuiApplication.primaryScreen()
            available = screen.availableGeometry().size() if screen is not None else self.size()
            self.resize(min(1480, available.width() * 9 // 10), min(900, available.height() * 9 // 10))
        self.panels.restore(self.settings.record_of("window/panels"))

    def save_session(self) -> None:
        """Remember geometry, panels and what is open."""
        self.settings.set_bytes("window/geometry", self.saveGeometry())
        if self.panels.widget.isVisible():
            self.settings.set_record("window/panels", self.panels.save())
        self.settings.open_files = [page.source for window in _windows for page in window.pages]
        self.settings.save()

    def closeEvent(self, event: QCloseEvent) -> None:
        """Remember, stop what is being opened, let recordings decide, let go of the files."""
        from warpline_app.window.closing import may_close

        if not may_close(self):
            event.ignore()
            return
        self.save_session()
        for opening in list(self._jobs):
            self._stop_opening(opening)
        for page in self.pages:
            self._close_page(page)
        if self in _windows:
            _windows.remove(self)
        super().closeEvent(event)


def _local_files(data: QMimeData) -> list[Path]:
    urls: list[QUrl] = data.urls() if data.hasUrls() else []
    return [Path(url.toLocalFile()) for url in urls if url.isLocalFile()]
