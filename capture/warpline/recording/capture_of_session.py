"""What every recording shares: the check of its output, the description of the machine, and writing the capture."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpline.i18n import english, translated
from warpline.lone_numpy import load_numpy
from warpline.model.errors import Cancelled, RecordingError, WarplineError
from warpline.output_places import is_no_file
from warpline.platform.held_folders import TemporaryFolder
from warpline.recording.session import Session
from warpline.recording.spool.directory import recovering, remove_spool

if TYPE_CHECKING:
    from warpline.recording.recorder import RecorderOutcome
    from warpline.recording.signals import SignalQueue

Report = Callable[[dict[str, Any]], None]


@dataclass(frozen=True, kw_only=True)
class Result:
    """Result of a recording. ``exit_status`` is the program's as a shell reports it, or 126/127 if it could not run.

    ``path`` is None when the program could not be run (``error`` says why) or the recording was discarded.
    ``damaged`` names the sources whose records could not be read; the spool is kept then.
    """

    exit_status: int
    path: Path | None = None
    error: str = ""
    events: int = 0
    lost: int = 0
    duration_ns: int = 0
    left_ring_ns: int = 0
    outcome: RecorderOutcome | None = None
    damaged: tuple[str, ...] = ()


Finish = Callable[
    [Session, "RecorderOutcome", "SignalQueue", Report, Result],
    Result,
]
"""What happens to the spool after a recording: `write_capture`."""


def write_capture(
    session: Session,
    outcome: RecorderOutcome,
    signals: SignalQueue,
    tell: Report,
    result: Result,
    files: Path | None = None,
) -> Result:
    """Write the capture; remove the spool directory only after the complete capture is in place.

    ``files`` as in `warpline.recording.finalise.finalise`.
    """
    interrupts = 0
    reported_s = 0.0

    def cancelled() -> bool:
        nonlocal interrupts
        interrupts += len(signals.take())
        return interrupts > 1

    def progress(fraction: float, _what: str) -> None:
        nonlocal reported_s
        now = time.monotonic()
        if now - reported_s >= 0.25:
            reported_s = now
            tell({"state": "finalising", "fraction": round(fraction, 3)})

    directory = session.directory
    tell({"state": "finalising", "fraction": 0.0})
    try:
        # Inside the try: if this import runs out of memory or descriptors, the recording is kept.
        load_numpy()
        from warpline.recording.finalise import finalise

        done = finalise(directory, session.output, progress=progress, cancelled=cancelled, files=files)
    except (WarplineError, OSError, MemoryError, ImportError) as error:
        raise capture_failed(session, error, tell) from error
    if not done.damaged:
        remove_spool(directory)
    duration = outcome.stop_monotonic_ns - session.start_monotonic_ns
    left_ring = max(duration - session.options.ring_ns, 0) if session.options.ring_ns else 0
    tell({"state": "done", "path": str(done.path), "events": done.events, "lost": done.lost})
    return replace(
        result,
        path=done.path,
        events=done.events,
        lost=done.lost,
        duration_ns=duration - left_ring,
        left_ring_ns=left_ring,
        damaged=done.damaged,
    )


def capture_failed(session: Session, error: Exception, tell: Report) -> RecordingError:
    """Report that the capture could not be written and where the recording is; returns the error to raise."""
    directory = session.directory
    what = (
        english("interrupted")
        if isinstance(error, Cancelled)
        else english("there is not enough memory")
        if isinstance(error, MemoryError)
        else str(error) or type(error).__name__
    )
    if directory.is_dir():
        text = english(
            "{output}: the capture could not be written: {what}; the recording is kept: warpline recover {spool}",
            output=session.output,
            what=what,
            spool=recovering(directory, session.output),
        )
    else:
        text = english(
            "{output}: the capture could not be written: the spool {spool} was removed during the recording",
            output=session.output,
            spool=directory,
        )
    tell({"state": "failed", "message": text, "spool": str(directory)})
    return RecordingError(translated(text))


def describe_host() -> dict[str, Any]:
    """The machine, as the capture describes it."""
    name = os.uname()
    return {
        "name": name.nodename,
        "system": f"{name.sysname} {name.release}",
        "machine": name.machine,
        "cpus": os.cpu_count() or 0,
        "cpu_model": _first_field("/proc/cpuinfo", "model name"),
        "memory_bytes": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
    }


def _first_field(path: str, key: str) -> str:
    try:
        with open(path) as file:
            for line in file:
                name, _, value = line.partition(":")
                if name.strip() == key:
                    return value.strip()
    except OSError:
        return ""
    return ""


def check_output(output: Path) -> None:
    """Raises RecordingError where no capture could be written."""
    folder = output.parent
    if not folder.is_dir():
        raise RecordingError(f"{output}: the folder {folder} does not exist")
    if output.is_dir():
        raise RecordingError(f"{output}: is a folder; name a file")
    if is_no_file(output):
        raise RecordingError(f"{output}: is not a regular file; name another")
    if not os.access(folder, os.W_OK) or (output.exists() and not os.access(output, os.W_OK)):
        raise RecordingError(f"{output}: no permission to write there")
    if not output.exists():
        # Some places look writable and take no file, such as /proc. If we are killed here, the folder is removed later
        # like those in which captures are written.
        try:
            TemporaryFolder(folder).close()
        except OSError as error:
            raise RecordingError(f"{output}: {error.strerror}") from error
    if shutil.disk_usage(folder).free < 1 << 20:
        raise RecordingError(f"{output}: the disk is full")


def allow_many_files() -> None:
    """Raise our limit of open files: each thread of the program needs one. The program keeps its own limit."""
    import resource

    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def remove_quietly(directory: Path) -> None:
    """Remove a spool directory; errors are ignored."""
    with contextlib.suppress(OSError):
        remove_spool(directory)
