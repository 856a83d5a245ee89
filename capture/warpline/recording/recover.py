"""Finishes a recording whose recorder died before it could write the capture."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from warpline.i18n import tr
from warpline.model.errors import RecordingError
from warpline.platform.held_folders import sweep
from warpline.platform.systems import is_linux
from warpline.recording.control import remove_notes_of_ended
from warpline.recording.finalise import Finalised, finalise
from warpline.recording.session import Session, load_session
from warpline.recording.spool.directory import held_spool, is_over, owner_of, remove_spool
from warpline.storage import is_capture


def recover(directory: Path, output: Path | None = None, *, keep: bool = False) -> Finalised | None:
    """Write the capture of a spool directory, then remove the directory unless ``keep``.

    ``output`` defaults to the name of the directory without ``.spool``. It is required when the directory belongs to
    another user, names a capture elsewhere, or when a file that is not a capture would be replaced. Directories of
    other users are kept. Returns None when there is nothing to write, because the capture is complete or nothing was
    recorded; the rest of the spool is removed then.

    Raises RecordingError when it is not a spool directory, its recorder still runs or ``output`` is required, and
    StorageError when the capture cannot be written; the directory is kept then.
    """
    directory = directory.absolute()
    if not directory.is_dir():
        load_session(directory)
    owner = owner_of(directory)
    if owner and output is None:
        raise RecordingError(
            tr(
                "{spool}: belongs to {user}; name the file to write: warpline recover {spool} -o FILE",
                spool=directory,
                user=owner,
            )
        )
    keep = keep or bool(owner)
    with held_spool(directory):
        if is_over(directory):
            if not keep:
                remove_spool(directory)
            return None
        session = load_session(directory)
        output = (output or _output_beside(directory, session)).absolute()
        done = finalise(directory, output)
        # Temporary folders of a recorder that was killed while it wrote the capture.
        sweep(output.parent)
        if not keep:
            remove_spool(directory)
    if is_linux():
        remove_notes_of_ended()
    return done


def still_running(directory: Path) -> list[int]:
    """Processes that still write into a spool directory without a recorder. What they write from now on is lost."""
    pids = []
    # /proc/PID/maps shows the resolved path.
    for path in directory.resolve().glob("agent.*.spool"):
        pid = path.name.split(".")[1]
        # The id may have been reused: only a writer has the file mapped.
        with contextlib.suppress(OSError):
            if str(path) in Path(f"/proc/{pid}/maps").read_text(errors="replace"):
                pids.append(int(pid))
    return sorted(pids)


def _output_beside(directory: Path, session: Session) -> Path:
    """The output beside the spool directory; a session cannot direct it to another place."""
    name = session.output.name
    if not name or directory.name != f"{name}.spool" or not _are_siblings(session.output, directory):
        raise RecordingError(
            tr(
                "{spool}: its capture was meant for {output}; name the file to write: warpline recover {spool} -o FILE",
                spool=directory,
                output=session.output,
            )
        )
    output = directory.with_name(name)
    if os.path.lexists(output) and not (output.is_file() and is_capture(output)):
        raise RecordingError(
            tr(
                "{output}: exists and is not a capture; name another file: warpline recover {spool} -o FILE",
                spool=directory,
                output=output,
            )
        )
    return output


def _are_siblings(output: Path, directory: Path) -> bool:
    """Whether both are in the same folder."""
    return os.path.realpath(output.parent) == os.path.realpath(directory.parent)
