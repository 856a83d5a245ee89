"""The tab of an open capture: its timeline."""

from __future__ import annotations

from PySide6.QtWidgets import QVBoxLayout, QWidget

from warpline_app.open.document import Document
from warpline_app.open.workspace import Workspace


class CapturePage(QWidget):
    """Shows a document until `take_timeline_away`. The workspace opens and closes its file."""

    def __init__(self, document: Document, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        # Slow to import; the thread that opened the file has done it.
        from warpline_app.timeline.widgets.first_frame import FirstFrame
        from warpline_app.timeline.widgets.navigator import Navigator
        from warpline_app.timeline.widgets.view import TimelineView

        self.document = document
        self.view: TimelineView = TimelineView(document, self)
        self.navigator: Navigator = Navigator(self.view, workspace)
        self.view.legend.set_wanted(workspace.settings.shows_legend)
        self.view.status_changed.connect(workspace.tell)
        document.state.reveal_wanted.connect(self.view.scene.reveal_event)
        document.state.frame_wanted.connect(self.view.scene.frame_event)
        document.state.row_wanted.connect(self.view.scene.reveal_row)
        self.first_frame: FirstFrame = FirstFrame(self.view.canvas, self)
        if workspace.settings.shows_critical_path:
            self.first_frame.after(lambda: self.view.path.set_wanted(True))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.view)
        self.setFocusProxy(self.view)

    @property
    def wanted_height(self) -> int:
        """The height of all rows of the timeline, including what is above and below them."""
        layout = self.view.scene.layout
        return self.view.height() - self.view.canvas.height() + layout.height + layout.pinned_height

    def take_timeline_away(self) -> None:
        """Stop drawing and release the timeline; the file stays open."""
        self.view.shut_down()
        self.view.hide()
        self.view.setParent(None)
        self.view.deleteLater()
