"""Collects context switches, names, forks and exits of a process tree from the kernel's perf events."""

from __future__ import annotations

import errno
import fcntl
import os
import struct
import time

import numpy as np

from warpline.i18n import english
from warpline.model.tracks import Source
from warpline.recording import proc_files
from warpline.recording.sources.collector import Collector, Watched
from warpline.recording.sources.perf import records as perf_records
from warpline.recording.sources.perf.abi import (
    IOC_DISABLE,
    IOC_ENABLE,
    IOC_SET_OUTPUT,
    RING_PAGES,
    Ring,
    RingTooLarge,
    online_cpus,
    open_ring,
    perf_event_open,
    switch_attributes,
)
from warpline.recording.sources.perf.decode import Decoded, decode
from warpline.recording.spool import records
from warpline.recording.unavailable import Unavailable

_COMM = struct.Struct("<QIIIHH")
_FORK = struct.Struct("<QIIII")
_EXIT = struct.Struct("<QII")
_LOST = struct.Struct("<QQII")
_SMALLEST_RING_PAGES = 4

PARANOID_FILE = "/proc/sys/kernel/perf_event_paranoid"


def explain(error: OSError) -> Unavailable:
    """Why ``perf_event_open`` failed and how to enable it."""
    what = f"perf_event_open: {error.strerror or error} [{errno.errorcode.get(error.errno or 0, '?')}]"
    if error.errno == errno.EACCES:
        return Unavailable(
            f"{what}; " + english("kernel.perf_event_paranoid is {level}", level=paranoid_level()),
            english("sysctl kernel.perf_event_paranoid=2 (as root), or give the recorder CAP_PERFMON"),
        )
    if error.errno == errno.EPERM:
        return Unavailable(
            f"{what}; " + english("a seccomp filter refuses it, as in most containers"),
            english(
                "run the container with --cap-add PERFMON and a seccomp profile that allows perf_event_open"
                " (docker: --security-opt seccomp=unconfined), or sysctl kernel.perf_event_paranoid=2 on the host"
            ),
        )
    if error.errno in {errno.ENOSYS, errno.ENOENT, errno.EOPNOTSUPP, errno.EINVAL}:
        return Unavailable(what, english("use a Linux kernel 4.3 or later, built with CONFIG_PERF_EVENTS"))
    if error.errno in {errno.EMFILE, errno.ENFILE}:
        return Unavailable(what, english("raise the limit of open files (ulimit -n)"))
    return Unavailable(what, english("see dmesg, or run with CAP_PERFMON"))


def paranoid_level() -> str:
    """The kernel's setting, ``?`` when it cannot be read."""
    try:
        with open(PARANOID_FILE) as file:
            return file.read().strip()
    except OSError:
        return "?"


def open_rings(pid: int, *, enable_on_exec: bool, ring_pages: int = RING_PAGES) -> list[Ring]:
    """One ring per core for the tree that grows from ``pid``; smaller rings where memory may not be locked.

    Raises Unavailable.
    """
    return _open_rings(pid, ring_pages, enable_on_exec=enable_on_exec)[0]


def open_rings_of_running(pid: int, ring_pages: int = RING_PAGES) -> tuple[list[Ring], list[int]]:
    """One ring per core for a tree that is there already, and the events of its threads, which write to these.

    An event covers one thread and what that begets, so each thread needs its own on each core. All are off. Raises
    Unavailable.
    """
    # Listed before any is followed: what a thread begets from then on is covered by its events, and must not be twice.
    others = threads_of_tree(pid) - {pid}
    rings, attributes = _open_rings(pid, ring_pages, enable_on_exec=False)
    followers: list[int] = []
    try:
        for tid in others:
            followers.extend(_follow(attributes, tid, rings))
    except OSError as error:
        for descriptor in followers:
            os.close(descriptor)
        _close(rings)
        raise explain(error) from error
    return rings, followers


def threads_of_tree(pid: int) -> set[int]:
    """Every thread of a process and its descendants, except of this process."""
    pids = {pid}
    while fresh := proc_files.children(pids) - {os.getpid()}:
        pids |= fresh
    return {tid for process in pids for tid in proc_files.thread_ids(process)}


def _follow(attributes: bytes, tid: int, rings: list[Ring]) -> list[int]:
    """Events of one thread, which write to the rings of the cores; none when it has ended."""
    opened: list[int] = []
    try:
        for ring in rings:
            descriptor = perf_event_open(attributes, tid, ring.cpu)
            opened.append(descriptor)
            fcntl.ioctl(descriptor, IOC_SET_OUTPUT, ring.descriptor)
    except OSError as error:
        for descriptor in opened:
            os.close(descriptor)
        if error.errno == errno.ESRCH:
            return []
        raise
    return opened


def _open_rings(pid: int, ring_pages: int, *, enable_on_exec: bool) -> tuple[list[Ring], bytes]:
    """The rings, and the attributes that the kernel took."""
    pages, count_lost = ring_pages, True
    while True:
        rings: list[Ring] = []
        attributes = switch_attributes(enable_on_exec=enable_on_exec, ring_pages=pages, count_lost=count_lost)
        try:
            for cpu in online_cpus():
                try:
                    rings.append(open_ring(attributes, pid, cpu, pages))
                except OSError as error:
                    if error.errno != errno.ENODEV:  # the core was switched off just now
                        raise
        except RingTooLarge as error:
            _close(rings)
            pages //= 2
            if pages < _SMALLEST_RING_PAGES:
                raise Unavailable(
                    english("the perf buffers cannot be locked in memory: {why}", why=error.strerror),
                    english("raise kernel.perf_event_mlock_kb or the limit of locked memory (ulimit -l)"),
                ) from error
            continue
        except OSError as error:
            _close(rings)
            if error.errno == errno.EINVAL and count_lost:
                count_lost = False
                continue
            raise explain(error) from error
        return rings, attributes


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
        # Edge-triggered: an event whose tasks are all gone stays hung up.
        return [ring.descriptor for ring in self.rings]

    def begin(self, *, paused: bool) -> None:
        """Events of a program that ran before are off until now; those of another begin with its exec."""
        if self._watched.is_running and not paused:
            self.resume()

    def drain(self) -> None:
        """Take what the rings hold; cheap when they are empty."""
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
        """Record nothing from now on, in threads and children yet to come as well."""
        self._control(IOC_DISABLE)

    def resume(self) -> None:
        """Record again."""
        self._control(IOC_ENABLE)

    def stop(self) -> None:
        """As `pause`."""
        self.pause()

    def close(self) -> None:
        """Take the rest and let go of the kernel's events."""
        self.drain()
        self._count_pending()
        self._release()
        self.writer.close()

    def report(self) -> Source:
        """With what the kernel dropped, and what the spool file could not take."""
        return Source("perf", True, self.writer.trouble, self.lost + self.writer.lost)

    def _control(self, request: int) -> None:
        for ring in self.rings:
            ring.control(request)
        for descriptor in self.followers:
            fcntl.ioctl(descriptor, request, 0)

    def _release(self) -> None:
        for descriptor in self.followers:
            os.close(descriptor)
        _close(self.rings)
        self.rings, self.followers = [], []

    def _count_pending(self) -> None:
        """The kernel tells of dropped records with the next one that finds room; after the last one, ask."""
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
            parts = decoded.switches
            writer.append(perf_records.SWITCH, parts[0] if len(parts) == 1 else np.concatenate(parts))
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


def _close(rings: list[Ring]) -> None:
    for ring in rings:
        ring.close()
