"""Finishes a recording whose recorder died before it could write the capture."""

from __future__ import annotations

from pathlib import Path

from warpline.held_folders import sweep
from warpline.i18n import tr
from warpline.model.errors import RecordingError
from warpline.recording.finalise import Finalised, finalise
from warpline.recording.session import load_session
from warpline.recording.spool.directory import held_spool, is_over, owner_of, remove_spool


def recover(directory: Path, output: Path | None = None, *, keep: bool = False) -> Finalised | None:
    """Write the capture of a spool directory, then remove the directory unless ``keep``.

    ``output`` defaults to where the recording would have put it. A directory of another user is believed in nothing
    but its records: it must be told where the capture goes, and the directory stays. None when there is nothing to be
    written, because the capture was complete already or nothing had been recorded; what was left of the spool is
    removed.

    Raises RecordingError when it is no spool directory or its recorder still runs, StorageError when the capture
    cannot be written; the directory stays then.
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
        output = (output or session.output).absolute()
        done = finalise(directory, output)
        # What a recorder that was killed while it wrote the capture left there.
        sweep((output if owner else session.output).parent)
        if not keep:
            remove_spool(directory)
    return done
