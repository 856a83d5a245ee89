"""Which process the work of a GPU belongs to, in files that several ranks were merged into.

Kineto's GPU events name no process. In a file of one process that is the one that was recorded. Tools that merge the
files of ranks keep correlation ids unique and give GPUs process numbers of their own, so the calls decide.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import numpy.typing as npt

from warpline.interchange.trace_json.piece_columns import Group
from warpline.interchange.trace_json.tracks import ProcessEntry

_MOST_COMPARED = 4096


class DeviceOwners:
    """Learns from calls and GPU work, in the order of the file, in which calls precede their work."""

    def __init__(self) -> None:
        self._calls: defaultdict[int, list[npt.NDArray[np.int64]]] = defaultdict(list)
        self._processes: dict[int, ProcessEntry] = {}
        self._owners: dict[int, ProcessEntry] = {}
        self._devices: dict[int, int] = {}

    def add_calls(self, process: ProcessEntry, correlations: npt.NDArray[np.int64]) -> None:
        """Note the calls of a process other than the first one."""
        self._processes[process.index] = process
        self._calls[process.index].append(correlations)

    def learn(self, group: Group) -> None:
        """Find the owners of devices that were not seen before, and the devices of process numbers."""
        correlations, pids = np.ma.getdata(group.numbers["correlation"]), group.numbers.get("pid")
        for code, (device, _context, _stream) in enumerate(group.places):
            index = np.flatnonzero(group.thread == code)
            if device is None or not len(index):
                continue
            if pids is not None and not np.ma.getmaskarray(pids)[index[0]]:
                self._devices.setdefault(int(pids[index[0]]), device)
            if self._calls and device not in self._owners:
                self._find_owner(device, correlations[index[:_MOST_COMPARED]])

    def _find_owner(self, device: int, correlations: npt.NDArray[np.int64]) -> None:
        matches = {
            number: sum(int(np.isin(correlations, calls).sum()) for calls in parts)
            for number, parts in self._calls.items()
        }
        best = max(matches, key=lambda number: matches[number])
        if matches[best] * 2 > len(correlations):
            self._owners[device] = self._processes[best]

    def of(self, device: int | None, main: ProcessEntry) -> ProcessEntry:
        """The owner of a device; ``main`` if nothing else is known."""
        return self._owners.get(-1 if device is None else device, main)

    def device_of(self, pid: int | None) -> int | None:
        """The device of events with this process number; the number itself if none is known."""
        return None if pid is None else self._devices.get(pid, pid)
