"""Finishes a recording whose recorder died before it could write the capture."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from warpline.held_folders import sweep
from warpline.i18n import tr
from warpline.model.errors import RecordingError
from warpline.recording.finalise import Finalised, finalise
from warpline.recording.session import Session, load_session
from warpline.recording.spool.directory import held_spool, is_over, owner_of, remove_spool
from warpline.storage import is_capture


def recover(directory: Path, output: Path | None = None, *, keep: bool = False) -> Finalised | None:
    """Write the capture of a spool directory, then remove the directory unless ``keep``.

    ``output`` defaults to the name of the directory without ``.spool``. A directory is believed in nothing but its
    records: one of another user, or one that says that its capture goes elsewhere, must be told where it goes, and so
    where a file that is no capture would be replaced. What belongs to another user stays. None when there is nothing
    to be written, because the capture was complete already or nothing had been recorded; what was left of the spool
    is removed.

    Raises RecordingError when it is no spool directory, its recorder still runs or ``output`` is needed, StorageError
    when the capture cannot be written; the directory stays then.
    """
    directory = directory.absolute()
    if not directory.is_dir():
        load_session(directory)
    owner = owner_of(directory)
    if owner and output is None:
        raise RecordingError(
            tr(
                "{spool}: belongs to {user}, so say where its capture goes: warpline recover {spool} -o FILE",
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
        # What a recorder that was killed while it wrote the capture left there.
        sweep(output.parent)
        if not keep:
            remove_spool(directory)
    return done


def still_running(directory: Path) -> list[int]:
    """Processes that go on writing into a spool directory, whose recorder is gone: what they do next is lost."""
    found = []
    # As the system names it: a link, or a way up, in what was typed is not in there.
    for path in directory.resolve().glob("agent.*.spool"):
        pid = path.name.split(".")[1]
        # Its number may have been given to another; only a writer has the file mapped.
        with contextlib.suppress(OSError):
            if str(path) in Path(f"/proc/{pid}/maps").read_text(errors="replace"):
                found.append(int(pid))
    return sorted(found)


def _output_beside(directory: Path, session: Session) -> Path:
    """Where the capture goes that nobody named: whoever made a spool decides of no other file."""
    name = session.output.name
    if not name or directory.name != f"{name}.spool" or not _lie_together(session.output, directory):
        raise RecordingError(
            tr(
                "{spool}: its capture was to be {output}; say where it goes: warpline recover {spool} -o FILE",
                spool=directory,
                output=session.output,
            )
        )
    output = directory.with_name(name)
    if os.path.lexists(output) and not (output.is_file() and is_capture(output)):
        raise RecordingError(
            tr(
                "{output}: is there and is no capture; say where it goes: warpline recover {spool} -o FILE",
                spool=directory,
                output=output,
            )
        )
    return output


def _lie_together(output: Path, directory: Path) -> bool:
    """Whether both lie in one folder."""
    return os.path.realpath(output.parent) == os.path.realpath(directory.parent)
