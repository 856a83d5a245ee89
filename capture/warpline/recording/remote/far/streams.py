"""The program's standard streams on the other machine: pipes, or a terminal of its own."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import pty
import struct
import termios
from collections import deque

_PIECE = 64 << 10
_MOST_UNSENT_BYTES = 16 << 20
"""Output that is kept while nobody is connected; older output is dropped."""


class ProgramOutput:
    """Output of the program: kept until the other end has received it."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        os.set_blocking(descriptor, False)
        self.is_at_end = False
        self._kept: deque[bytes] = deque()
        self._first = 0
        """Offsets of the first byte that is kept and (below) of the next one to send and of the end."""
        self._next = 0
        self._end = 0

    @property
    def unsent(self) -> int:
        """Bytes that have not been sent."""
        return self._end - self._next

    @property
    def unacknowledged(self) -> int:
        """Bytes sent but not yet acknowledged."""
        return self._next - self._first

    def read(self) -> None:
        """Read what the program has written."""
        if self.is_at_end:
            return
        try:
            data = os.read(self.descriptor, _PIECE)
        except BlockingIOError:
            return
        except OSError:  # EIO of a terminal whose program has ended
            data = b""
        if not data:
            self.close()
            return
        self._kept.append(data)
        self._end += len(data)
        while self._end - self._first > _MOST_UNSENT_BYTES:
            self._drop(self._kept.popleft())

    def read_rest(self) -> None:
        """Read the rest once the program has ended, even if a child of it keeps the stream open."""
        while not self.is_at_end:
            before = self._end
            self.read()
            if self._end == before:
                self.close()

    def take(self, most: int) -> tuple[int, bytes]:
        """Offset and bytes of the next piece to send."""
        offset, skip, data = self._next, self._next - self._first, b""
        for part in self._kept:
            if skip < len(part):
                data = part[skip : skip + most]
                break
            skip -= len(part)
        self._next += len(data)
        return offset, data

    def received(self, count: int) -> None:
        """Note that the other end has received ``count`` bytes of the stream."""
        while self._kept and self._first + len(self._kept[0]) <= count:
            self._first += len(self._kept.popleft())

    def send_again(self) -> None:
        """Send everything unacknowledged again: there is a new connection."""
        self._next = self._first

    def close(self) -> None:
        """Stop reading."""
        if not self.is_at_end:
            self.is_at_end = True
            os.close(self.descriptor)

    def _drop(self, data: bytes) -> None:
        self._first += len(data)
        self._next = max(self._next, self._first)


class ProgramInput:
    """Input for the program."""

    def __init__(self, descriptor: int, *, is_terminal: bool) -> None:
        self.descriptor = descriptor
        os.set_blocking(descriptor, False)
        self._is_terminal = is_terminal
        self._waiting = b""
        self._is_ending = False
        self.is_closed = False
        self.received = self.acknowledged = 0
        """Bytes that have arrived and (below) how many consumed bytes the other end was told of."""

    @property
    def has_work(self) -> bool:
        """Whether `write` has something to do."""
        return not self.is_closed and bool(self._waiting)

    @property
    def consumed(self) -> int:
        """Bytes that the program's pipe has taken."""
        return self.received - len(self._waiting)

    def add(self, offset: int, data: bytes) -> None:
        """Queue input that has arrived, skipping what had arrived before; no bytes mean the end of the input."""
        if not data:
            self._is_ending = True
        elif offset + len(data) > self.received and offset <= self.received:
            fresh = data[self.received - offset :]
            self._waiting += fresh
            self.received += len(fresh)
        self.write()

    def write(self) -> None:
        """Pass on as much input as the program accepts."""
        if self.is_closed:
            self._waiting = b""
            return
        try:
            while self._waiting:
                self._waiting = self._waiting[os.write(self.descriptor, self._waiting) :]
        except BlockingIOError:
            return
        except OSError as error:
            if error.errno not in {errno.EPIPE, errno.EIO}:
                raise
            self._is_ending = True
            self._waiting = b""
        if self._is_ending:
            self.close()

    def close(self) -> None:
        """End the input. A terminal stays open: its program sees the end as a byte."""
        self.is_closed = True
        if not self._is_terminal:
            with contextlib.suppress(OSError):
                os.close(self.descriptor)


class Streams:
    """Our ends of the streams, and the program's."""

    def __init__(self, terminal: tuple[int, int] | None) -> None:
        """``terminal`` is the size of the other end's terminal; None for three pipes.

        Raises OSError.
        """
        self.is_terminal = terminal is not None
        if terminal is not None:
            ours, theirs = pty.openpty()
            resize(ours, *terminal)
            self.of_program = (theirs, theirs, theirs)
            self.input = ProgramInput(os.dup(ours), is_terminal=True)
            self.outputs = {1: ProgramOutput(ours)}
        else:
            input_read, input_write = os.pipe()
            output_read, output_write = os.pipe()
            error_read, error_write = os.pipe()
            self.of_program = (input_read, output_write, error_write)
            self.input = ProgramInput(input_write, is_terminal=False)
            self.outputs = {1: ProgramOutput(output_read), 2: ProgramOutput(error_read)}

    def resize(self, rows: int, columns: int) -> None:
        """Set the size of the program's terminal to that of the other end's."""
        if self.is_terminal and not self.outputs[1].is_at_end:
            resize(self.outputs[1].descriptor, rows, columns)

    def forget_program_ends(self) -> None:
        """Close the program's ends, in our process."""
        for descriptor in set(self.of_program):
            os.close(descriptor)

    def become_standard(self) -> None:
        """In the child: make the program's ends its standard streams."""
        for number, descriptor in enumerate(self.of_program):
            os.dup2(descriptor, number)
        if self.is_terminal:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        for descriptor in {
            self.input.descriptor,
            *self.of_program,
            *(o.descriptor for o in self.outputs.values()),
        }:
            if descriptor > 2:
                os.close(descriptor)


def resize(descriptor: int, rows: int, columns: int) -> None:
    """Set the size of a terminal."""
    size = struct.pack("HHHH", rows & 0x7FFF, columns & 0x7FFF, 0, 0)
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, size)
