"""Verbs about the layout as a whole: views kept under a name, and the layout the rows had in the beginning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QInputDialog

from warpline.i18n import tr
from warpline_app.commands.command import Command
from warpline_app.session.saved_layout import apply_layout
from warpline_app.verbs.questions import ask_text
from warpline_app.verbs.tools import timeline_command

if TYPE_CHECKING:
    from warpline_app.timeline.widgets.view import TimelineView


def _has_store(view: TimelineView) -> bool:
    return view.layouts is not None


def _save_view(view: TimelineView) -> None:
    name = ask_text(view, tr("Save view", "timeline"), tr("Name of the view:", "timeline"))
    if name and view.layouts is not None:
        view.layouts.save_view(view.document.capture.uuid, name, view.state)


def _choose(view: TimelineView, title: str) -> str | None:
    """One of the saved views; None when there is none, or the person changed their mind."""
    names = sorted(view.layouts.views(view.document.capture.uuid)) if view.layouts is not None else []
    if not names:
        view.status_changed.emit(tr("No view of this capture was saved yet", "timeline"))
        return None
    name, accepted = QInputDialog.getItem(view, title, tr("View:", "timeline"), names, 0, False)
    return name if accepted and name in names else None


def _apply_view(view: TimelineView) -> None:
    name = _choose(view, tr("Apply view", "timeline"))
    if name is not None and view.layouts is not None:
        apply_layout(view.state, view.layouts.views(view.document.capture.uuid)[name])


def _rename_view(view: TimelineView) -> None:
    name = _choose(view, tr("Rename view", "timeline"))
    if name is None or view.layouts is None:
        return
    new = ask_text(view, tr("Rename view", "timeline"), tr("Name of the view:", "timeline"), name)
    if new:
        view.layouts.rename_view(view.document.capture.uuid, name, new)


def _delete_view(view: TimelineView) -> None:
    name = _choose(view, tr("Delete view", "timeline"))
    if name is not None and view.layouts is not None:
        view.layouts.remove_view(view.document.capture.uuid, name)
        view.status_changed.emit(tr("The view {name} is deleted", "timeline", name=name))


def _reset_layout(view: TimelineView) -> None:
    state = view.state
    state.set_pins(())
    state.set_orders({})
    state.set_hidden(())
    state.set_all_expanded({})
    state.set_heights({})


LAYOUT_COMMANDS: tuple[Command, ...] = (
    timeline_command("view.save_view", "Save View…", "View", _save_view, group="layout", enabled=_has_store),
    timeline_command(
        "view.apply_view", "Apply View…", "View", _apply_view, group="layout", enabled=_has_store
    ),
    timeline_command(
        "view.rename_view", "Rename View…", "View", _rename_view, group="layout", enabled=_has_store
    ),
    timeline_command(
        "view.delete_view", "Delete View…", "View", _delete_view, group="layout", enabled=_has_store
    ),
    timeline_command("view.reset_layout", "Reset the Layout of Rows", "View", _reset_layout, group="layout"),
)
