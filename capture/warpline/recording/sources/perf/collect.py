"""Collects context switches, names, forks and exits of a process tree from the kernel's perf events."""

from __future__ import annotations

import fcntl
import os
import struct
import time

from warpline.model.tracks import Source
from warpline.recording.perf_events.abi import IOC_DISABLE, IOC_ENABLE, RING_PAGES
from warpline.recording.perf_events.rings import close_rings, open_rings, open_rings_of_running
from warpline.recording.sources.collector import Collector, Watched
from warpline.recording.sources.perf import records as perf_records
from warpline.recording.sources.perf.decode import SWITCH_BYTES, Decoded, decode
from warpline.recording.spool import records

_COMM = struct.Struct("<QIIIHH")
_FORK = struct.Struct("<QIIII")
_EXIT = struct.Struct("<QII")
_LOST = struct.Struct("<QQII")


class PerfCollector(Collector):
    """Moves records from the kernel's rings into a spool file."""

    def __init__(self, watched: Watched, ring_pages: int = RING_PAGES) -> None:
        """Raises Unavailable when the kernel refuses, OSError when the spool file cannot be made."""
        self.followers: list[int] = []
        if watched.is_running:
            self.rings, self.followers = open_rings_of_running(watched.root_pid, ring_pages)
        else:
            self.rings = open_rings(
                watched.root_pid, enable_on_exec=not watched.starts_paused, ring_pages=ring_pages
            )
        try:
            self.writer = watched.writer("perf")
        except OSError:
            self._release()
            raise
        self._watched = watched
        self.lost = 0
        self.damaged = 0
        self._lost_on: dict[int, int] = {}

    @property
    def descriptors(self) -> list[int]:
        # Edge-triggered, because an event without tasks stays in the hang-up state.
        return [ring.descriptor for ring in self.rings]

    def begin(self, *, paused: bool) -> None:
        """Enable the events of a running program; those of a new one start with its exec."""
        if self._watched.is_running and not paused:
            self.resume()

    def drain(self) -> None:
        """Take the content of the rings; cheap if they are empty."""
        pids: list[int] = []
        tids: list[int] = []
        for ring in self.rings:
            stretch = ring.take()
            if len(stretch):
                decoded = decode(stretch)
                self._store(decoded)
                pids.extend(fork[1] for fork in decoded.forks if fork[1] != fork[3])
                pids.extend(pid for _time, pid, _tid, _name, _cpu, is_exec in decoded.comms if is_exec)
                tids.extend(fork[2] for fork in decoded.forks)
        self._watched.processes_appeared(pids)
        if tids:
            self._watched.threads_appeared(tids)

    def pause(self) -> None:
        """Stop recording, also in future threads and children."""
        self._control(IOC_DISABLE)

    def resume(self) -> None:
        """Record again."""
        self._control(IOC_ENABLE)

    def stop(self) -> None:
        """The same as `pause`."""
        self.pause()

    def close(self) -> None:
        """Take the rest and close the kernel's events."""
        self.drain()
        self._count_pending()
        self._release()
        self.writer.close()

    def report(self) -> Source:
        """The state of the source, with records lost in the kernel or in the spool."""
        return Source("perf", True, self.writer.trouble, self.lost + self.writer.lost)

    def _control(self, request: int) -> None:
        for ring in self.rings:
            ring.control(request)
        for descriptor in self.followers:
            fcntl.ioctl(descriptor, request, 0)

    def _release(self) -> None:
        for descriptor in self.followers:
            os.close(descriptor)
        close_rings(self.rings)
        self.rings, self.followers = [], []

    def _count_pending(self) -> None:
        """Count records dropped at the end: the kernel reports losses only with the next record."""
        for ring in self.rings:
            dropped = ring.dropped()
            pending = (dropped or 0) - self._lost_on.get(ring.cpu, 0)
            if pending > 0:
                self.lost += pending
                self.writer.append_packed(
                    perf_records.LOST, _LOST.pack(time.monotonic_ns(), pending, ring.cpu, 0)
                )

    def _store(self, decoded: Decoded) -> None:
        writer = self.writer
        if decoded.switches:
            writer.append(perf_records.SWITCH, b"".join(decoded.switches), size=SWITCH_BYTES)
        for time_ns, pid, tid, name, cpu, is_exec in decoded.comms:
            packed = _COMM.pack(time_ns, pid, tid, writer.string(name), cpu & 0xFFFF, is_exec)
            writer.append_packed(records.COMM, packed)
        for fork in decoded.forks:
            writer.append_packed(records.FORK, _FORK.pack(*fork))
        for exit_ in decoded.exits:
            writer.append_packed(records.EXIT, _EXIT.pack(*exit_))
        for time_ns, count, cpu in decoded.losts:
            writer.append_packed(perf_records.LOST, _LOST.pack(time_ns, count, cpu, 0))
            self._lost_on[cpu] = self._lost_on.get(cpu, 0) + count
        self.events += decoded.count
        self.damaged += decoded.damaged
        if decoded.lost:
            self.lost += decoded.lost
