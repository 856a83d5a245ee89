"""Where a recording keeps its spool files, and how they go away.

Whoever records, finishes or recovers holds the folder: two would write one capture. `session.json` is in it as long as
what was recorded is nowhere else. It is renamed, in one step, once the capture is in place; what is found beside the
new name, or without either, may go.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import struct
import time
from collections.abc import Iterator
from pathlib import Path

from warpline.held_folders import hold
from warpline.i18n import tr
from warpline.model.errors import RecordingError
from warpline.recording.session import SESSION_BEGINS, SESSION_FILE, output_in, says_recording

_ENDED_FILE = "ended.json"
_ENDING = ".spool"
_UNFINISHED_FILE = f"{SESSION_FILE}.part"
_OURS = frozenset({SESSION_FILE, _ENDED_FILE, _UNFINISHED_FILE, "control", "control.sock", "stderr"})
_OUR_SPOOLS = re.compile(r"(recorder|perf|wakeups|procfs|nvml|python|native|agent\.\d+\.\d+)\.spool")
"""Of a damaged one nothing but its name tells whose it is; plug-ins have names of their own (docs/spool.md)."""
_PATIENCE_S = 1.0
_MAGIC = b"WLSPOOL1"
_FLAGS = struct.Struct("@l")
_GET_FLAGS, _SET_FLAGS, _NO_COPIES = 0x80086601, 0x40086602, 0x00800000
"""FS_IOC_GETFLAGS, FS_IOC_SETFLAGS (of 64 bits) and FS_NOCOW_FL of linux/fs.h."""


def default_spool(output: Path) -> Path:
    """The spool directory beside a capture: ``run.h5.spool``."""
    return output.with_name(f"{output.name}.spool")


def recovering(directory: Path, output: Path) -> str:
    """What ``warpline recover`` has to be told so that the capture of a spool directory goes to ``output``."""
    return str(directory) if directory == default_spool(output) else f"{directory} -o {output}"


@contextlib.contextmanager
def new_spool(directory: Path) -> Iterator[None]:
    """Make the spool directory, readable to its owner only, and hold it; what one left that has ended goes first.

    Raises RecordingError when it exists with something in it, or cannot be made.
    """
    with contextlib.ExitStack() as stack:
        try:
            directory.mkdir(mode=0o700, parents=False, exist_ok=True)
            _check_owner(directory, os.lstat(directory))
            held = stack.enter_context(held_spool(directory))
            _make_empty(directory)
            if held >= 0:
                _make_private(directory, held)
                _write_in_place(held)
        except FileNotFoundError as error:
            raise RecordingError(f"{directory}: its folder does not exist") from error
        except OSError as error:
            raise RecordingError(
                f"{directory}: cannot be used for the recording: {error.strerror}"
            ) from error
        yield


def _write_in_place(directory: int) -> None:
    """Have files of a folder written where they lie (``chattr +C``), on a file system that copies (btrfs).

    Spool files are mapped, and their room is reserved. One that copies a page looks for room anew whenever it is
    written, and where there is none, SIGBUS ends the program. Others do not know the flag.
    """
    import fcntl  # not on Windows, where captures are read

    with contextlib.suppress(OSError):
        (flags,) = _FLAGS.unpack(fcntl.ioctl(directory, _GET_FLAGS, bytes(_FLAGS.size)))
        fcntl.ioctl(directory, _SET_FLAGS, _FLAGS.pack(flags | _NO_COPIES))


@contextlib.contextmanager
def held_spool(directory: Path) -> Iterator[int]:
    """Hold a spool directory until the context ends; the end of the process ends it too, however it comes.

    Waits a moment for one that is ending: a program that had not begun when its recorder was killed has the recorder's
    lock until it sees that. Gives the descriptor of the directory, −1 where there are no locks.

    Raises RecordingError when another process holds it, OSError when it cannot be opened.
    """
    until = time.monotonic() + _PATIENCE_S
    while (descriptor := hold(Path(os.path.realpath(directory)))) is None and time.monotonic() < until:
        time.sleep(_PATIENCE_S / 50)
    if descriptor is None:
        raise RecordingError(
            tr(
                "{spool}: is still being recorded; 'warpline control stop' ends that, and 'warpline recover'"
                " finishes what a recorder that was killed left",
                spool=directory,
            )
        )
    try:
        yield descriptor
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def is_over(directory: Path) -> bool:
    """Whether a spool directory holds nothing that is worth a capture: that was written already, or nothing began.

    Raises OSError.
    """
    names = set(os.listdir(directory))
    if not all(_is_ours(directory / name) for name in names):
        return False
    if _ENDED_FILE in names:
        return says_recording(directory / _ENDED_FILE)
    begun = any(_begins(directory / name).rstrip(b"\0") for name in names if name.endswith(_ENDING))
    if SESSION_FILE in names:
        return not begun and says_recording(directory / SESSION_FILE)
    # Before the session is there, nothing is recorded and nothing but its name tells whose the folder is: what else
    # lies in it is as a recorder leaves it that was killed while it wrote the session.
    return directory.name.endswith(_ENDING) and names <= {_UNFINISHED_FILE}


def capture_in_place(directory: Path) -> Path:
    """The capture that a spool directory says to have been written; without a word of it the one beside."""
    output = output_in(directory / _ENDED_FILE)
    return output if output is not None and output.is_file() else directory.with_suffix("")


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


def _check_owner(directory: Path, found: os.stat_result) -> None:
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise RecordingError(
            tr(
                "{spool}: is not this user's own folder; what is recorded is for nobody else, name one with --spool",
                spool=directory,
            )
        )


def _make_private(directory: Path, held: int) -> None:
    """A folder that was there already may have been replaced by somebody's who waits, or be open to everybody."""
    found = os.fstat(held)
    _check_owner(directory, found)
    if found.st_mode & 0o077:
        os.fchmod(held, 0o700)
        if os.listdir(held):
            raise RecordingError(
                f"{directory}: somebody puts files into it; name another directory with --spool"
            )


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
        if name != _ENDED_FILE and _is_ours(directory / name):
            (directory / name).unlink(missing_ok=True)
    (directory / _ENDED_FILE).unlink(missing_ok=True)


def _is_ours(path: Path) -> bool:
    """Whether a recording made a file: by its whole name, or by what it begins with, which may be nothing yet."""
    name = path.name
    if name not in _OURS and not name.endswith(_ENDING):
        return False
    try:
        mode = os.lstat(path).st_mode
        if not stat.S_ISREG(mode):
            return name == "control.sock" and stat.S_ISSOCK(mode)
        if name == _UNFINISHED_FILE:
            return SESSION_BEGINS.startswith(_begins(path, len(SESSION_BEGINS)))
        is_named = name in _OURS or _OUR_SPOOLS.fullmatch(name) is not None
        return is_named or _begins(path).rstrip(b"\0") in {b"", _MAGIC}
    except OSError:
        return False


def _begins(path: Path, count: int = len(_MAGIC)) -> bytes:
    with path.open("rb") as file:
        return file.read(count)
