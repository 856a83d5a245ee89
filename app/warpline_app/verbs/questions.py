"""What verbs of the timeline ask a person for."""

from __future__ import annotations

from PySide6.QtWidgets import QInputDialog

from warpline.i18n import tr
from warpline_app.timeline.widgets.view import TimelineView


def ask_text(view: TimelineView, title: str, label: str, text: str = "") -> str | None:
    """Ask for a text; None when the person changed their mind."""
    answer, accepted = QInputDialog.getText(view, title, label, text=text)
    return answer if accepted else None


def ask_mark(view: TimelineView, time_ns: int) -> None:
    """Ask for the text of a mark and set it."""
    known = next((mark.text for mark in view.state.marks if mark.time_ns == time_ns), "")
    text = ask_text(view, tr("Mark", "timeline"), tr("Text of the mark:", "timeline"), known)
    if text is not None:
        view.state.add_mark(time_ns, text)
