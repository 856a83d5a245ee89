"""Snapshots of a running recording: ordinary captures of what is in its spool so far."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from warpline.model.progress import IsCancelled
from warpline.recording.finalise import finalise
from warpline.recording.live.pace import LEAST_LENGTH_NS
from warpline.recording.live.settled import lateness_ns
from warpline.recording.session import Session, load_session
from warpline.recording.sources.registry import recording_sources
from warpline.recording.spool.reader import read_spools
from warpline.recording.spool.schedule import last_time
from warpline.storage import Capture, open_capture

_FIRST_LATENESS_NS = 1_000_000_000
"""Assumed until two snapshots have been compared."""
_LARGE_BYTES = 64 << 20
"""Of a spool larger than this, the first snapshot does not cover all: that would take seconds."""
_COMPARED = 4
"""How many of the last snapshots' latenesses count: what was late once is likely to be late again."""


@dataclass(frozen=True, kw_only=True)
class LiveSnapshot:
    """A capture of a running recording. Times are ns since the recording's start.

    ``kept_ns`` is where the capture begins: 0 as long as all of the recording is in it. ``head_ns`` is where it ends.
    Before ``settled_ns`` nothing changes any more, as far as the last snapshots tell.
    """

    path: Path
    kept_ns: int
    head_ns: int
    settled_ns: int
    events: int
    cpu_s: float
    """CPU time it cost"""
    wall_s: float
    """Time it took the process that made it"""

    def as_values(self) -> dict[str, Any]:
        """The fields for JSON."""
        return {**asdict(self), "path": str(self.path)}

    @staticmethod
    def of_values(values: Mapping[str, Any]) -> LiveSnapshot:
        """What `as_values` gave. Raises KeyError and TypeError."""
        fields = {name: values[name] for name in LiveSnapshot.__dataclass_fields__}
        return LiveSnapshot(**{**fields, "path": Path(fields["path"])})


def open_snapshot(snapshot: LiveSnapshot) -> Capture:
    """The capture of a snapshot, its times counted from the recording's start, whatever part of it is kept.

    Raises CaptureFormatError.
    """
    return since_start(open_capture(snapshot.path), snapshot.kept_ns)


def since_start(capture: Capture, kept_ns: int) -> Capture:
    """The capture with its times moved later by ``kept_ns``; both share the file."""
    if not kept_ns:
        return capture
    moved = capture.with_clock_offsets(
        {index: clock.offset_ns - kept_ns for index, clock in enumerate(capture.clocks)}
    )
    moved.pauses = capture.pauses + kept_ns
    return moved


class SnapshotMaker:
    """Makes snapshots of one recording in a folder, one after the other; keeps the files of the last two."""

    def __init__(self, directory: Path, folder: Path) -> None:
        self._directory, self._folder = directory, folder
        self._number = 0
        self._before: tuple[LiveSnapshot, Capture] | None = None
        self._lateness: deque[int] = deque(maxlen=_COMPARED)

    def make(
        self, since_ns: int = 0, output: Path | None = None, cancelled: IsCancelled | None = None
    ) -> LiveSnapshot:
        """A snapshot that leaves out what ended before ``since_ns`` (ns since the recording's start;
        negative: before its present end). The first of a large recording is of its last minute.

        With an ``output`` it belongs to the user: it is written there and stays.

        Raises RecordingError, StorageError and Cancelled as `warpline.recording.finalise.finalise`.
        """
        cpu, wall = time.process_time(), time.monotonic()
        session = load_session(self._directory)
        start, until = session.start_monotonic_ns, self.end_ns(session)
        if since_ns < 0:
            since_ns = max(0, until - start + since_ns)
        elif since_ns == 0 and self._number == 0 and output is None and self._is_large():
            since_ns = max(0, until - start - LEAST_LENGTH_NS)
        path = output or self._folder / f"{self._number + 1}.h5"
        done = finalise(
            self._directory,
            path,
            cancelled=cancelled,
            until_ns=until,
            since_ns=start + since_ns if since_ns > 0 else None,
        )
        capture = open_capture(path)
        begun = capture.meta.get("start_monotonic_ns")
        kept = max(0, begun - start) if isinstance(begun, int) else 0
        head = kept + capture.span[1]
        capture = since_start(capture, kept)
        settled = max(kept, head - self._late(capture, kept))
        snapshot = LiveSnapshot(
            path=path,
            kept_ns=kept,
            head_ns=head,
            settled_ns=settled,
            events=done.events,
            cpu_s=time.process_time() - cpu,
            wall_s=time.monotonic() - wall,
        )
        if output is None:
            self._keep(snapshot, capture)
        else:
            capture.close()
        return snapshot

    def end_ns(self, session: Session) -> int:
        """Where a snapshot ends, in the recorded machine's CLOCK_MONOTONIC: now, or at the last record received."""
        if not session.is_remote:
            return time.monotonic_ns()
        spools, _problems = read_spools(session.directory)
        timed = dict(entry for source in recording_sources() for entry in source.timed_records)
        return last_time(spools, session.start_monotonic_ns, timed)

    def _is_large(self) -> bool:
        return sum(path.stat().st_blocks for path in self._directory.glob("*.spool")) * 512 > _LARGE_BYTES

    def close(self) -> None:
        """Close the last snapshot."""
        if self._before is not None:
            self._before[1].close()
            self._before = None

    def _late(self, capture: Capture, kept: int) -> int:
        if self._before is not None:
            snapshot, before = self._before
            late = lateness_ns(before, capture, max(kept, snapshot.kept_ns), snapshot.head_ns)
            self._lateness.append(late)
        return max(self._lateness, default=_FIRST_LATENESS_NS)

    def _keep(self, snapshot: LiveSnapshot, capture: Capture) -> None:
        self.close()
        self._before = snapshot, capture
        self._number += 1
        # The window has the one before mapped, and has asked for this one: it will not open an older one.
        (self._folder / f"{self._number - 2}.h5").unlink(missing_ok=True)
