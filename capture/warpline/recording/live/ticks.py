"""Follows a running recording: each tick translates what arrived since the last one, and a little from before.

A tick is an ordinary capture of the end of the recording, as a ring would cut it. The next one begins where nothing
should change any more; `warpline.storage.live` joins them.
"""

from __future__ import annotations

import time
from collections import deque
from pathlib import Path

from warpline.model.errors import RecordingError
from warpline.model.progress import IsCancelled
from warpline.recording.finalise import finalise
from warpline.recording.live.reading import LOOK_BACK_NS, GrowingSpools, earliest_start
from warpline.recording.live.settled import lateness_ns
from warpline.recording.live.snapshots import LiveSnapshot, since_start
from warpline.recording.session import load_session
from warpline.recording.sources.registry import (
    lasting_types,
    passing_places,
    passing_types,
    recording_sources,
)
from warpline.recording.spool.schedule import last_time
from warpline.storage import Capture, open_part

FIRST_NS = 10_000_000_000
"""How much of a recording the first tick covers at most."""
_FIRST_BYTES = 48 << 20
"""About how much of the spool it covers: 1.5 million ranges."""
_LEAST_NS = 50_000_000
_FIRST_LATENESS_NS = 200_000_000
_MOST_NS = 10_000_000_000
_REPAIRED_AFTER_NS = 20_000_000_000
"""Time between two ticks that look far back."""
_REPAIRED_EVENTS = 400_000
"""About how many events such a tick may have."""
_SHORT_NS = 25_000_000
"""What begins less than this before a tick is not worth reading again: most of it was seen while it was open."""
_COMPLETED_EVENTS = 100_000
"""About how many more events a tick may have, so that others are complete."""
_COMPARED = 16
"""Ticks whose lateness counts."""


def _affordable_ns(tick: LiveSnapshot, events: int) -> int:
    """The time in which about that many events happen, judging by a tick; at most what can be read again."""
    return min(LOOK_BACK_NS, events * (tick.head_ns - tick.kept_ns) // max(tick.events, 1))


class Ticker:
    """Makes the ticks of one recording in a folder; each file is its reader's to remove."""

    def __init__(self, directory: Path, folder: Path) -> None:
        self._directory, self._folder = directory, folder
        self._number = 0
        self._spools = self._new_spools()
        self._before: tuple[LiveSnapshot, Capture] | None = None
        self._lateness: deque[int] = deque([_FIRST_LATENESS_NS], maxlen=_COMPARED)
        self._repaired_ns = 0
        self._has_missed = False

    def tick(self, *, anew: bool, cancelled: IsCancelled | None = None) -> LiveSnapshot:
        """What came since the last tick; with ``anew``, the end of the recording.

        Now and then it begins earlier, because something arrived later than the last tick looked back.

        Raises RecordingError where the recording keeps a ring, and as `warpline.recording.finalise.finalise`.
        """
        cpu, wall = time.process_time(), time.monotonic()
        session = load_session(self._directory)
        if session.options.ring_ns:
            raise RecordingError(f"{self._directory}: its records move, because it keeps a ring")
        start, now = session.start_monotonic_ns, self.now_ns()
        if anew:
            self.close()
        before = self._before[0] if self._before is not None else None
        since = 0
        if before is None and session.is_remote:
            self._spools = self._new_spools()
        elif before is None:
            since = max(start, now - self._first_ns(now - start, anew=anew))
        else:
            since = start + before.settled_ns
            if self._has_missed and now - self._repaired_ns > _REPAIRED_AFTER_NS:
                self._has_missed, self._repaired_ns = False, now
                since = max(start, since - _affordable_ns(before, _REPAIRED_EVENTS))
        spools = self._spools.read(since)
        if before is not None:
            # Some records are written only when something ends; without this, it would begin at the border.
            earliest = earliest_start(spools[0], passing_places(), since)
            if earliest < since - _SHORT_NS:
                since = max(start, earliest, since - _affordable_ns(before, _COMPLETED_EVENTS))
                spools = self._spools.read(since)
        if session.is_remote:
            timed = dict(entry for source in recording_sources() for entry in source.timed_records)
            now = last_time(spools[0], start, timed)
            self._spools.note(now)
        else:
            self._spools.note(self.now_ns())
        if before is None and session.is_remote:
            since = now - self._first_ns(now - start, anew=anew)
        since = max(since, start)
        self._number += 1
        path = self._folder / f"tick-{self._number}.h5"
        done = finalise(
            self._directory,
            path,
            cancelled=cancelled,
            until_ns=now,
            since_ns=since if since > start else None,
            read=spools,
        )
        base, head = max(0, since - start), now - start
        capture = since_start(open_part(path), base)
        snapshot = LiveSnapshot(
            path=path,
            kept_ns=base,
            head_ns=head,
            settled_ns=max(base, head - self._late(capture, base)),
            events=done.events,
            cpu_s=time.process_time() - cpu,
            wall_s=time.monotonic() - wall,
        )
        self.close()
        self._before = snapshot, capture
        return snapshot

    def _first_ns(self, elapsed_ns: int, *, anew: bool) -> int:
        if not anew:  # the last tick was made by a process that was killed since: there must be no gap
            return FIRST_NS
        blocks = sum(path.stat().st_blocks for path in self._directory.glob("*.spool"))
        return min(FIRST_NS, elapsed_ns * _FIRST_BYTES // max(blocks * 512, 1))

    def now_ns(self) -> int:
        """CLOCK_MONOTONIC of this machine."""
        return time.monotonic_ns()

    def close(self) -> None:
        """Close the last tick."""
        if self._before is not None:
            self._before[1].close()
            self._before = None

    def _late(self, capture: Capture, base_ns: int) -> int:
        if self._before is not None:
            snapshot, before = self._before
            late = lateness_ns(before, capture, max(base_ns, snapshot.kept_ns), snapshot.head_ns)
            # What arrived later than we looked back may have been even later than that.
            if late >= snapshot.head_ns - base_ns > 0 and base_ns == snapshot.settled_ns:
                late, self._has_missed = 2 * late, True
            self._lateness.append(min(max(late, _LEAST_NS), _MOST_NS))
        return max(self._lateness)

    def _new_spools(self) -> GrowingSpools:
        return GrowingSpools(self._directory, passing_types(), lasting_types(), passing_places())
