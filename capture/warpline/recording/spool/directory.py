"""Creates, locks and removes the spool directory of a recording.

Recorders and recoveries lock the directory, so that only one writes the capture. `session.json` exists while the spool
is the only copy of the recording. It is renamed atomically once the capture is in place; a directory with the new name,
or with neither, can be removed.
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

from warpline.i18n import tr
from warpline.model.errors import RecordingError
from warpline.platform.files import open_regular
from warpline.platform.held_folders import hold
from warpline.recording.session import SESSION_BEGINS, SESSION_FILE, output_in, says_recording

_ENDED_FILE = "ended.json"
_ENDING = ".spool"
_UNFINISHED_FILE = f"{SESSION_FILE}.part"
_OURS = frozenset({SESSION_FILE, _ENDED_FILE, _UNFINISHED_FILE, "control", "control.sock", "stderr"})
_OUR_SPOOLS = re.compile(r"(recorder|perf|wakeups|procfs|nvml|python|native|agent\.\d+\.\d+)\.spool")
"""Our spool files by name, for damaged ones; plug-ins use other names (docs/spool.md)."""
_PATIENCE_S = 1.0
_MAGIC = b"WLSPOOL1"
_FLAGS = struct.Struct("@l")
_GET_FLAGS, _SET_FLAGS, _NO_COPIES = 0x80086601, 0x40086602, 0x00800000
"""FS_IOC_GETFLAGS, FS_IOC_SETFLAGS (of 64 bits) and FS_NOCOW_FL of linux/fs.h."""


def default_spool(output: Path) -> Path:
    """The spool directory beside a capture: ``run.h5.spool``."""
    return output.with_name(f"{output.name}.spool")


def recovering(directory: Path, output: Path) -> str:
    """The arguments of ``warpline recover`` that write the capture of a spool directory to ``output``."""
    return str(directory) if directory == default_spool(output) else f"{directory} -o {output}"


@contextlib.contextmanager
def new_spool(directory: Path) -> Iterator[None]:
    """Create the spool directory, readable to its owner only, and lock it; remains of an ended recording are removed.

    Raises RecordingError when it exists and is not empty, or cannot be created.
    """
    with contextlib.ExitStack() as stack:
        try:
            directory.mkdir(mode=0o700, parents=False, exist_ok=True)
            _check_owner(directory, os.lstat(directory))
            held = stack.enter_context(held_spool(directory))
            _make_empty(directory)
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
    """Switch copy-on-write off for the files of a folder (``chattr +C``) on btrfs.

    Spool files are mapped and their space is reserved. With copy-on-write each write to a page needs new space, and a
    full disk would end the program by SIGBUS. Other file systems do not know the flag.
    """
    import fcntl  # not on Windows, where captures are read

    with contextlib.suppress(OSError):
        (flags,) = _FLAGS.unpack(fcntl.ioctl(directory, _GET_FLAGS, bytes(_FLAGS.size)))
        fcntl.ioctl(directory, _SET_FLAGS, _FLAGS.pack(flags | _NO_COPIES))


@contextlib.contextmanager
def held_spool(directory: Path) -> Iterator[int]:
    """Lock a spool directory until the context or the process ends.

    Waits a moment for a lock that is about to end: if a recorder is killed before its program starts, the forked child
    keeps the lock until it notices. Yields the directory's descriptor.

    Raises RecordingError when another process holds it, OSError when it cannot be opened.
    """
    until = time.monotonic() + _PATIENCE_S
    while (descriptor := hold(Path(os.path.realpath(directory)))) is None and time.monotonic() < until:
        time.sleep(_PATIENCE_S / 50)
    if descriptor is None:
        raise RecordingError(
            tr(
                "{spool}: is still being recorded; stop it with 'warpline control stop', or finish a killed"
                " recording with 'warpline recover'",
                spool=directory,
            )
        )
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def is_over(directory: Path) -> bool:
    """Whether a spool directory can be removed: its capture is written, or nothing was recorded.

    Raises OSError.
    """
    names = set(os.listdir(directory))
    if not all(_is_ours(directory / name) for name in names):
        return False
    if _ENDED_FILE in names:
        return says_recording(directory / _ENDED_FILE)
    has_records = any(_begins(directory / name).rstrip(b"\0") for name in names if name.endswith(_ENDING))
    if SESSION_FILE in names:
        return not has_records and says_recording(directory / SESSION_FILE)
    # A recorder that was killed before it wrote the session leaves at most the unfinished session. Only the name of the
    # directory shows that it is ours.
    return directory.name.endswith(_ENDING) and names <= {_UNFINISHED_FILE}


def is_abandoned(directory: Path) -> bool:
    """Whether a recorder ended before the capture of a spool directory was written; False where nobody can tell."""
    try:
        held = hold(Path(os.path.realpath(directory)), alone=True)
        if held is None:
            return False
        os.close(held)
        return not is_over(directory)
    except OSError:  # it has just been removed
        return False


def killed_text(directory: Path, output: Path) -> str:
    """What to do about an abandoned spool directory."""
    return tr(
        "the recorder ended without writing the capture; to write it: warpline recover {arguments}",
        arguments=recovering(directory, output),
    )


def capture_in_place(directory: Path) -> Path:
    """The capture that the ended session names, or else the one beside the spool directory."""
    output = output_in(directory / _ENDED_FILE)
    return output if output is not None and output.is_file() else directory.with_suffix("")


def remove_spool(directory: Path) -> None:
    """Remove a spool directory after its capture has been written; files that are not ours stay.

    Raises OSError.
    """
    _remove_files(directory)
    try:
        os.rmdir(directory)
    except OSError:
        # It contains files that are not ours.
        return


def owner_of(directory: Path) -> str:
    """The owner of a folder if it is another user; empty if it is this user.

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


def _check_owner(directory: Path, status: os.stat_result) -> None:
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
        raise RecordingError(
            tr(
                "{spool}: does not belong to this user; name another folder with --spool",
                spool=directory,
            )
        )


def _make_private(directory: Path, held: int) -> None:
    """Check that an existing folder is still ours, and make it private."""
    status = os.fstat(held)
    _check_owner(directory, status)
    if status.st_mode & 0o077:
        os.fchmod(held, 0o700)
        if os.listdir(held):
            raise RecordingError(
                f"{directory}: another user wrote files into it; name another directory with --spool"
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
    """Whether a recording wrote a file, by its name or its first bytes; an empty file counts."""
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
    with open(open_regular(path), "rb") as file:
        return file.read(count)
