"""Takes a stretch of a sampling event's ring apart: call chains, executable mappings, programs that begin, forks."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from warpline.recording.perf_events.abi import (
    MISC_COMM_EXEC,
    RECORD_COMM,
    RECORD_FORK,
    RECORD_LOST,
    RECORD_MMAP2,
    RECORD_SAMPLE,
)

_HEADER = struct.Struct("<IHH")
_SAMPLE = struct.Struct("<IIQIIQ")  # pid, tid, time, cpu, reserved, length of the chain
_MAPPING = struct.Struct(
    "<IIQQQ"
)  # pid, tid, address, length, offset; then 24 bytes that say which file, 8 how
_MAPPING_NAME = 64
_SAMPLE_ID_BYTES = 24  # pid, tid u32; time u64; cpu, res u32
_FIRST_CONTEXT = (1 << 64) - 4095
"""Addresses from here on say whose the next ones are."""
_CONTEXT_USER = (1 << 64) - 512


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A thread on a core. Addresses innermost first: those in the kernel, and those in the program by frame pointers.

    ``registers`` are frame pointer, stack pointer and address, with ``memory`` from the stack pointer on; None where
    they were not asked for, or the thread has none.
    """

    time_ns: int
    pid: int
    tid: int
    cpu: int
    kernel: tuple[int, ...]
    user: tuple[int, ...]
    registers: tuple[int, int, int] | None = None
    memory: bytes = b""


@dataclass
class RingContent:
    """What a stretch held. Times are CLOCK_MONOTONIC ns.

    ``samples`` by time; ``modules``: (time, start, size, offset, pid, path);
    ``images``: (time, pid, parent_pid or 0 for a program that begins). ``lost`` records the kernel dropped.
    """

    samples: list[Sample] = field(default_factory=list)
    modules: list[tuple[int, int, int, int, int, str]] = field(default_factory=list)
    images: list[tuple[int, int, int]] = field(default_factory=list)
    lost: int = 0


def decode_chains(stretch: npt.NDArray[np.uint8], *, has_memory: bool) -> RingContent:
    """Take whole records apart; ``stretch`` is uint8 [n] as the kernel wrote it.

    ``has_memory``: registers and memory of the stack come with each sample.
    """
    found, raw = RingContent(), stretch.tobytes()
    position = 0
    while position + _HEADER.size <= len(raw):
        kind, misc, size = _HEADER.unpack_from(raw, position)
        if size < _HEADER.size or position + size > len(raw):
            break
        _decode(kind, misc, raw[position + _HEADER.size : position + size], found, has_memory=has_memory)
        position += size
    return found


def _sample(body: bytes, *, has_memory: bool) -> Sample | None:
    pid, tid, time_ns, cpu, _reserved, length = _SAMPLE.unpack_from(body)
    length = min(length, (len(body) - _SAMPLE.size) // 8)
    chain = struct.unpack_from(f"<{length}Q", body, _SAMPLE.size)
    border = chain.index(_CONTEXT_USER) if _CONTEXT_USER in chain else length
    kernel, user = (
        tuple(address for address in part if address < _FIRST_CONTEXT)
        for part in (chain[:border], chain[border:])
    )
    registers, memory = None, b""
    rest = _SAMPLE.size + 8 * length
    if has_memory and len(body) >= rest + 8 and struct.unpack_from("<Q", body, rest)[0]:
        frame, stack, address = struct.unpack_from("<QQQ", body, rest + 8)
        registers = frame, stack, address
        (size,) = struct.unpack_from("<Q", body, rest + 32)
        first = rest + 40
        if size and len(body) >= first + size + 8:
            (filled,) = struct.unpack_from("<Q", body, first + size)
            memory = body[first : first + min(size, filled)]
    return (
        Sample(
            time_ns=time_ns,
            pid=pid,
            tid=tid,
            cpu=cpu,
            kernel=kernel,
            user=user,
            registers=registers,
            memory=memory,
        )
        if tid
        else None
    )


def _decode(kind: int, misc: int, body: bytes, found: RingContent, *, has_memory: bool) -> None:
    if kind == RECORD_SAMPLE and len(body) >= _SAMPLE.size:
        sample = _sample(body, has_memory=has_memory)
        if sample is not None:
            found.samples.append(sample)
        return
    if len(body) < _SAMPLE_ID_BYTES:
        return
    (time_ns,) = struct.unpack_from("<Q", body, len(body) - _SAMPLE_ID_BYTES + 8)
    if kind == RECORD_MMAP2 and len(body) >= _MAPPING_NAME + _SAMPLE_ID_BYTES:
        pid, _tid, start, length, offset = _MAPPING.unpack_from(body)
        name = body[_MAPPING_NAME : len(body) - _SAMPLE_ID_BYTES].split(b"\0")[0]
        path = name.decode("utf-8", "surrogateescape")
        found.modules.append((time_ns, start, length, offset, pid, path))
    elif kind == RECORD_COMM and misc & MISC_COMM_EXEC:
        found.images.append((time_ns, *struct.unpack_from("<I", body), 0))
    elif kind == RECORD_FORK and len(body) >= 24:
        pid, parent_pid = struct.unpack_from("<II", body)
        if pid != parent_pid:
            found.images.append((time_ns, pid, parent_pid))
    elif kind == RECORD_LOST and len(body) >= 16:
        found.lost += struct.unpack_from("<QQ", body)[1]
