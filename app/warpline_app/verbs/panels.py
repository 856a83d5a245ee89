"""A command for each panel: show the panel, or hide it when it is in front."""

from __future__ import annotations

from warpline_app.commands.command import A_CAPTURE, WindowCommand
from warpline_app.panels.frame.panel_spec import PanelSpec
from warpline_app.panels.frame.registry import all_panels


def panel_commands() -> tuple[WindowCommand, ...]:
    """Panel commands, in the order of the panels' tabs."""
    return tuple(_panel_command(spec) for spec in all_panels())


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
