"""Where a command acts: what is open, what shows it, and what is around that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from PySide6.QtWidgets import QWidget

if TYPE_CHECKING:
    from warpline_app.commands.navigator import Navigator
    from warpline_app.open.workspace import Workspace
    from warpline_app.panels.frame.layout import PanelLayout
    from warpline_app.state.timeline_state import TimelineState


class Shell(Protocol):
    """What a window has around the timeline, as far as commands need it."""

    @property
    def widget(self) -> QWidget:
        """What dialogs belong to and stand above."""
        ...

    @property
    def panels(self) -> PanelLayout:
        """The panels: which are shown, and where."""
        ...

    @property
    def navigator(self) -> Navigator | None:
        """What moves the timeline in front, None while none is open."""
        ...

    @property
    def is_full_screen(self) -> bool:
        """Whether nothing else is on the screen."""
        ...

    def toggle_full_screen(self) -> None:
        """Take the whole screen, or give it back."""
        ...

    def focus_search(self) -> None:
        """Give the keyboard to the search box."""
        ...

    def focus_front(self) -> None:
        """Give the keyboard to what is in front."""
        ...

    def show_palette(self) -> None:
        """List all commands, to be found by a few letters."""
        ...

    def show_keys(self) -> None:
        """Show the sheet of all keys."""
        ...

    def open_window(self) -> None:
        """Open another, empty window."""
        ...

    def close_window(self) -> None:
        """Close this window; it may ask first."""
        ...

    def close_all_windows(self) -> None:
        """Close all windows, and with the last one the program; each may ask first."""
        ...


class CommandContext:
    """Handed to every command."""

    def __init__(self, workspace: Workspace, shell: Shell) -> None:
        self.workspace = workspace
        self.shell = shell

    @property
    def state(self) -> TimelineState | None:
        """The state of the capture in front, None while none is open."""
        document = self.workspace.current
        return document.state if document is not None else None

    @property
    def navigator(self) -> Navigator | None:
        """What moves the timeline in front, None while none is open."""
        return self.shell.navigator
