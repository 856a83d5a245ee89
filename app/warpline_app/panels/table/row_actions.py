"""Actions on a row of any panel: select, show in timeline or event list, filter, hide, copy."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QMenu

from warpline.i18n import tr
from warpline_app.panels.frame.base import Panel
from warpline_app.panels.frame.row_target import RowTarget
from warpline_app.timeline.model.events_of_names import longest

if TYPE_CHECKING:
    from warpline.storage import Capture
    from warpline_app.state.timeline_state import TimelineState


class RowActions:
    """The actions of one panel's rows."""

    def __init__(self, panel: Panel) -> None:
        self._panel = panel
        self.document = panel.document
        self.chosen_row: str | None = None
        """Key of the timeline row last selected from here rather than on the timeline."""

    @property
    def _state(self) -> TimelineState:
        return self.document.state

    @property
    def _capture(self) -> Capture:
        return self.document.capture

    def choose(self, target: RowTarget) -> None:
        """Highlight a row's target without moving the timeline."""
        if target.range_ns is not None:
            self._state.select_range(*target.range_ns)
        if target.event is not None:
            self._state.select(target.event)
        elif target.name is not None:
            self._state.set_highlight((target.name,))
        elif target.track is not None:
            self.chosen_row = self._row_of(target.track)
            self._state.select_track(self.chosen_row)

    def show(self, target: RowTarget) -> None:
        """Bring a row's target into view: its event, its longest event, its track or its range."""
        state, capture = self._state, self._capture
        self.choose(target)
        if target.range_ns is not None:
            start, stop = target.range_ns
            margin = (stop - start) // 10
            state.set_view(start - margin, stop + margin)
            return
        event = target.event
        if event is None and (target.name is not None or target.kind >= 0):
            names = None if target.name is None else frozenset((target.name,))
            event = longest(capture, names, target.kind, state.range_selection)
        if event is not None:
            state.reveal(event)
        elif target.track is not None:
            state.reveal_row(self._row_of(target.track))

    def _row_of(self, track: int) -> str:
        """Key of the timeline row of a track; a thread's states are on the thread's row."""
        found = self._capture.tracks[track]
        if found.role == "state" and found.parent >= 0:
            found = self._capture.tracks[found.parent]
        return found.uri

    def show_in_events(self, target: RowTarget) -> None:
        """List a row's events in the event panel, without moving the timeline."""
        self.choose(target)
        self._panel.events_wanted.emit(target)

    def keep(self, target: RowTarget) -> None:
        """Filter to a row's target."""
        name = target.name_in(self._capture)
        if name is not None:
            self._state.change_filter(kept_names=(self._capture.strings[name],))
        elif target.track is not None:
            self._state.change_filter(only=(self._row_of(target.track),))
        elif target.kind in self._capture.kind_of_code:
            self._state.change_filter(kinds=frozenset((self._capture.kind_of_code[target.kind],)))

    def hide(self, target: RowTarget) -> None:
        """Hide a row's name, or its timeline row."""
        name = target.name_in(self._capture)
        if name is not None:
            text, before = self._capture.strings[name], self._state.filter
            self._state.change_filter(
                hidden_names=tuple(dict.fromkeys((*before.hidden_names, text))),
                kept_names=tuple(kept for kept in before.kept_names if kept != text),
            )
        elif target.track is not None:
            self._state.set_hidden({*self._state.hidden, self._row_of(target.track)})

    def can_hide(self, target: RowTarget) -> bool:
        """Whether `hide` has an effect."""
        return target.track is not None or target.name_in(self._capture) is not None

    def fill_menu(self, menu: QMenu, target: RowTarget, copy_name: Callable[[], str]) -> dict[str, QAction]:
        """Add the actions to a menu; ``copy_name`` returns the text to copy. Returns the actions by id."""
        is_single = target.event is not None or target.track is not None or target.range_ns is not None
        actions = {
            "show": menu.addAction(
                tr("Show in the timeline") if is_single else tr("Show the longest in the timeline"),
                lambda: self.show(target),
            ),
            "events": menu.addAction(tr("Show in events"), lambda: self.show_in_events(target)),
            "filter": menu.addAction(tr("Filter to this"), lambda: self.keep(target)),
            "hide": menu.addAction(tr("Hide this"), lambda: self.hide(target)),
        }
        for action in actions.values():
            action.setEnabled(not target.is_nothing)
        actions["hide"].setEnabled(self.can_hide(target))
        menu.addSeparator()
        actions["copy_name"] = menu.addAction(
            tr("Copy name"), lambda: QGuiApplication.clipboard().setText(copy_name())
        )
        return actions
