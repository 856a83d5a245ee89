"""Registers the panel Notes."""

from __future__ import annotations

from warpline_app.panels.frame.panel_spec import PanelSpec, panel_class

spec = PanelSpec("notes", "Notes", panel_class(__name__, "NotesPanel"), position=75)
