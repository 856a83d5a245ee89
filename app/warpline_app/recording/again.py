"""File → Record again: runs the recorded command of a capture again, and compares the two."""

from __future__ import annotations

import shlex

from warpline.model.errors import WarplineError
from warpline.recording.again import next_output, recipe_of
from warpline_app.open.document import Document
from warpline_app.open.workspace import Workspace
from warpline_app.recording.recording import Recording
from warpline_app.recording.request import RecordingRequest


def can_record_again(document: Document) -> bool:
    """Whether a capture holds the command to record again."""
    try:
        recipe_of(document.capture)
    except WarplineError:
        return False
    return True


def record_again(workspace: Workspace, document: Document) -> Recording:
    """Start recording; the new capture gets the next free number beside the old one. Raises RecordingError."""
    recipe = recipe_of(document.capture)
    request = RecordingRequest(
        mode="command",
        command=shlex.join(recipe.command),
        working_directory=recipe.working_directory,
        trace=recipe.options.trace,
        output=str(next_output(document.path)),
        again=str(document.path),
    ).checked()
    recording = Recording(request, workspace, before=document.source)
    workspace.begin(recording, has_tab=True)
    return recording
