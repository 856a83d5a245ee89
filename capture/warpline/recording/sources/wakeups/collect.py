"""Collects wake-ups from the kernel's tracepoint sched_waking, where privileges allow it.

A wake-up shows when a blocked thread could run again, and which thread woke it. The tracepoint is recorded on every
core for all threads, because the waker need not belong to the program.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from warpline.i18n import english
from warpline.model.tracks import Source
from warpline.recording.perf_events.abi import (
    IOC_DISABLE,
    IOC_ENABLE,
    RECORD_LOST,
    RECORD_SAMPLE,
    RING_PAGES,
    Ring,
    online_cpus,
    open_ring,
    tracepoint_attributes,
)
from warpline.recording.sources.collector import Collector, Watched
from warpline.recording.sources.wakeups import records
from warpline.recording.unavailable import Unavailable

_TRACEFS = (Path("/sys/kernel/tracing"), Path("/sys/kernel/debug/tracing"))
_EVENT = "events/sched/sched_waking"
_FIELD = re.compile(r"field:[^;]*\b(\w+)(?:\[\d+\])?;\s*offset:(\d+);\s*size:(\d+);")
# Offset of the raw fields in a sample: header, pid, tid, time, cpu, reserved, size of the raw part.
_RAW_OFFSET = 8 + 24 + 4
_TYPE_AND_SIZE = 0xFFFF_0000_FFFF_FFFF
# Of all cores together: the rings hold the wake-ups of all programs until a busy machine lets us read them.
_ALL_PAGES, _MOST_PAGES = 16_384, 1024
_IN_INTERRUPT = 0x08 | 0x10  # TRACE_FLAG_HARDIRQ, TRACE_FLAG_SOFTIRQ of the kernel's trace_events.h

NO_TRACEFS = english("the kernel's tracepoints cannot be read")


@dataclass(frozen=True)
class Tracepoint:
    """The tracepoint's number, and its samples in a ring: the waker's process and thread, time, core, flags, the woken
    thread.
    """

    identifier: int
    sample: struct.Struct


def find_tracepoint() -> Tracepoint:
    """Find sched_waking in tracefs.

    Raises Unavailable.
    """
    for root in _TRACEFS:
        try:
            text = (root / _EVENT / "format").read_text()
            return parse_format(text)
        except (OSError, ValueError):
            continue
    raise Unavailable(
        NO_TRACEFS,
        english(
            "record as root (or with CAP_PERFMON and a readable tracefs): mount -t tracefs nodev /sys/kernel/tracing"
        ),
    )


def parse_format(text: str) -> Tracepoint:
    """The layout from a tracepoint's ``format`` file.

    Raises ValueError when a field is missing.
    """
    number = re.search(r"^ID: (\d+)$", text, re.MULTILINE)
    offsets = {name: (int(offset), int(size)) for name, offset, size in _FIELD.findall(text)}
    if number is None or offsets.get("pid", (0, 0))[1] != 4 or "common_flags" not in offsets:
        raise ValueError("not the format of sched_waking")
    raw_bytes = max(offset + size for offset, size in offsets.values())
    flags, woken = (_RAW_OFFSET + offsets[name][0] for name in ("common_flags", "pid"))
    if woken <= flags:
        raise ValueError("not the format of sched_waking")
    # The kernel pads the raw part and its size field to whole words.
    size = _RAW_OFFSET - 4 + -(-(4 + raw_bytes) // 8) * 8
    head = "<8xIIQI"
    between = flags - struct.calcsize(head), woken - flags - 1, size - woken - 4
    layout = struct.Struct("{}{}xB{}xI{}x".format(head, *between))
    return Tracepoint(int(number[1]), layout)


class WakeupCollector(Collector):
    """Moves wake-ups of the program's threads into a spool file; all others are dropped."""

    def __init__(self, watched: Watched) -> None:
        """Records nothing before `resume`.

        Raises Unavailable, and OSError when the spool file cannot be made.
        """
        tracepoint = find_tracepoint()
        self._sample = tracepoint.sample
        self._rings: list[Ring] = []
        self._held: list[bytes] = []
        self._known: set[int] = set()
        self._seen = 0
        self._dropped = 0
        cpus = online_cpus()
        pages = ring_pages(len(cpus))
        try:
            try:
                self._open_rings(tracepoint, cpus, pages)
            except OSError:  # perhaps only that much memory
                if pages == RING_PAGES:
                    raise
                self._open_rings(tracepoint, cpus, RING_PAGES)
        except OSError as error:
            raise Unavailable(
                english("the tracepoint is refused: {why}", why=error.strerror),
                english("record as root or with CAP_PERFMON"),
            ) from error
        try:
            self._writer = watched.writer("wakeups")
        except OSError:
            self._close_rings()
            raise
        self.add_threads([watched.root_pid])
        watched.on_threads.append(self.add_threads)

    @property
    def descriptors(self) -> list[int]:
        return [ring.descriptor for ring in self._rings]

    def add_threads(self, tids: Sequence[int]) -> None:
        """Add threads of the program."""
        self._known.update(tids)

    def hold(self) -> None:
        """Take the rings' content before forks are read, so that every woken thread is known when it is stored."""
        self._held += [ring.take() for ring in self._rings]

    def drain(self) -> None:
        """Keep the wake-ups of the program's threads."""
        stretches, self._held = self._held, []
        for stretch in stretches:
            samples, dropped = split_samples(stretch, self._sample)
            self._seen += len(samples)
            self._dropped += dropped
            pack, known = records.waking.pack, self._known
            rows = [
                # In an interrupt the thread on the core is not the waker.
                pack(time_ns, 0, 0, woken, cpu)
                if flags & _IN_INTERRUPT
                else pack(time_ns, pid, tid, woken, cpu)
                for pid, tid, time_ns, cpu, flags, woken in samples
                if woken in known
            ]
            size = records.waking.itemsize
            self.events += self._writer.append(records.WAKING, b"".join(rows), size=size)

    def pause(self) -> None:
        """Stop recording."""
        for ring in self._rings:
            ring.control(IOC_DISABLE)

    def resume(self) -> None:
        """Start or resume recording."""
        for ring in self._rings:
            ring.control(IOC_ENABLE)

    def close(self) -> None:
        """Close the kernel's events."""
        self._close_rings()
        self._writer.close()

    @property
    def lost(self) -> int:
        """Wake-ups of the program that were lost, rounded up.

        The kernel drops those of all programs alike, and tells only how many.
        """
        if not self._dropped or not self._seen:
            return self._dropped
        return -(-self._dropped * max(self.events, 1) // self._seen)

    def report(self) -> Source:
        """The state of the source, with records lost in the kernel or in the spool."""
        trouble = self._writer.trouble
        if self._dropped and not trouble:
            trouble = english(
                "the kernel dropped {count:,} wake-ups of all programs; the share of this program is estimated",
                count=self._dropped,
            )
        return Source("wakeups", True, trouble, self.lost + self._writer.lost)

    def _open_rings(self, tracepoint: Tracepoint, cpus: Sequence[int], pages: int) -> None:
        attributes = tracepoint_attributes(tracepoint.identifier, ring_pages=pages)
        try:
            for cpu in cpus:
                self._rings.append(open_ring(attributes, -1, cpu, pages))
        except OSError:
            self._close_rings()
            raise

    def _close_rings(self) -> None:
        for ring in self._rings:
            ring.close()
        self._rings = []


def ring_pages(cpus: int) -> int:
    """Pages of each core's ring on a machine with so many cores."""
    return max(RING_PAGES, min(_MOST_PAGES, 1 << (_ALL_PAGES // cpus).bit_length() - 1))


def split_samples(stretch: bytes, sample: struct.Struct) -> tuple[list[tuple[int, ...]], int]:
    """The samples in the content of a tracepoint's ring, and the number of dropped ones."""
    size = sample.size
    wanted = RECORD_SAMPLE | size << 48
    raw = memoryview(stretch)
    words = raw[: len(raw) // 8 * 8].cast("Q")
    samples: list[tuple[int, ...]] = []
    lost = 0
    position = 0
    while position + 8 <= len(raw):
        # All samples have one size; any other record ends a run of them.
        count = (len(raw) - position) // size
        headers = words[position // 8 : (position + count * size) // 8 : size // 8].tolist()
        others = {header for header in set(headers) if header & _TYPE_AND_SIZE != wanted}
        good = min(map(headers.index, others)) if others else count
        if good:
            samples.extend(sample.iter_unpack(raw[position : position + good * size]))
            position += good * size
            continue
        header = words[position // 8]
        length = header >> 48
        if length < 8 or length % 8 or position + length > len(raw):
            break
        if header & 0xFFFF_FFFF == RECORD_LOST and length >= 24:
            lost += words[position // 8 + 2]
        position += length
    return samples, lost
