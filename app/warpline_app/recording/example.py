"""File → Record demo: records the bundled example program."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path

from warpline import resources
from warpline.i18n import tr
from warpline.model.errors import RecordingError
from warpline.own_python import python_of_programs
from warpline.platform.folders import home_folder
from warpline_app.open.workspace import Workspace
from warpline_app.recording.recording import Recording
from warpline_app.recording.request import RecordingRequest, suggested_output

FOLDER = "warpline-demo"


def record_example(workspace: Workspace) -> Recording:
    """Start recording; the capture goes into its own folder. Raises RecordingError when none can be made."""
    folder = _folder()
    request = RecordingRequest(
        interpreter=python_of_programs(),
        script=str(resources.path(resources.EXAMPLE)),
        working_directory=str(folder),
    )
    output = suggested_output(request, datetime.now())
    recording = Recording(replace(request, output=str(output)).checked(), workspace)
    workspace.begin(recording, has_tab=True)
    return recording


def _folder() -> Path:
    """The folder that the command line uses, else one in the home folder."""
    refused = ""
    for base in (Path.cwd(), home_folder()):
        folder = base / FOLDER
        try:
            folder.mkdir(exist_ok=True)
            probe = folder / ".writable"
            probe.touch()
            probe.unlink()
        except OSError as error:
            refused = f"{folder}: {error.strerror}"
        else:
            return folder
    raise RecordingError(tr("Cannot create a folder for the demo: {reason}", reason=refused))
