"""File → Record again: the command of a capture recorded anew, and compared with it."""

from __future__ import annotations

import shlex

from warpline.model.errors import WarplineError
from warpline.recording.again import next_output, recipe_of
from warpline_app.open.document import Document
from warpline_app.open.workspace import Workspace
from warpline_app.recording.recording import Recording
from warpline_app.recording.request import RecordingRequest


def can_record_again(document: Document) -> bool:
    """Whether a capture tells how to record it anew."""
    try:
        recipe_of(document.capture)
    except WarplineError:
        return False
    return True


def record_again(workspace: Workspace, document: Document) -> Recording:
    """Begin; the new capture gets the next number beside the one before. Raises RecordingError."""
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
