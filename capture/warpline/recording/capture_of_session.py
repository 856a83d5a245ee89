"""What every recording needs around it, however its program came to be watched: where it may write, what it says of the
machine, and the capture at its end.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpline.held_folders import TemporaryFolder
from warpline.i18n import english, translated
from warpline.model.errors import Cancelled, RecordingError, WarplineError
from warpline.output_places import is_no_file
from warpline.recording.session import Session
from warpline.recording.spool.directory import recovering, remove_spool

if TYPE_CHECKING:
    from warpline.recording.recorder import RecorderOutcome
    from warpline.recording.signals import SignalQueue

Report = Callable[[dict[str, Any]], None]


@dataclass(frozen=True, kw_only=True)
class Result:
    """How it went. ``exit_status`` is the program's as a shell reports it, or 126/127 when it could not be run.

    ``path`` is None when no capture was written because the program could not be run (``error`` says why) or the
    recording was discarded. ``damaged`` names the sources whose records could not be read; the spool stays then.
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


def write_capture(
    session: Session, outcome: RecorderOutcome, signals: SignalQueue, tell: Report, result: Result
) -> Result:
    """Finalise; the spool directory goes away only after the capture is in place, with all that is in the spool."""
    interrupts = 0
    told = 0.0

    def cancelled() -> bool:
        nonlocal interrupts
        interrupts += len(signals.take())
        return interrupts > 1

    def progress(fraction: float, _what: str) -> None:
        nonlocal told
        now = time.monotonic()
        if now - told >= 0.25:
            told = now
            tell({"state": "finalising", "fraction": round(fraction, 3)})

    directory = session.directory
    tell({"state": "finalising", "fraction": 0.0})
    try:
        # Libraries that cannot be loaded for want of memory or descriptors are no reason to lose what was recorded.
        from warpline.recording.finalise import finalise

        done = finalise(directory, session.output, progress=progress, cancelled=cancelled)
    except (WarplineError, OSError, MemoryError, ImportError) as error:
        raise kept(session, error, tell) from error
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


def kept(session: Session, error: Exception, tell: Report) -> RecordingError:
    """Tells that no capture could be written, and where what was recorded is; the error to raise."""
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
            "{output}: the capture could not be written: {what}; what was recorded is kept: warpline recover {spool}",
            output=session.output,
            what=what,
            spool=recovering(directory, session.output),
        )
    else:
        text = english(
            "{output}: the capture could not be written: the spool {spool} was removed while it was recorded into",
            output=session.output,
            spool=directory,
        )
    tell({"state": "failed", "message": text, "spool": str(directory)})
    return RecordingError(translated(text))


def describe_host() -> dict[str, Any]:
    """What the capture says about the machine."""
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
        raise RecordingError(f"{output}: is no file that a capture could replace; name another")
    if not os.access(folder, os.W_OK) or (output.exists() and not os.access(output, os.W_OK)):
        raise RecordingError(f"{output}: no permission to write there")
    if not output.exists():
        # Some places say that they may be written to and take no file: /proc. What a kill leaves at this moment is
        # removed like the folders in which captures are written.
        try:
            TemporaryFolder(folder).close()
        except OSError as error:
            raise RecordingError(f"{output}: {error.strerror}") from error
    if shutil.disk_usage(folder).free < 1 << 20:
        raise RecordingError(f"{output}: the disk is full")


def allow_many_files() -> None:
    """Each thread of the program costs us a file; the program has its limit already and keeps it."""
    import resource

    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def remove_quietly(directory: Path) -> None:
    """Remove a spool directory, as far as it goes."""
    with contextlib.suppress(OSError):
        remove_spool(directory)
