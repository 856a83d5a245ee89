"""Reads the memory of another process with ``process_vm_readv`` (Linux), without stopping it."""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from functools import cache

from warpline.i18n import english
from warpline.recording.unavailable import Unavailable

_POINTER = struct.Struct("<Q")


class _Piece(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("size", ctypes.c_size_t))


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


class RemoteMemory:
    """The memory of one process."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._buffer = ctypes.create_string_buffer(1 << 17)
        self._local = _Piece(ctypes.addressof(self._buffer), 0)
        self._remote = _Piece(0, 0)

    def read(self, address: int, size: int) -> bytes | None:
        """``size`` bytes at an address, or None. Raises Unavailable when the kernel refuses."""
        if not 0 < address < 1 << 63 or not 0 < size <= len(self._buffer):
            return None
        self._local.size = self._remote.size = size
        self._remote.base = address
        count = _libc().process_vm_readv(
            self.pid, ctypes.byref(self._local), 1, ctypes.byref(self._remote), 1, 0
        )
        if count == size:
            return (
                self._buffer.raw[:size] if size == len(self._buffer) else ctypes.string_at(self._buffer, size)
            )
        if count < 0 and ctypes.get_errno() in {errno.EPERM, errno.ENOSYS}:
            raise refused(ctypes.get_errno())
        return None

    def write(self, address: int, data: bytes) -> None:
        """Put bytes at an address. Raises Unavailable when that is not possible."""
        data_at = ctypes.create_string_buffer(data, len(data))
        local = _Piece(ctypes.addressof(data_at), len(data))
        remote = _Piece(address, len(data))
        if _libc().process_vm_writev(self.pid, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0) != len(
            data
        ):
            raise refused(ctypes.get_errno())

    def pointer(self, address: int) -> int:
        """The pointer at an address; 0 if it cannot be read."""
        raw = self.read(address, _POINTER.size)
        return _POINTER.unpack(raw)[0] if raw is not None else 0


def refused(number: int) -> Unavailable:
    """The reason why the memory of the program cannot be read."""
    return Unavailable(
        english("process_vm_readv: {error}", error=os.strerror(number))
        + "; "
        + english("kernel.yama.ptrace_scope is {level}", level=_ptrace_scope()),
        english("run as root, or: sysctl kernel.yama.ptrace_scope=0"),
    )


def _ptrace_scope() -> str:
    try:
        with open("/proc/sys/kernel/yama/ptrace_scope") as file:
            return file.read().strip()
    except OSError:
        return "?"
