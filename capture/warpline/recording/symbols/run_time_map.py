"""Names of functions that a program generated at run time, from its perf map.

``/tmp/perf-PID.map`` has one line per function, ``START SIZE NAME``, in hexadecimal (the kernel's
tools/perf/Documentation/jit-interface.txt). CPython writes it with ``-X perf``, Node.js with ``--perf-basic-prof``,
Java with an agent.
"""

from __future__ import annotations

import stat
from bisect import bisect_right
from pathlib import Path

from warpline.recording.symbols.machine_files import machine_file

_MOST_BYTES = 64 << 20


class RunTimeMap:
    """The functions of one process; empty if it wrote no map since ``since_ns`` (CLOCK_REALTIME)."""

    def __init__(self, pid: int, since_ns: int, folder: Path = Path("/tmp")) -> None:
        self._starts: list[int] = []
        self._rest: list[tuple[int, str]] = []
        path = machine_file(folder / f"perf-{pid}.map")
        try:
            status = path.stat()
            # An older map belongs to another process with this id. Anything but a regular file might never end.
            if not stat.S_ISREG(status.st_mode) or status.st_mtime_ns < since_ns:
                return
            with path.open("rb") as file:
                text = file.read(_MOST_BYTES)
        except OSError:
            return
        functions: dict[int, tuple[int, str]] = {}
        for line in text.splitlines():
            words = line.split(maxsplit=2)
            try:
                # The later of two functions at one address counts.
                functions[int(words[0], 16)] = int(words[1], 16), words[2].decode("utf-8", "replace").strip()
            except (ValueError, IndexError):
                continue  # an incomplete line
        self._starts = sorted(functions)
        self._rest = [functions[start] for start in self._starts]

    def name(self, address: int) -> str:
        """The function at an address; empty if unknown."""
        at = bisect_right(self._starts, address) - 1
        if at < 0 or address >= self._starts[at] + self._rest[at][0]:
            return ""
        return self._rest[at][1]
