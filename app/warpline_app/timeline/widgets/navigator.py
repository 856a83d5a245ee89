"""The interface through which commands act on the capture in front."""

from __future__ import annotations

from collections.abc import Sequence

from warpline_app.open.document import Document
from warpline_app.open.workspace import Workspace
from warpline_app.remembered.saved_layout import LayoutStore
from warpline_app.state.timeline_state import TimelineState
from warpline_app.timeline.model.row import Content, TimelineRow
from warpline_app.timeline.model.rows import RowTree
from warpline_app.timeline.model.search import Search
from warpline_app.timeline.widgets.view import TimelineView


class Navigator:
    """Moves a timeline, knows the row and time a command applies to, and asks for input. ``state`` holds the rest."""

    def __init__(self, view: TimelineView, workspace: Workspace) -> None:
        self._view = view
        self._workspace = workspace

    @property
    def view(self) -> TimelineView:
        """The timeline widget."""
        return self._view

    @property
    def document(self) -> Document:
        """The capture shown."""
        return self._view.document

    @property
    def state(self) -> TimelineState:
        """The timeline's view, selection, pins and filter."""
        return self._view.state

    @property
    def search(self) -> Search:
        """The timeline's search and its results."""
        return self._view.search

    @property
    def tree(self) -> RowTree:
        """The timeline's tree of rows."""
        return self._view.scene.tree

    @property
    def layouts(self) -> LayoutStore:
        """Saved views of captures."""
        return self._workspace.layouts

    # -- moving

    def zoom(self, factor: float) -> None:
        """Scale the visible time range by ``factor`` around the anchor."""
        self._view.scene.zoom(factor, self._view.anchor_px())

    def pan(self, share: float) -> None:
        """Move right by a share of the visible range."""
        scene = self._view.scene
        scene.pan(round(scene.width_px * share), ratio=self._view.devicePixelRatioF())

    def turn_page(self, direction: int) -> None:
        """Scroll the rows by nine tenths of the visible height."""
        scene = self._view.scene
        page = scene.height_px - scene.layout.pinned_height
        scene.scroll_to(scene.scroll_px + direction * max(1, page * 9 // 10))

    def hold(self, motion: str) -> None:
        """Move until the key is released."""
        self._view.held.begin(motion)

    def go_to(self, event: int) -> None:
        """Select an event and bring it into view."""
        self._view.go_to(event)

    def frame_event(self, event: int) -> None:
        """Show an event with a margin."""
        self._view.scene.frame_event(event)

    def show_range(self, start_ns: int, stop_ns: int) -> None:
        """Show a range with a margin."""
        self._view.scene.show_range(start_ns, stop_ns)

    def center_on(self, time_ns: int) -> None:
        """Centre the view on a time."""
        self._view.scene.center_on(time_ns)

    def take_focus(self) -> None:
        """Take the keyboard focus."""
        self._view.setFocus()

    # -- target of a command

    def anchor_ns(self) -> int:
        """The time a key acts on."""
        x = self._view.anchor_px()
        return sum(self.state.view) // 2 if x is None else self._view.scene.scale.to_ns(x)

    def focus_row(self) -> TimelineRow | None:
        """The row a command acts on."""
        return self._view.focus_row()

    def step_row(self, direction: int) -> None:
        """Move the row focus to the next (1) or previous (-1) visible row, or to the first."""
        scene = self._view.scene
        keys = [placed.row.key for placed in scene.layout.rows]
        if not keys:
            return
        is_known = scene.focus_key in keys
        at = min(max(keys.index(scene.focus_key) + direction, 0), len(keys) - 1) if is_known else 0
        scene.focus_key = keys[at]
        scene.reveal_row(keys[at])
        self._view.header.update()

    def toggle(self, row: TimelineRow) -> None:
        """Expand or collapse a row."""
        self._view.scene.toggle(row)

    def first_event_in_view(self) -> int | None:
        """The first visible event of the focus row, else of the topmost row that has one."""
        row = self._view.focus_row()
        lanes = [
            line.lane for placed in self._view.scene.layout.rows for line in placed.lines if line.lane >= 0
        ]
        if row is not None and row.content is Content.LANES:
            lanes = [*row.lanes, *lanes]
        for lane in lanes:
            part = self.document.capture.lane_slice(lane, *self.state.view)
            if part.stop > part.start:
                return int(part.start)
        return None

    # -- messages and questions

    def tell(self, text: str) -> None:
        """Show a text in the status line."""
        self._workspace.tell(text)

    def ask_text(self, title: str, label: str, text: str = "") -> str | None:
        """Ask for a text."""
        from PySide6.QtWidgets import QInputDialog

        answer, is_accepted = QInputDialog.getText(self._view, title, label, text=text)
        return answer if is_accepted else None

    def ask_choice(self, title: str, label: str, choices: Sequence[str]) -> str | None:
        """Ask for one of the choices."""
        from PySide6.QtWidgets import QInputDialog

        answer, is_accepted = QInputDialog.getItem(self._view, title, label, list(choices), 0, False)
        return answer if is_accepted and answer in choices else None
