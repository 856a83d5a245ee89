"""A command for each panel: show the panel, or hide it when it is in front."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpline.i18n import tr
from warpline_app.commands.command import A_CAPTURE, WindowCommand
from warpline_app.panels.frame.panel_spec import PanelSpec
from warpline_app.panels.frame.registry import all_panels

if TYPE_CHECKING:
    from warpline_app.commands.context import CommandContext


def panel_commands() -> tuple[WindowCommand, ...]:
    """Panel commands, in the order of the panels' tabs."""
    return *(_panel_command(spec) for spec in all_panels()), _RESET


def _panel_command(spec: PanelSpec) -> WindowCommand:
    return WindowCommand(
        f"panel.{spec.id}",
        f"Panel: {spec.title}",
        "View",
        lambda context: context.shell.panels.toggle_panel(spec.id),
        spec.keys,
        needs=(A_CAPTURE,),
        checked=lambda context: context.shell.panels.is_shown(spec.id),
        group="panels",
        title_now=lambda _context: spec.text,
    )


def _reset(context: CommandContext) -> None:
    panels = context.shell.panels
    before = panels.save()

    def restore() -> None:
        panels.restore(before)
        panels.fill()

    panels.reset()
    context.workspace.messages.show(tr("Panels reset"), "info", actions=((tr("Undo"), restore),))


_RESET = WindowCommand(
    "panel.reset", "Reset panels", "View", _reset, needs=(A_CAPTURE,), group="reset_panels"
)
