"""Commands on the layout: saved views, and resetting the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpline.i18n import tr
from warpline_app.commands.command import WindowCommand
from warpline_app.remembered.saved_layout import apply_layout, layout_of
from warpline_app.verbs.timeline_command import timeline_command

if TYPE_CHECKING:
    from warpline_app.timeline.widgets.navigator import Navigator


def _save_view(nav: Navigator) -> None:
    name = nav.ask_text(tr("Save view", "timeline"), tr("Name of the view:", "timeline"))
    if name:
        nav.layouts.save_view(nav.document.capture.uuid, name, nav.state)


def _choose(nav: Navigator, title: str) -> str | None:
    """The saved view the user picks; None when there is none or the user cancels."""
    names = sorted(nav.layouts.views(nav.document.capture.uuid))
    if not names:
        nav.tell(tr("This capture has no saved views", "timeline"))
        return None
    return nav.ask_choice(title, tr("View:", "timeline"), names)


def _apply_view(nav: Navigator) -> None:
    name = _choose(nav, tr("Apply view", "timeline"))
    if name is not None:
        with nav.state.one_step():
            apply_layout(nav.state, nav.layouts.views(nav.document.capture.uuid)[name])


def _rename_view(nav: Navigator) -> None:
    name = _choose(nav, tr("Rename view", "timeline"))
    if name is None:
        return
    new = nav.ask_text(tr("Rename view", "timeline"), tr("Name of the view:", "timeline"), name)
    if new:
        nav.layouts.rename_view(nav.document.capture.uuid, name, new)


def _delete_view(nav: Navigator) -> None:
    name = _choose(nav, tr("Delete view", "timeline"))
    if name is not None:
        nav.layouts.remove_view(nav.document.capture.uuid, name)
        nav.tell(tr("View {name} deleted", "timeline", name=name))


def _reset_layout(nav: Navigator) -> None:
    state = nav.state
    before = layout_of(state)
    with state.one_step():
        state.set_pins(())
        state.set_orders({})
        state.set_hidden(())
        state.set_heights({})
    state.set_all_expanded({})
    undo = (tr("Undo", "timeline"), lambda: apply_layout(state, before))
    nav.document.messages.show(tr("Row layout reset", "timeline"), "info", actions=(undo,))


LAYOUT_COMMANDS: tuple[WindowCommand, ...] = (
    timeline_command("view.save_view", "Save view…", "View", _save_view, group="layout"),
    timeline_command("view.apply_view", "Apply view…", "View", _apply_view, group="layout"),
    timeline_command("view.rename_view", "Rename view…", "View", _rename_view, group="layout"),
    timeline_command("view.delete_view", "Delete view…", "View", _delete_view, group="layout"),
    timeline_command("view.reset_layout", "Reset row layout", "View", _reset_layout, group="layout"),
)
