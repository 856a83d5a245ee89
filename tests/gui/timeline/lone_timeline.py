"""Where commands act on a timeline that stands in no window."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from warpline_app.commands.context import CommandContext
from warpline_app.open.workspace import Workspace
from warpline_app.panels.frame.layout import PanelLayout
from warpline_app.remembered.settings import Settings
from warpline_app.timeline.widgets.navigator import Navigator
from warpline_app.timeline.widgets.view import TimelineView


class LoneShell:
    """Nothing but a timeline: its own commands ask for no more."""

    is_full_screen = False

    def __init__(self, navigator: Navigator) -> None:
        self.navigator = navigator
        self.widget: QWidget = navigator.view

    @property
    def panels(self) -> PanelLayout:
        raise AssertionError("commands of the timeline do not ask for panels")

    def toggle_full_screen(self) -> None:
        raise AssertionError("there is no window")

    focus_search = focus_front = show_palette = show_keys = show_tour = toggle_full_screen
    open_window = close_window = close_all_windows = toggle_full_screen


def context_of(view: TimelineView, settings: Settings | None = None) -> CommandContext:
    workspace = Workspace(settings or Settings.kept_nowhere())
    workspace.show(view.document)
    return CommandContext(workspace, LoneShell(Navigator(view, workspace)))
