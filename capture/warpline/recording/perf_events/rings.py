"""Opens perf events and their ring buffers, one per core, for a process tree; explains refusals."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterable
from typing import Protocol

from warpline.i18n import english
from warpline.recording import proc_files
from warpline.recording.perf_events.abi import (
    IOC_SET_OUTPUT,
    RING_PAGES,
    Ring,
    RingTooLarge,
    online_cpus,
    open_ring,
    perf_event_open,
    switch_attributes,
)
from warpline.recording.unavailable import Unavailable

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
            f"{what}; " + english("a seccomp filter blocks it, as in most containers"),
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
    """The value of kernel.perf_event_paranoid, ``?`` if it cannot be read."""
    try:
        with open(PARANOID_FILE) as file:
            return file.read().strip()
    except OSError:
        return "?"


class Attributes(Protocol):
    """Makes the ``perf_event_attr`` of one event, as `switch_attributes` does."""

    def __call__(self, *, enable_on_exec: bool, ring_pages: int, count_lost: bool) -> bytes: ...


def open_rings(
    pid: int,
    *,
    enable_on_exec: bool,
    ring_pages: int = RING_PAGES,
    event: Attributes = switch_attributes,
) -> list[Ring]:
    """One ring per core for ``pid`` and its future descendants; smaller rings if memory cannot be locked.

    Raises Unavailable.
    """
    return _open_rings(pid, ring_pages, event, enable_on_exec=enable_on_exec)[0]


def open_rings_of_running(
    pid: int, ring_pages: int = RING_PAGES, event: Attributes = switch_attributes
) -> tuple[list[Ring], list[int]]:
    """One ring per core for a running process tree, and the events of its other threads, which write to these rings.

    An event covers one thread and its future descendants, so each thread needs its own event on each core. All are
    disabled. Raises Unavailable.
    """
    # List the threads first: descendants that appear later are covered by their parent's events.
    others = threads_of_tree(pid) - {pid}
    rings, attributes = _open_rings(pid, ring_pages, event, enable_on_exec=False)
    followers: list[int] = []
    try:
        for tid in others:
            followers.extend(_follow(attributes, tid, rings))
    except OSError as error:
        for descriptor in followers:
            os.close(descriptor)
        close_rings(rings)
        raise explain(error) from error
    return rings, followers


def threads_of_tree(pid: int) -> set[int]:
    """All threads of a process and its descendants, without those of this process."""
    pids = {pid}
    while fresh := proc_files.children(pids) - {os.getpid()}:
        pids |= fresh
    return {tid for process in pids for tid in proc_files.thread_ids(process)}


def _follow(attributes: bytes, tid: int, rings: list[Ring]) -> list[int]:
    """Open events of one thread that write to the rings of the cores; none if it has ended."""
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


def _open_rings(
    pid: int, ring_pages: int, event: Attributes, *, enable_on_exec: bool
) -> tuple[list[Ring], bytes]:
    """The rings, and the attributes that the kernel accepted."""
    pages, count_lost = ring_pages, True
    while True:
        rings: list[Ring] = []
        attributes = event(enable_on_exec=enable_on_exec, ring_pages=pages, count_lost=count_lost)
        try:
            for cpu in online_cpus():
                try:
                    rings.append(open_ring(attributes, pid, cpu, pages))
                except OSError as error:
                    if error.errno != errno.ENODEV:  # the core has just gone offline
                        raise
        except RingTooLarge as error:
            close_rings(rings)
            pages //= 2
            if pages < _SMALLEST_RING_PAGES:
                raise Unavailable(
                    english("the perf buffers cannot be locked in memory: {why}", why=error.strerror),
                    english("raise kernel.perf_event_mlock_kb or the limit of locked memory (ulimit -l)"),
                ) from error
            continue
        except OSError as error:
            close_rings(rings)
            if error.errno == errno.EINVAL and count_lost:
                count_lost = False
                continue
            raise explain(error) from error
        return rings, attributes


def close_rings(rings: Iterable[Ring]) -> None:
    """Close all rings."""
    for ring in rings:
        ring.close()
