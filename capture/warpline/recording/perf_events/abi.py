"""``perf_event_open`` through ctypes: numbers and layouts of linux/perf_event.h (VER5, Linux 4.1 and later)."""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
import struct
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_SYSCALL = {"x86_64": 298, "aarch64": 241}
_FLAG_FD_CLOEXEC = 8
_TYPE_SOFTWARE, _TYPE_TRACEPOINT = 1, 2
_SW_CPU_CLOCK, _SW_DUMMY = 0, 9
_SAMPLE_TID, _SAMPLE_TIME, _SAMPLE_CPU, _SAMPLE_RAW = 1 << 1, 1 << 2, 1 << 7, 1 << 10
_SAMPLE_CALLCHAIN, _SAMPLE_REGS_USER, _SAMPLE_STACK_USER = 1 << 5, 1 << 12, 1 << 13
# Frame pointer, stack pointer and instruction pointer of x86-64 (asm/perf_regs.h).
_REGISTERS = 1 << 6 | 1 << 7 | 1 << 8
_FORMAT_LOST = 1 << 4  # Linux 6.0
_CLOCK_MONOTONIC = 1
_ATTR = struct.Struct("=IIQQQQQIIQQQQIiQIHH")

_DISABLED, _INHERIT, _EXCLUDE_KERNEL, _EXCLUDE_HV = 1 << 0, 1 << 1, 1 << 5, 1 << 6
_MMAP, _COMM, _FREQUENCY, _ENABLE_ON_EXEC = 1 << 8, 1 << 9, 1 << 10, 1 << 12
_TASK, _WATERMARK, _MMAP2 = 1 << 13, 1 << 14, 1 << 23
_SAMPLE_ID_ALL, _COMM_EXEC, _USE_CLOCKID, _CONTEXT_SWITCH = 1 << 18, 1 << 24, 1 << 25, 1 << 26

IOC_ENABLE, IOC_DISABLE, IOC_SET_OUTPUT = 0x2400, 0x2401, 0x2405

RECORD_LOST, RECORD_COMM, RECORD_EXIT, RECORD_FORK, RECORD_SAMPLE, RECORD_SWITCH = 2, 3, 4, 7, 9, 14
RECORD_MMAP2 = 10
MISC_COMM_EXEC = 0x2000
MISC_SWITCH_OUT, MISC_SWITCH_OUT_PREEMPT = 0x2000, 0x4000

_HEAD, _TAIL = 1024 // 8, 1032 // 8
_PAGE = mmap.PAGESIZE
RING_PAGES = 128


@cache
def _libc() -> ctypes.CDLL:
    # Loaded at first use: systems that cannot record import this module to finish captures.
    return ctypes.CDLL(None, use_errno=True)


def online_cpus() -> list[int]:
    """Numbers of the cores that are online."""
    try:
        text = Path("/sys/devices/system/cpu/online").read_text().strip()
    except OSError:
        return list(range(os.cpu_count() or 1))
    cpus: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        cpus.extend(range(int(first), int(last or first) + 1))
    return cpus


def switch_attributes(*, enable_on_exec: bool, ring_pages: int, count_lost: bool = True) -> bytes:
    """``perf_event_attr`` for context switches, names, forks and exits, without kernel privileges.

    With ``count_lost`` the event reports how many records it dropped; kernels before 6.0 refuse that (EINVAL).
    """
    flags = _DISABLED | _INHERIT | _EXCLUDE_KERNEL | _EXCLUDE_HV | _COMM | _TASK | _WATERMARK
    flags |= _SAMPLE_ID_ALL | _COMM_EXEC | _USE_CLOCKID | _CONTEXT_SWITCH
    if enable_on_exec:
        flags |= _ENABLE_ON_EXEC
    sample = _SAMPLE_TID | _SAMPLE_TIME | _SAMPLE_CPU
    read_format = _FORMAT_LOST if count_lost else 0
    return _attributes(
        _TYPE_SOFTWARE,
        _SW_DUMMY,
        sample,
        flags=flags,
        period=0,
        ring_pages=ring_pages,
        read_format=read_format,
    )


def tracepoint_attributes(identifier: int, *, ring_pages: int) -> bytes:
    """``perf_event_attr`` that records every hit of a tracepoint with its raw fields."""
    flags = _DISABLED | _WATERMARK | _SAMPLE_ID_ALL | _USE_CLOCKID
    sample = _SAMPLE_TID | _SAMPLE_TIME | _SAMPLE_CPU | _SAMPLE_RAW
    return _attributes(_TYPE_TRACEPOINT, identifier, sample, flags=flags, period=1, ring_pages=ring_pages)


def sampling_attributes(
    hertz: int,
    *,
    enable_on_exec: bool,
    ring_pages: int,
    has_kernel: bool,
    stack_bytes: int,
    count_lost: bool = True,
) -> bytes:
    """``perf_event_attr`` that samples call chains ``hertz`` times per second of a thread's CPU time.

    It also records executable mappings, execs and forks, which are needed to name functions. ``has_kernel`` asks for
    samples inside the kernel, which needs privileges. Each sample includes ``stack_bytes`` (a multiple of 8) of the
    stack and three registers; 0 for none.
    """
    flags = _DISABLED | _INHERIT | _EXCLUDE_HV | _MMAP | _MMAP2 | _COMM | _COMM_EXEC | _FREQUENCY | _TASK
    flags |= _WATERMARK | _SAMPLE_ID_ALL | _USE_CLOCKID
    if not has_kernel:
        flags |= _EXCLUDE_KERNEL
    if enable_on_exec:
        flags |= _ENABLE_ON_EXEC
    sample = _SAMPLE_TID | _SAMPLE_TIME | _SAMPLE_CPU | _SAMPLE_CALLCHAIN
    if stack_bytes:
        sample |= _SAMPLE_REGS_USER | _SAMPLE_STACK_USER
    read_format = _FORMAT_LOST if count_lost else 0
    return _attributes(
        _TYPE_SOFTWARE,
        _SW_CPU_CLOCK,
        sample,
        flags=flags,
        period=hertz,
        ring_pages=ring_pages,
        read_format=read_format,
        stack_bytes=stack_bytes,
    )


def _attributes(
    kind: int,
    config: int,
    sample: int,
    *,
    flags: int,
    period: int,
    ring_pages: int,
    read_format: int = 0,
    stack_bytes: int = 0,
) -> bytes:
    watermark = ring_pages * _PAGE // 4
    registers = _REGISTERS if stack_bytes else 0
    packed = _ATTR.pack(
        kind, _ATTR.size, config, period, sample, read_format, flags, watermark, 0, 0, 0, 0, registers, stack_bytes,
        _CLOCK_MONOTONIC, 0, 0, 0, 0,
    )  # fmt: skip
    assert len(packed) == 112
    return packed


def perf_event_open(attributes: bytes, pid: int, cpu: int) -> int:
    """Open an event; returns its file descriptor.

    Raises OSError with the kernel's reason (EACCES: paranoid, EPERM: seccomp), ENOSYS on other architectures.
    """
    number = _SYSCALL.get(platform.machine())
    if number is None:
        raise OSError(38, f"perf_event_open is not known on {platform.machine()}")
    buffer = ctypes.create_string_buffer(attributes, len(attributes))
    descriptor: int = _libc().syscall(
        ctypes.c_long(number), buffer, ctypes.c_int(pid), ctypes.c_int(cpu), ctypes.c_int(-1),
        ctypes.c_ulong(_FLAG_FD_CLOEXEC),
    )  # fmt: skip
    if descriptor < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return descriptor


@dataclass
class Ring:
    """The ring buffer of an event."""

    descriptor: int
    cpu: int
    memory: mmap.mmap
    words: memoryview
    """The first page as 64-bit words: one load or store each, where `struct` would go byte by byte."""
    data: memoryview

    def take(self) -> bytes:
        """A copy of all new records. Their space in the ring is freed."""
        head, tail = self.words[_HEAD], self.words[_TAIL]
        if head == tail:
            return b""
        size = len(self.data)
        first, count = tail % size, head - tail
        if first + count <= size:
            taken = bytes(self.data[first : first + count])
        else:
            taken = b"".join((self.data[first:], self.data[: first + count - size]))
        self.words[_TAIL] = head
        return taken

    def dropped(self) -> int | None:
        """Number of records dropped since the event was opened; None if the kernel does not count them."""
        raw = os.read(self.descriptor, 16)
        return int.from_bytes(raw[8:16], "little") if len(raw) == 16 else None

    def control(self, request: int) -> None:
        """Apply ``IOC_ENABLE`` or ``IOC_DISABLE``, also to the events that threads and children inherited."""
        import fcntl

        fcntl.ioctl(self.descriptor, request, 0)

    def close(self) -> None:
        """Unmap and close the ring; the kernel stops recording with the last descriptor."""
        self.words.release()
        self.data.release()
        self.memory.close()
        os.close(self.descriptor)


def open_ring(attributes: bytes, pid: int, cpu: int, ring_pages: int) -> Ring:
    """Open an event on one core and map its ring.

    Raises OSError when it is refused; EPERM from mapping means that ``ring_pages`` exceeds the memory limit.
    """
    descriptor = perf_event_open(attributes, pid, cpu)
    try:
        memory = mmap.mmap(
            descriptor, (ring_pages + 1) * _PAGE, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE
        )
    except OSError as error:
        os.close(descriptor)
        raise RingTooLarge(error.errno, error.strerror) from error
    view = memoryview(memory)
    return Ring(descriptor, cpu, memory, view[:_PAGE].cast("Q"), view[_PAGE:])


class RingTooLarge(OSError):
    """The event was opened, but its buffer could not be mapped."""
