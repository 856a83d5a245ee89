"""Where a recording keeps its spool files, and how they go away."""

from __future__ import annotations

import os
from pathlib import Path

from warpline.model.errors import RecordingError
from warpline.recording.session import SESSION_FILE

_OURS = frozenset({SESSION_FILE, "control", "stderr"})


def default_spool(output: Path) -> Path:
    """The spool directory beside a capture: ``run.h5.spool``."""
    return output.with_name(f"{output.name}.spool")


def make_spool(directory: Path) -> None:
    """Make the spool directory, readable to its owner only.

    Raises RecordingError when it exists with something in it, or cannot be made.
    """
    try:
        directory.mkdir(mode=0o700, parents=False, exist_ok=True)
        occupied = any(directory.iterdir())
    except FileNotFoundError as error:
        raise RecordingError(f"{directory}: its folder does not exist") from error
    except OSError as error:
        raise RecordingError(f"{directory}: cannot be used for the recording: {error.strerror}") from error
    if (directory / SESSION_FILE).exists():
        raise RecordingError(
            f"{directory}: holds an unfinished recording; finish it with 'warpline recover {directory}' or remove it"
        )
    if occupied:
        raise RecordingError(f"{directory}: is not empty; name another directory with --spool")


def remove_spool(directory: Path) -> None:
    """Remove a spool directory after its capture has been written; what others put into it stays.

    Raises OSError.
    """
    for entry in os.scandir(directory):
        if entry.name.endswith((".spool", ".sock", ".part", ".tmp")) or entry.name in _OURS:
            os.unlink(entry.path)
    try:
        os.rmdir(directory)
    except OSError:
        # Somebody's own file lies in it.
        return
