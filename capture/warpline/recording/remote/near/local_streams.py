"""Our standard streams while a program runs on another machine."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import sys
import threading
from collections.abc import Iterator
from typing import Any

from warpline.memory_room import require_memory
from warpline.recording.remote.frames import MAX_DATA_BYTES, WINDOW_BYTES, FrameError
from warpline.recording.signals import Received

_MOST_WAITING_BYTES = WINDOW_BYTES + 2 * MAX_DATA_BYTES
"""Output that may wait for its reader: the window, and what was on its way."""
_HANDLED = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")


class LocalSignals:
    """Receives the signals that end programs, one by one, to pass them to the program on the other machine."""

    def __init__(self) -> None:
        self._received: list[int] = []
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)
        os.set_blocking(self._read, False)
        self._wakeup = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        self.is_resized = False
        self._before: dict[int, Any] = {}
        for name in (*_HANDLED, "SIGWINCH"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._note)

    @property
    def descriptor(self) -> int:
        """Readable when a signal has arrived."""
        return self._read

    def take(self) -> list[Received]:
        """The signals that arrived since the last call."""
        with contextlib.suppress(BlockingIOError):
            os.read(self._read, 4096)
        received, self._received = self._received, []
        return [Received(number, by_terminal=False, sender_pid=0) for number in received]

    def close(self) -> None:
        """Handle signals as before."""
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._wakeup)
        os.close(self._read)
        os.close(self._write)

    def _note(self, number: int, _frame: object) -> None:
        if number == getattr(signal, "SIGWINCH", None):
            self.is_resized = True
        else:
            self._received.append(number)


class LocalInput:
    """Our standard input, read only as fast as the other end accepts it."""

    def __init__(self, *, is_used: bool = True) -> None:
        self.is_at_end = not is_used
        self.sent = self.consumed = 0

    @property
    def may_read(self) -> bool:
        """Whether the input should be polled: it is open, and the other end accepts more."""
        return not self.is_at_end and self.sent - self.consumed < WINDOW_BYTES

    def read(self) -> bytes:
        """Read what has arrived; empty at the end of the input."""
        try:
            data = os.read(0, MAX_DATA_BYTES // 4)
        except OSError:
            data = b""
        self.is_at_end = not data
        self.sent += len(data)
        return data


class LocalOutput:
    """One of our output streams. A thread of its own writes it, because its reader may be slow."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._waiting: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self.received = self.written = self.acknowledged = 0
        require_memory()
        self._thread = threading.Thread(target=self._write, name=f"warpline-output-{descriptor}", daemon=True)
        self._thread.start()

    def add(self, offset: int, data: bytes) -> None:
        """Queue output that has arrived, skipping what had arrived before; there may be a gap if too much was written.

        Raises FrameError when the other end sends more than it may before the output is written.
        """
        fresh = data[max(0, self.received - offset) :]
        if offset > self.received:
            self.written += offset - self.received
        self.received = max(self.received, offset + len(data))
        if self.received - self.written > _MOST_WAITING_BYTES:
            raise FrameError("more output than was asked for")
        if fresh:
            self._waiting.put(fresh)

    def close(self) -> None:
        """Wait until everything is written."""
        self._waiting.put(None)
        self._thread.join()

    def _write(self) -> None:
        is_open = True
        while (data := self._waiting.get()) is not None:
            rest = data
            while rest and is_open:
                try:
                    rest = rest[os.write(self._descriptor, rest) :]
                except OSError:
                    is_open = False  # as a program whose reader has gone: the rest is dropped
            self.written += len(data)


def terminal_size() -> tuple[int, int] | None:
    """Rows and columns of our terminal; None unless input and output are one."""
    try:
        size = os.get_terminal_size(0)
        return (size.lines, size.columns) if os.isatty(1) else None
    except OSError:
        return None


@contextlib.contextmanager
def raw_terminal(is_wanted: bool) -> Iterator[None]:
    """In this context our terminal passes every key on; Ctrl-C is sent as a byte."""
    if not is_wanted or sys.platform == "win32":
        yield
        return
    import termios
    import tty

    before = termios.tcgetattr(0)
    tty.setraw(0)
    try:
        yield
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)
