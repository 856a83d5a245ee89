"""The context of a command: the workspace, and the window around the timeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from PySide6.QtWidgets import QWidget

if TYPE_CHECKING:
    from warpline_app.open.workspace import Workspace
    from warpline_app.panels.frame.layout import PanelLayout
    from warpline_app.state.timeline_state import TimelineState
    from warpline_app.timeline.widgets.navigator import Navigator


class Shell(Protocol):
    """The window around the timeline, as far as commands need it."""

    @property
    def widget(self) -> QWidget:
        """The parent of dialogs."""

    @property
    def panels(self) -> PanelLayout:
        """The panels: which are shown, and where."""

    @property
    def navigator(self) -> Navigator | None:
        """Moves the timeline in front; None when no capture is open."""

    @property
    def is_full_screen(self) -> bool:
        """Whether the window fills the screen."""

    def toggle_full_screen(self) -> None:
        """Enter or leave full screen."""

    def focus_search(self) -> None:
        """Move the keyboard focus to the search box."""

    def focus_front(self) -> None:
        """Move the keyboard focus to the tab in front."""

    def show_palette(self) -> None:
        """Open the command palette."""

    def show_keys(self) -> None:
        """Show the keyboard shortcuts."""

    def show_tour(self) -> None:
        """Show the tour of the window, on a recording of the demo if no capture is open."""

    def open_window(self) -> None:
        """Open an empty window."""

    def close_window(self) -> None:
        """Close this window; it may ask first."""

    def close_all_windows(self) -> None:
        """Close all windows, which ends the program; each may ask first."""


class CommandContext:
    """Passed to every command."""

    def __init__(self, workspace: Workspace, shell: Shell) -> None:
        self.workspace = workspace
        self.shell = shell

    @property
    def state(self) -> TimelineState | None:
        """The state of the capture in front; None when none is open."""
        document = self.workspace.current
        return document.state if document is not None else None

    @property
    def navigator(self) -> Navigator | None:
        """Moves the timeline in front; None when no capture is open."""
        return self.shell.navigator
