"""Commands on notes and marks."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from warpline.i18n import tr
from warpline.model.notes import Note
from warpline_app.commands.command import WindowCommand
from warpline_app.verbs.timeline_command import A_NOTE, A_ROW, Action, timeline_command

if TYPE_CHECKING:
    from warpline_app.timeline.widgets.navigator import Navigator


def ask_note(nav: Navigator, note: Note) -> None:
    """Ask for the text and colour of a note, and keep it."""
    from warpline_app.dialogs.note import NoteDialog
    from warpline_app.open.noting import note_place

    place = note_place(nav.document.capture, note)
    NoteDialog(note, place, nav.state.put_note, nav.view).open()


def _add_note(nav: Navigator) -> None:
    from warpline_app.open.noting import new_note

    ask_note(nav, new_note(nav.document.capture, nav.state))


def _add_row_note(nav: Navigator) -> None:
    row = nav.focus_row()
    if row is not None:
        known = next(
            (note for note in nav.state.notes if note.row == row.key and note.start_ns is None), None
        )
        ask_note(nav, known or Note(row=row.key))


def _mark(nav: Navigator) -> None:
    """Add a mark at the pointer, else at the start of the selected event, else in the middle of the view."""
    state = nav.state
    if state.cursor_ns is not None:
        moment = state.cursor_ns
    elif state.selection is not None:
        moment = nav.document.capture.event_span(state.selection)[0]
    else:
        moment = sum(state.view) // 2
    taken = {note.text for note in state.notes}
    titles = (tr("Mark {n}", "timeline", n=number) for number in count(1))
    state.add_mark(moment, next(title for title in titles if title not in taken))


def _near_note(direction: int) -> Action:
    def run(nav: Navigator) -> None:
        middle = sum(nav.state.view) // 2
        ahead = [time_ns for time_ns, _ in nav.state.timed_notes if (time_ns - middle) * direction > 0]
        if ahead:
            nav.center_on(min(ahead) if direction > 0 else max(ahead))

    return run


NOTE_COMMANDS: tuple[WindowCommand, ...] = (
    timeline_command("mark.set", "Add mark", "Navigate", _mark, ("M",), group="mark", words="bookmark flag"),
    timeline_command(
        "note.add",
        "Add note…",
        "Navigate",
        _add_note,
        ("Shift+M",),
        group="mark",
        words="comment annotation bookmark",
        hint="A note on the selected event, the selected range or the time under the pointer",
    ),
    timeline_command(
        "note.row",
        "Add note to row…",
        "Navigate",
        _add_row_note,
        needs=(A_ROW,),
        group="mark",
    ),
    timeline_command(
        "mark.next",
        "Next note or mark",
        "Navigate",
        _near_note(1),
        ("Ctrl+.",),
        needs=(A_NOTE,),
        group="mark",
    ),
    timeline_command(
        "mark.previous",
        "Previous note or mark",
        "Navigate",
        _near_note(-1),
        ("Ctrl+M",),
        needs=(A_NOTE,),
        group="mark",
    ),
    timeline_command(
        "mark.remove_all",
        "Remove all notes and marks",
        "Navigate",
        lambda nav: nav.state.set_notes(()),
        needs=(A_NOTE,),
        group="mark",
    ),
)
