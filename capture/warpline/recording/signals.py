"""Receives signals through a descriptor that can be polled, and tells terminal signals from those of other senders."""

from __future__ import annotations

import ctypes
import os
import signal
import struct
from dataclasses import dataclass

_HANDLED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_NONBLOCK, _CLOEXEC = os.O_NONBLOCK, os.O_CLOEXEC
_INFO = struct.Struct("<IiiI")
_INFO_BYTES = 128
_SI_KERNEL = 0x80


@dataclass(frozen=True)
class Received:
    """A signal that arrived. ``by_terminal``: the kernel sent it to the whole foreground group."""

    number: int
    by_terminal: bool
    sender_pid: int


class SignalQueue:
    """Blocks the signals that end programs and returns them one by one.

    ``original_mask`` is the previous mask, which the program must get. Create the queue before any other thread.
    """

    def __init__(self) -> None:
        # Signals that were ignored from the start (nohup) stay ignored, here and in the program.
        handled = [number for number in _HANDLED if signal.getsignal(number) is not signal.SIG_IGN]
        self.original_mask: set[int] = {
            int(number) for number in signal.pthread_sigmask(signal.SIG_BLOCK, handled)
        }
        self._numbers = handled
        libc = ctypes.CDLL(None, use_errno=True)
        mask = sum(1 << (number - 1) for number in handled)
        wanted = (ctypes.c_ulong * 16)(mask)  # glibc's sigset_t: 1024 bits
        self.descriptor: int = libc.signalfd(-1, ctypes.byref(wanted), _NONBLOCK | _CLOEXEC)
        if self.descriptor < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))

    def take(self) -> list[Received]:
        """The signals that arrived since the last call."""
        result: list[Received] = []
        while True:
            try:
                raw = os.read(self.descriptor, _INFO_BYTES)
            except BlockingIOError:
                return result
            number, _errno, code, pid = _INFO.unpack_from(raw)
            result.append(Received(number, code == _SI_KERNEL, pid))

    def close(self) -> None:
        """Unblock the signals and drop those that are pending."""
        self.take()
        os.close(self.descriptor)
        signal.pthread_sigmask(signal.SIG_SETMASK, self.original_mask)
