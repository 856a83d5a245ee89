"""Decodes the content of a perf ring: switch records in bulk, rare other records one by one."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from warpline.recording.perf_events.abi import (
    MISC_COMM_EXEC,
    RECORD_COMM,
    RECORD_EXIT,
    RECORD_FORK,
    RECORD_LOST,
    RECORD_SAMPLE,
    RECORD_SWITCH,
)

SWITCH_BYTES = 32
_SWITCH_HEADER = RECORD_SWITCH | SWITCH_BYTES << 48
_HEADER_MASK = 0xFFFF_0000_FFFF_FFFF  # type and size; misc differs
_HEADER = struct.Struct("<IHH")
_SAMPLE_ID_BYTES = 24  # pid, tid u32; time u64; cpu, res u32


@dataclass(kw_only=True)
class Decoded:
    """The decoded records of a ring, by type. Times are CLOCK_MONOTONIC ns.

    ``switches`` are runs of the kernel's switch records, 32 bytes each.
    ``comms``: (time, pid, tid, name, cpu, is_exec);
    ``forks``: (time, pid, tid, parent_pid, parent_tid); ``exits``: (time, pid, tid);
    ``losts``: (time, count, cpu); ``samples``: (time, pid, tid, cpu, raw fields) of tracepoint hits.
    ``damaged`` is the number of bytes that could not be decoded.
    """

    switches: list[memoryview] = field(default_factory=list)
    comms: list[tuple[int, int, int, str, int, bool]] = field(default_factory=list)
    forks: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    exits: list[tuple[int, int, int]] = field(default_factory=list)
    losts: list[tuple[int, int, int]] = field(default_factory=list)
    samples: list[tuple[int, int, int, int, bytes]] = field(default_factory=list)
    damaged: int = 0

    @property
    def lost(self) -> int:
        """Number of records that the kernel dropped."""
        return sum(count for _time, count, _cpu in self.losts)

    @property
    def count(self) -> int:
        """Number of records of the program."""
        rare = len(self.comms) + len(self.forks) + len(self.exits) + len(self.samples)
        return rare + sum(len(part) for part in self.switches) // SWITCH_BYTES


def decode(stretch: bytes) -> Decoded:
    """Decode whole records; ``stretch`` is as the kernel wrote it."""
    result = Decoded()
    raw = memoryview(stretch)
    words = raw[: len(raw) // 8 * 8].cast("Q")
    position, end = 0, len(words)
    window = 64
    while position < end:
        run = _switch_run(words, position, window)
        if run:
            result.switches.append(raw[8 * position : 8 * position + SWITCH_BYTES * run])
            position += 4 * run
            # The window grows during long runs and stays small for short ones.
            window = min(window * 2, 1 << 16) if run == window else 64
            continue
        size = words[position] >> 48
        if size < 8 or size % 8 or position + size // 8 > end:
            result.damaged += (end - position) * 8
            break
        _decode_rare(bytes(raw[8 * position : 8 * position + size]), result)
        position += size // 8
    return result


def _switch_run(words: memoryview, position: int, window: int) -> int:
    """The number of consecutive switch records at ``position``, at most ``window``."""
    count = min(window, (len(words) - position) // 4)
    if count <= 0:
        return 0
    headers = words[position : position + 4 * count : 4].tolist()
    # Headers of switches differ only in a few flags: compare each distinct one, not each record.
    others = {header for header in set(headers) if header & _HEADER_MASK != _SWITCH_HEADER}
    return min(map(headers.index, others)) if others else count


def _decode_rare(record: bytes, result: Decoded) -> None:
    kind, misc, size = _HEADER.unpack_from(record)
    body = record[8:]
    least = {RECORD_COMM: 8, RECORD_FORK: 24, RECORD_EXIT: 24, RECORD_LOST: 16, RECORD_SAMPLE: 28}.get(kind)
    if least is None:
        return
    needed = least + (0 if kind == RECORD_SAMPLE else _SAMPLE_ID_BYTES)
    if len(body) < needed:
        result.damaged += size
        return
    if kind == RECORD_SAMPLE:
        pid, tid, time_ns, cpu = struct.unpack_from("<IIQI", body)
        (length,) = struct.unpack_from("<I", body, 24)
        result.samples.append((time_ns, pid, tid, cpu, body[28 : 28 + length]))
        return
    _pid, _tid, time_ns, cpu, _reserved = struct.unpack_from("<IIQII", body, len(body) - _SAMPLE_ID_BYTES)
    if kind == RECORD_COMM:
        pid, tid = struct.unpack_from("<II", body)
        name = body[8 : len(body) - _SAMPLE_ID_BYTES].split(b"\0")[0].decode("utf-8", "replace")
        result.comms.append((time_ns, pid, tid, name, cpu, bool(misc & MISC_COMM_EXEC)))
    elif kind in {RECORD_FORK, RECORD_EXIT}:
        pid, parent_pid, tid, parent_tid, own_time = struct.unpack_from("<IIIIQ", body)
        if kind == RECORD_FORK:
            result.forks.append((own_time, pid, tid, parent_pid, parent_tid))
        else:
            result.exits.append((own_time, pid, tid))
    else:
        _identifier, count = struct.unpack_from("<QQ", body)
        result.losts.append((time_ns, count, cpu))
