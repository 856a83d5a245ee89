"""The captures that show a running recording: joined ticks, or a snapshot for a view that goes further back."""

from __future__ import annotations

import time
from dataclasses import replace

from warpline.model.errors import RecordingError
from warpline.recording.live.client import SnapshotProcess
from warpline.recording.live.pace import SnapshotPace, tick_wait_s
from warpline.recording.live.snapshots import LiveSnapshot, open_snapshot
from warpline.recording.live.ticks import FIRST_NS
from warpline.storage import Capture, open_part
from warpline.storage.live.growing import GrowingCapture

_Made = tuple[Capture, LiveSnapshot]
_ATTEMPTS = 3


class LiveCaptures:
    """Makes one capture after the other. Call `next` in a worker thread, never in two at once."""

    def __init__(self, process: SnapshotProcess) -> None:
        self._process = process
        self._pace = SnapshotPace()
        self._growing = GrowingCapture()
        self._kept_ns = 0
        self._ticked_s: float | None = None
        self._failures = 0

    def next(self, head_ns: int = 0, view_start_ns: int = 0, *, follows: bool = True) -> _Made:
        """A capture that is up to date.

        ``head_ns`` is where the last one ended, ``view_start_ns`` where the view begins; the view of one who
        ``follows`` may begin before the capture. Times are ns since the recording's start. Raises RecordingError.
        """
        kept_ns = self._kept_ns
        if self._ticked_s is not None and self._gap_ns(self._ticked_s) > FIRST_NS:
            # Begin the next tick anew: otherwise it would lack what is in view or selected.
            kept_ns = max(kept_ns, head_ns + self._gap_ns(self._ticked_s) - FIRST_NS)
        is_older = view_start_ns < kept_ns
        if self._failures < _ATTEMPTS and not (
            is_older and not (follows and head_ns - view_start_ns <= FIRST_NS)
        ):
            try:
                return self._tick()
            except RecordingError:
                self._failures, self._ticked_s = self._failures + 1, None
        since = self._pace.since_ns(head_ns, view_start_ns) if head_ns else 0
        snapshot = self._process.ask(since)
        self._pace.took(snapshot.cpu_s, snapshot.head_ns - snapshot.kept_ns, is_whole=not snapshot.kept_ns)
        return open_snapshot(snapshot), snapshot

    def wait_s(self, snapshot: LiveSnapshot, took_s: float) -> float:
        """Seconds to wait before the next capture, given how long this one took."""
        if self._ticked_s is not None:
            return tick_wait_s(snapshot.cpu_s, snapshot.wall_s, took_s)
        return self._pace.wait_s(snapshot.cpu_s, took_s)

    @staticmethod
    def _gap_ns(ticked_s: float) -> int:
        return int((time.monotonic() - ticked_s) * 1e9)

    def _tick(self) -> _Made:
        now_s = time.monotonic()
        anew = self._ticked_s is None or self._gap_ns(self._ticked_s) > FIRST_NS
        tick = self._process.tick(anew=anew)
        if anew:
            self._growing = GrowingCapture()
        part = open_part(tick.path)
        # It stays mapped as long as something of it is shown.
        tick.path.unlink(missing_ok=True)
        capture = self._growing.add(part, tick.kept_ns, tick.head_ns)
        self._ticked_s, self._kept_ns, self._failures = now_s, capture.span[0], 0
        return capture, replace(tick, kept_ns=capture.span[0], events=len(capture.events))
