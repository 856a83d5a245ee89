"""Names of functions that a program made at run time, where it wrote them down as perf reads them.

One line a function, ``START SIZE NAME`` in hexadecimal, in ``/tmp/perf-PID.map`` (the kernel's
tools/perf/Documentation/jit-interface.txt): CPython with ``-X perf``, Node.js with ``--perf-basic-prof``, Java with an
agent.
"""

from __future__ import annotations

import stat
from bisect import bisect_right
from pathlib import Path

_MOST_BYTES = 64 << 20


class RunTimeMap:
    """The functions of one process; none where it wrote no map since ``since_ns`` (CLOCK_REALTIME)."""

    def __init__(self, pid: int, since_ns: int, folder: Path = Path("/tmp")) -> None:
        self._starts: list[int] = []
        self._rest: list[tuple[int, str]] = []
        path = folder / f"perf-{pid}.map"
        try:
            status = path.stat()
            # Of another process that had this id the map tells nothing; what is no file might never end.
            if not stat.S_ISREG(status.st_mode) or status.st_mtime_ns < since_ns:
                return
            with path.open("rb") as file:
                text = file.read(_MOST_BYTES)
        except OSError:
            return
        found: dict[int, tuple[int, str]] = {}
        for line in text.splitlines():
            words = line.split(maxsplit=2)
            try:
                # Of two functions that had one place in turn the later one counts.
                found[int(words[0], 16)] = int(words[1], 16), words[2].decode("utf-8", "replace").strip()
            except (ValueError, IndexError):
                continue  # a line that was being written
        self._starts = sorted(found)
        self._rest = [found[start] for start in self._starts]

    def name(self, address: int) -> str:
        """The function at an address, empty where none is told."""
        at = bisect_right(self._starts, address) - 1
        if at < 0 or address >= self._starts[at] + self._rest[at][0]:
            return ""
        return self._rest[at][1]
