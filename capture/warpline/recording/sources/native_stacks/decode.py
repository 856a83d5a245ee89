"""Decodes the ring content of a sampling event: call chains, executable mappings, execs and forks."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

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
)  # pid, tid, address, length, offset; then 24 bytes of file identity, 8 of protection
_MAPPING_NAME = 64
_SAMPLE_ID_BYTES = 24  # pid, tid u32; time u64; cpu, res u32
_FIRST_CONTEXT = (1 << 64) - 4095
"""Larger addresses are markers of the context of the following ones."""
_CONTEXT_USER = (1 << 64) - 512


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A sample of a running thread: kernel addresses, and user addresses by frame pointers, innermost first.

    ``registers`` are frame pointer, stack pointer and instruction pointer, with ``memory`` from the stack pointer on;
    None if they were not requested, or the thread has none.
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
    """Decoded records of a ring. Times are CLOCK_MONOTONIC ns.

    ``samples`` by time; ``modules``: (time, start, size, offset, pid, path);
    ``images``: (time, pid, parent_pid or 0 for an exec). ``lost`` counts records that the kernel dropped.
    """

    samples: list[Sample] = field(default_factory=list)
    modules: list[tuple[int, int, int, int, int, str]] = field(default_factory=list)
    images: list[tuple[int, int, int]] = field(default_factory=list)
    lost: int = 0


def decode_chains(raw: bytes, *, has_memory: bool) -> RingContent:
    """Decode whole records; ``raw`` is as the kernel wrote it.

    With ``has_memory`` each sample includes registers and a stack copy.
    """
    content = RingContent()
    position = 0
    while position + _HEADER.size <= len(raw):
        kind, misc, size = _HEADER.unpack_from(raw, position)
        if size < _HEADER.size or position + size > len(raw):
            break
        _decode(kind, misc, raw[position + _HEADER.size : position + size], content, has_memory=has_memory)
        position += size
    return content


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


def _decode(kind: int, misc: int, body: bytes, content: RingContent, *, has_memory: bool) -> None:
    if kind == RECORD_SAMPLE and len(body) >= _SAMPLE.size:
        sample = _sample(body, has_memory=has_memory)
        if sample is not None:
            content.samples.append(sample)
        return
    if len(body) < _SAMPLE_ID_BYTES:
        return
    (time_ns,) = struct.unpack_from("<Q", body, len(body) - _SAMPLE_ID_BYTES + 8)
    if kind == RECORD_MMAP2 and len(body) >= _MAPPING_NAME + _SAMPLE_ID_BYTES:
        pid, _tid, start, length, offset = _MAPPING.unpack_from(body)
        name = body[_MAPPING_NAME : len(body) - _SAMPLE_ID_BYTES].split(b"\0")[0]
        path = name.decode("utf-8", "surrogateescape")
        content.modules.append((time_ns, start, length, offset, pid, path))
    elif kind == RECORD_COMM and misc & MISC_COMM_EXEC:
        content.images.append((time_ns, *struct.unpack_from("<I", body), 0))
    elif kind == RECORD_FORK and len(body) >= 24:
        pid, parent_pid = struct.unpack_from("<II", body)
        if pid != parent_pid:
            content.images.append((time_ns, pid, parent_pid))
    elif kind == RECORD_LOST and len(body) >= 16:
        content.lost += struct.unpack_from("<QQ", body)[1]
