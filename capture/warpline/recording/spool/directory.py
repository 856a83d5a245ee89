"""Where a recording keeps its spool files, and how they go away.

Whoever records, finishes or recovers holds the folder: two would write one capture. `session.json` is in it as long as
what was recorded is nowhere else. It is renamed, in one step, once the capture is in place; what is found beside the
new name, or without either, may go.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from warpline.held_folders import hold
from warpline.i18n import tr
from warpline.model.errors import RecordingError
from warpline.recording.session import SESSION_FILE

_ENDED_FILE = "ended.json"
_OURS = frozenset({SESSION_FILE, _ENDED_FILE, "control", "stderr"})
_ENDINGS = (".spool", ".sock", ".part", ".tmp")
_MAGIC_BYTES = 8


def default_spool(output: Path) -> Path:
    """The spool directory beside a capture: ``run.h5.spool``."""
    return output.with_name(f"{output.name}.spool")


@contextlib.contextmanager
def new_spool(directory: Path) -> Iterator[None]:
    """Make the spool directory, readable to its owner only, and hold it; what one left that has ended goes first.

    Raises RecordingError when it exists with something in it, or cannot be made.
    """
    with contextlib.ExitStack() as stack:
        try:
            directory.mkdir(mode=0o700, parents=False, exist_ok=True)
            _make_private(directory)
            stack.enter_context(held_spool(directory))
            _make_empty(directory)
        except FileNotFoundError as error:
            raise RecordingError(f"{directory}: its folder does not exist") from error
        except OSError as error:
            raise RecordingError(
                f"{directory}: cannot be used for the recording: {error.strerror}"
            ) from error
        yield


@contextlib.contextmanager
def held_spool(directory: Path) -> Iterator[None]:
    """Hold a spool directory until the context ends; the end of the process ends it too, however it comes.

    Raises RecordingError when another process holds it, OSError when it cannot be opened.
    """
    descriptor = hold(Path(os.path.realpath(directory)))
    if descriptor is None:
        raise RecordingError(
            tr(
                "{spool}: is still being recorded; 'warpline control stop' ends that, and 'warpline recover'"
                " finishes what a recorder that was killed left",
                spool=directory,
            )
        )
    try:
        yield
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def is_over(directory: Path) -> bool:
    """Whether a spool directory holds nothing that is worth a capture: that was written already, or nothing began.

    Raises OSError.
    """
    names = set(os.listdir(directory))
    if not all(map(_is_ours, names)):
        return False
    if _ENDED_FILE in names:
        return True
    if SESSION_FILE in names:
        return not any(_has_begun(directory / name) for name in names if name.endswith(".spool"))
    # Before the session is there, nothing is recorded; an empty folder is told by its name alone.
    begun = any(name.endswith(".spool") for name in names)
    return not begun and (bool(names) or directory.name.endswith(".spool"))


def remove_spool(directory: Path) -> None:
    """Remove a spool directory after its capture has been written; what others put into it stays.

    Raises OSError.
    """
    _remove_files(directory)
    try:
        os.rmdir(directory)
    except OSError:
        # Somebody's own file lies in it.
        return


def owner_of(directory: Path) -> str:
    """The name of another user whose folder this is; empty where it is this user's.

    Raises OSError.
    """
    uid = os.stat(directory).st_uid
    if uid == os.geteuid():
        return ""
    try:
        import pwd

        return pwd.getpwuid(uid).pw_name
    except (ImportError, KeyError):
        return str(uid)


def _make_private(directory: Path) -> None:
    """A folder that was there already may be somebody's who waits for what is recorded, or open to everybody."""
    found = os.lstat(directory)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise RecordingError(
            tr(
                "{spool}: is not this user's own folder; what is recorded is for nobody else, name one with --spool",
                spool=directory,
            )
        )
    if found.st_mode & 0o077:
        os.chmod(directory, 0o700)


def _make_empty(directory: Path) -> None:
    names = os.listdir(directory)
    if names and is_over(directory):
        _remove_files(directory)
    elif SESSION_FILE in names:
        raise RecordingError(
            f"{directory}: holds an unfinished recording; finish it with 'warpline recover {directory}' or remove it"
        )
    elif names:
        raise RecordingError(f"{directory}: is not empty; name another directory with --spool")


def _remove_files(directory: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.replace(directory / SESSION_FILE, directory / _ENDED_FILE)
    for name in os.listdir(directory):
        if _is_ours(name) and name != _ENDED_FILE:
            (directory / name).unlink(missing_ok=True)
    (directory / _ENDED_FILE).unlink(missing_ok=True)


def _is_ours(name: str) -> bool:
    return name.endswith(_ENDINGS) or name in _OURS


def _has_begun(path: Path) -> bool:
    """Whether a spool file got as far as its header, or is something else."""
    with path.open("rb") as file:
        return any(file.read(_MAGIC_BYTES))
