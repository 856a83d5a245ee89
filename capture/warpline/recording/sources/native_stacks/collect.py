"""Collects call chains of running threads from the kernel's perf events."""

from __future__ import annotations

import fcntl
import os
import platform
import time
from collections.abc import Iterable
from functools import partial

from warpline.i18n import english, joined
from warpline.model.tracks import Source
from warpline.recording import proc_files
from warpline.recording.perf_events.abi import (
    IOC_DISABLE,
    IOC_ENABLE,
    Ring,
    online_cpus,
    sampling_attributes,
)
from warpline.recording.perf_events.rings import (
    Attributes,
    close_rings,
    open_rings,
    open_rings_of_running,
)
from warpline.recording.sources.collector import Collector, Watched
from warpline.recording.sources.native_stacks.chain_store import ChainStore
from warpline.recording.sources.native_stacks.decode import RingContent, decode_chains
from warpline.recording.unavailable import Unavailable

RING_PAGES = 64
"""Holds a third of a second at 100 samples a second with stack copies."""
_MOST_STACK_BYTES, _LEAST_STACK_BYTES, _STACK_BYTES_OF_ALL = 8 << 10, 1 << 10, 128 << 10
_WITHOUT_KERNEL = english(
    "not inside the kernel: this requires root, CAP_PERFMON or kernel.perf_event_paranoid=1"
)


def stack_bytes() -> int:
    """Size of the stack copy of a sample: smaller on many cores, to stay below 13 MB/s in total.

    0 on architectures where all code keeps frame pointers, such as ARM.
    """
    if platform.machine() != "x86_64":
        return 0
    share = _STACK_BYTES_OF_ALL // len(online_cpus()) // 8 * 8
    return max(_LEAST_STACK_BYTES, min(_MOST_STACK_BYTES, share))


def sampling(hertz: int, *, has_kernel: bool) -> Attributes:
    """The event attributes for `open_rings`."""
    return partial(sampling_attributes, hertz, has_kernel=has_kernel, stack_bytes=stack_bytes())


class NativeCollector(Collector):
    """Moves call chains from the kernel's rings to a spool file."""

    def __init__(self, watched: Watched, hertz: int) -> None:
        """Raises Unavailable when the kernel refuses, OSError when the spool file cannot be made."""
        self._watched = watched
        self._rings: list[Ring] = []
        self._followers: list[int] = []
        self.has_kernel = True
        try:
            self._open(hertz)
        except Unavailable:
            self.has_kernel = False
            self._open(hertz)
        try:
            self._writer = watched.writer("native")
        except OSError:
            self._release()
            raise
        self._has_memory = stack_bytes() > 0
        self._store = ChainStore(self._writer)

    def _open(self, hertz: int) -> None:
        event = sampling(hertz, has_kernel=self.has_kernel)
        watched = self._watched
        if watched.is_running:
            self._rings, self._followers = open_rings_of_running(watched.root_pid, RING_PAGES, event)
        else:
            self._rings = open_rings(
                watched.root_pid,
                enable_on_exec=not watched.starts_paused,
                ring_pages=RING_PAGES,
                event=event,
            )

    @property
    def descriptors(self) -> list[int]:
        return [ring.descriptor for ring in self._rings]

    def begin(self, *, paused: bool) -> None:
        if self._watched.is_running and not paused:
            self.resume()

    def drain(self) -> None:
        for ring in self._rings:
            stretch = ring.take()
            if len(stretch):
                self._keep(decode_chains(stretch, has_memory=self._has_memory))

    def _keep(self, chains: RingContent) -> None:
        self._store.add(chains)
        self.events = self._store.events

    def pause(self) -> None:
        self._control(IOC_DISABLE)

    def resume(self) -> None:
        """Record again, after reading the current memory maps."""
        self._control(IOC_ENABLE)
        self._take_maps(self._tree())

    def stop(self) -> None:
        self.pause()

    def close(self) -> None:
        self.drain()
        self._release()
        self._writer.close()

    def report(self) -> Source:
        """The state of the source, with its losses and limits."""
        limits = [] if self.has_kernel else [_WITHOUT_KERNEL]
        problems = [text for text in (self._store.shortened, self._writer.trouble) if text]
        return Source("native", True, joined("; ", limits + problems), self._store.lost + self._writer.lost)

    def _tree(self) -> set[int]:
        pids = {self._watched.root_pid}
        while fresh := proc_files.children(pids) - {os.getpid()}:
            pids |= fresh
        return pids

    def _take_maps(self, pids: Iterable[int]) -> None:
        """Record the current executable mappings of processes."""
        now = time.monotonic_ns()
        chains = RingContent()
        for pid in pids:
            raw = proc_files.read_whole(f"/proc/{pid}/maps") or b""
            chains.modules.extend((now, *mapping[:3], pid, mapping[3]) for mapping in executable_maps(raw))
        self._keep(chains)

    def _control(self, request: int) -> None:
        for ring in self._rings:
            ring.control(request)
        for descriptor in self._followers:
            fcntl.ioctl(descriptor, request, 0)

    def _release(self) -> None:
        for descriptor in self._followers:
            os.close(descriptor)
        close_rings(self._rings)
        self._rings, self._followers = [], []


def executable_maps(raw: bytes) -> list[tuple[int, int, int, str]]:
    """(start, size, offset in the file, path) of executable mappings, from the content of /proc/PID/maps."""
    mappings: list[tuple[int, int, int, str]] = []
    for line in raw.splitlines():
        words = line.split(maxsplit=5)
        if len(words) < 6 or b"x" not in words[1]:
            continue
        first, _, last = words[0].partition(b"-")
        start = int(first, 16)
        path = words[5].decode("utf-8", "surrogateescape")
        mappings.append((start, int(last, 16) - start, int(words[2], 16), path))
    return mappings
