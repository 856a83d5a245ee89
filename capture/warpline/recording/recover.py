"""Finishes a recording whose recorder died before it could write the capture."""

from __future__ import annotations

from pathlib import Path

from warpline.i18n import tr
from warpline.model.errors import RecordingError
from warpline.recording.control import send_command
from warpline.recording.finalise import Finalised, finalise
from warpline.recording.session import load_session
from warpline.recording.spool.directory import remove_spool


def recover(directory: Path, output: Path | None = None, *, keep: bool = False) -> Finalised:
    """Write the capture of a spool directory, then remove the directory unless ``keep``.

    ``output`` defaults to where the recording would have put it.

    Raises RecordingError when it is no spool directory or its recorder still runs, StorageError when the capture
    cannot be written; the directory stays then.
    """
    directory = directory.absolute()
    session = load_session(directory)
    if _is_alive(directory):
        raise RecordingError(
            tr("{spool}: is still being recorded; 'warpline control stop' ends that", spool=directory)
        )
    done = finalise(directory, (output or session.output).absolute())
    if not keep:
        remove_spool(directory)
    return done


def _is_alive(directory: Path) -> bool:
    try:
        send_command(directory, "status", timeout_s=2)
    except RecordingError:
        return False
    return True
