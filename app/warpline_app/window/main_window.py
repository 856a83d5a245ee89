"""The main window: assembles the views of a workspace and connects them to commands."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent, QGuiApplication, QKeyEvent
from PySide6.QtWidgets import QMainWindow, QStackedWidget, QVBoxLayout, QWidget

from warpline_app.commands.context import CommandContext
from warpline_app.commands.menus import fill_menu_bar
from warpline_app.commands.runner import CommandRunner
from warpline_app.look.file_drag import local_files
from warpline_app.open.background import Job
from warpline_app.open.document import Document
from warpline_app.open.workspace import Item, Workspace
from warpline_app.panels.frame.layout import PanelLayout
from warpline_app.panels.frame.registry import all_panels
from warpline_app.remembered.settings import Settings
from warpline_app.verbs.catalogue import all_commands
from warpline_app.window.capture_page import CapturePage
from warpline_app.window.file_watch import FileWatch
from warpline_app.window.live_panels import LivePanels
from warpline_app.window.message_bars import MessageBars
from warpline_app.window.opening_notices import OpeningNotices
from warpline_app.window.start.recent_menu import RecentMenu
from warpline_app.window.start.recent_pictures import RecentPictures
from warpline_app.window.start.welcome import WelcomePage
from warpline_app.window.status_line import StatusLine
from warpline_app.window.tabs import CaptureTabs
from warpline_app.window.theme_menu import theme_menu
from warpline_app.window.timeline_keys import TimelineKeys
from warpline_app.window.timeline_search import TimelineSearch
from warpline_app.window.tool_row import ToolRow

if TYPE_CHECKING:
    from warpline_app.panels.frame.panel_spec import PanelSpec
    from warpline_app.timeline.widgets.navigator import Navigator
    from warpline_app.timeline.widgets.view import TimelineView

_windows: list[MainWindow] = []
"""Open windows, in order of creation; this list keeps them alive."""


def open_windows() -> tuple[MainWindow, ...]:
    """The open windows."""
    return tuple(_windows)


def import_timeline() -> None:
    """Import what shows a capture, while another thread opens it.

    Qt classes are created only in the window's thread: created in another one while this one handles events, they
    sometimes crash the process (PySide 6.11).
    """
    import warpline_app.verbs.timeline_input  # noqa: F401  # imported for its side effect


class MainWindow(QMainWindow):
    """Composes the window; ``workspace`` owns what is open. Serves commands as their `Shell`."""

    def __init__(self, settings: Settings | None = None) -> None:
        super().__init__()
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setAcceptDrops(True)
        self.setWindowTitle("Warpline")
        self.workspace = Workspace(settings, self)
        self.workspace.item_added.connect(lambda: QTimer.singleShot(0, import_timeline))
        self.context = CommandContext(self.workspace, self)
        self.commands = CommandRunner(self, self.context, all_commands())
        self.tabs = CaptureTabs(self.workspace, self.commands)
        self._pictures = RecentPictures(self.workspace.settings)
        self.welcome = WelcomePage(self.commands, self._pictures)
        self.welcome.recent_chosen.connect(self.workspace.open_file)
        self._center = QStackedWidget()
        self._center.addWidget(self.welcome)
        self._center.addWidget(self.tabs)
        self.message_bars = MessageBars(self.workspace.messages, over=self._center)
        self.panels = PanelLayout(self._center, parent=self)
        self._live_panels = LivePanels(self.panels, self)
        self.file_watch = FileWatch(self.workspace, self)
        self._notices = OpeningNotices(self.workspace, partial(self.panels.show_panel, "console"), self)
        self.tool_row = ToolRow(self.commands)
        self.tool_row.search.left.connect(self.focus_front)
        self.tool_row.search.next_requested.connect(self.focus_front)
        self.tool_row.search.previous_requested.connect(self.focus_front)
        self._timeline_keys = TimelineKeys(self, self._view_in_front)
        self.search = TimelineSearch(self.tool_row.search, self.tool_row.matches, self)
        self.status_line = StatusLine()
        self.workspace.told.connect(self.status_line.show_message)
        self.status_line.reasons_wanted.connect(partial(self.panels.show_panel, "sources"))
        self._arrange()
        self._recent = RecentMenu(self.workspace.settings, self)
        self._recent.chosen.connect(self.workspace.open_file)
        self.menus = fill_menu_bar(
            self.menuBar(),
            self.commands,
            {
                "file.open": lambda _parent: self._recent,
                "view.full_screen": partial(theme_menu, self.commands),
            },
        )
        self.menus["File"].aboutToShow.connect(self._recent.fill)
        self.commands.ran.connect(lambda _id: self.tool_row.refresh())
        self.workspace.front_changed.connect(self._front_changed)
        self.workspace.current_changed.connect(self._current_changed)
        self.workspace.document_opened.connect(self._document_opened)
        self.workspace.document_leaving.connect(self._document_leaving)
        self._restore()
        self._front_changed(None)
        self._current_changed(None)
        self.welcome.setFocus()
        _windows.append(self)

    def _arrange(self) -> None:
        body = QWidget()
        column = QVBoxLayout(body)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.tool_row)
        column.addWidget(self.panels.widget, 1)
        column.addWidget(self.status_line)
        self.setCentralWidget(body)

    # -- following the workspace ----------------------------------------------------------------------------

    def _front_changed(self, front: Item | None) -> None:
        if front is None:
            self.welcome.set_recent(self.workspace.settings.recent_files)
        self._center.setCurrentWidget(self.welcome if front is None else self.tabs)

    def _current_changed(self, document: Document | None) -> None:
        page = self.tabs.timeline_page
        self.tool_row.set_document(document)
        self.status_line.set_document(document)
        self.search.follow(page.view if page is not None else None)
        # A comparison of two timelines needs the whole window.
        self._live_panels.set_document(document if isinstance(page, CapturePage) else None)
        if isinstance(page, CapturePage):
            # Show the timeline's first frame before making the panels.
            page.first_frame.after(partial(self._load_panels, page))
        self.setWindowTitle(f"{document.title} — Warpline" if document is not None else "Warpline")

    def _document_opened(self, document: Document) -> None:
        self.panels.greet()
        page = self.tabs.page_of(document)
        if isinstance(page, CapturePage):
            if not self.workspace.settings.tour_seen and document.is_demo:
                page.first_frame.after(partial(self._tour_on, page))
            once = Qt.ConnectionType.SingleShotConnection
            page.view.idle.connect(partial(self._keep_picture, page), once)

    def _tour_on(self, page: CapturePage) -> None:
        """Show the tour, unless another tab came to the front meanwhile."""
        if self.tabs.current_page is page:
            self.show_tour()

    def _keep_picture(self, page: CapturePage) -> None:
        """Save a picture of the capture for the start page."""
        if page.view.isVisible():
            self._pictures.keep(page.document, page.view.canvas.grab().toImage())

    def _document_leaving(self, document: Document) -> None:
        self.panels.forget_document(document)
        self.tabs.forget_document(document)

    def _load_panels(self, page: CapturePage) -> None:
        """Import the panels in front, then make them, while the timeline stays usable.

        Modules without Qt are imported in a thread. Panels are made one by one in this thread, because PySide makes
        their classes.
        """
        seen = [spec for spec in all_panels() if self.panels.is_in_front(spec.id)]
        modules = [name for spec in seen for name in spec.ahead]
        job = Job(lambda _progress, _is_cancelled: [importlib.import_module(name) for name in modules], self)
        for done in (
            job.succeeded,
            job.failed,
        ):  # making the panels raises the failure again, where it is reported
            done.connect(lambda _told: self._load_each(page, seen))
        job.launch()

    def _load_each(self, page: CapturePage, left: Sequence[PanelSpec]) -> None:
        if self.tabs.current_page is not page:
            return
        if left:
            with contextlib.suppress(Exception):  # code of another distribution may raise anything
                left[0].load()
            QTimer.singleShot(0, self, lambda: self._load_each(page, left[1:]))
            return
        self.panels.set_timeline_height(page.wanted_height)
        self.panels.fill()

    # -- Shell ----------------------------------------------------------------------------------------------

    @property
    def widget(self) -> QWidget:
        """The parent of dialogs."""
        return self

    @property
    def navigator(self) -> Navigator | None:
        """Moves the timeline in front."""
        page = self.tabs.timeline_page
        return page.navigator if page is not None else None

    @property
    def is_full_screen(self) -> bool:
        """Whether the window fills the screen."""
        return self.isFullScreen()

    def toggle_full_screen(self) -> None:
        """Enter or leave full screen."""
        if self.isFullScreen():
            self.showNormal()
        else:
            self.showFullScreen()

    def focus_search(self) -> None:
        """Move the keyboard focus to the search box."""
        self.tool_row.search.setFocus()
        self.tool_row.search.selectAll()

    def focus_front(self) -> None:
        """Move the keyboard focus to the tab in front."""
        (self.tabs.currentWidget() or self.welcome).setFocus()

    def show_palette(self) -> None:
        """Open the command palette."""
        from warpline_app.dialogs.palette import show_palette

        show_palette(self.commands, self.workspace.settings, self, self.focus_front)

    def show_keys(self) -> None:
        """Show the keyboard shortcuts beside the window."""
        from warpline_app.dialogs.help_sheet import show_help_sheet

        show_help_sheet(self.commands.commands.values(), self)

    def show_tour(self) -> None:
        """Show the tour on the capture in front, else on one of the demo, recorded now."""
        from warpline_app.verbs.files import record_demo
        from warpline_app.window.tour import Toured, show_tour

        page = self.tabs.current_page
        if page is not None:
            show_tour(Toured(self, self.workspace, page, self.panels, self.tool_row.search))
        else:
            self.workspace.settings.tour_seen = False
            record_demo(self.context)

    def open_window(self) -> None:
        """Open an empty window."""
        MainWindow(self.workspace.settings).show()

    def close_window(self) -> None:
        """Close this window; asks first while it records."""
        self.close()

    def close_all_windows(self) -> None:
        """Close all windows until one refuses."""
        for window in open_windows():
            if not window.close():
                return

    # -- keys that no widget handled ------------------------------------------------------------------------

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Pass the key to the timeline; without one, the status line says what is missing."""
        view = self._view_in_front()
        if view is not None:
            event.ignore()
            view.key_pressed.emit(event)
            if event.isAccepted():
                return
        elif self.commands.press_without_timeline(event):
            return
        super().keyPressEvent(event)

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        """End the motion of a held key."""
        view = self._view_in_front()
        if view is None or not view.held.release(event):
            super().keyReleaseEvent(event)

    def _view_in_front(self) -> TimelineView | None:
        navigator = self.navigator
        return navigator.view if navigator is not None else None

    # -- drag and drop --------------------------------------------------------------------------------------

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Accept files; a dragged tab can only be dropped on other tabs."""
        if local_files(event.mimeData()) and event.source() is not self.tabs.tabBar():
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        """Open the dropped files; with Shift, compare with the capture in front."""
        paths = local_files(event.mimeData())
        current = self.workspace.current
        if not paths:
            return
        event.acceptProposedAction()
        if current is not None and event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self.workspace.compare(current.source, paths[0])
        else:
            self.workspace.open_files(paths)

    # -- saved state ----------------------------------------------------------------------------------------

    def _restore(self) -> None:
        settings = self.workspace.settings
        geometry = settings.bytes_of("window/geometry")
        if geometry is None or not self.restoreGeometry(geometry):
            screen = QGuiApplication.primaryScreen()
            available = screen.availableGeometry().size() if screen is not None else self.size()
            self.resize(min(1480, available.width() * 9 // 10), min(900, available.height() * 9 // 10))
        self.panels.restore(settings.record_of("window/panels"))

    def _remember(self) -> None:
        """Save the geometry, the panels and what is open in all windows."""
        settings = self.workspace.settings
        settings.set_bytes("window/geometry", self.saveGeometry())
        if self.panels.widget.isVisible():
            settings.set_record("window/panels", self.panels.save())
        settings.open_files = [
            document.source for window in _windows for document in window.workspace.documents
        ]
        settings.save()

    def closeEvent(self, event: QCloseEvent) -> None:
        """Ask about recordings, save the state, close the files."""
        from warpline_app.window.close_question import may_close

        if not may_close(self.workspace, self):
            event.ignore()
            return
        self._remember()
        if self in _windows:
            # Closing the last tab must not show the start page now.
            self.workspace.front_changed.disconnect(self._front_changed)
        self.workspace.close_all()
        if self in _windows:
            _windows.remove(self)
        super().closeEvent(event)
