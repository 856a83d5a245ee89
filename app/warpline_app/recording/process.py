"""Runs ``warpline record`` as a child process and reports its output, status and end without blocking."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from PySide6.QtCore import QObject, QSocketNotifier, QTimer, Signal

from warpline.own_python import own_python

_READ_BYTES = 1 << 18
_POLL_MS = 50
_READS_AT_ONCE = 64
_LAST_READS = 64


class RecordingProcess(QObject):
    """Starts the recorder with a terminal for the program's output and a pipe for its status.

    The terminal makes programs print line by line, as in a shell. The recorder leads its own session, so the window's
    signals and its end do not reach it.
    """

    output = Signal(bytes)
    status = Signal(object)
    """The recorder's status, a dict: state, elapsed_ns, events, lost, target_pid, sources, warnings."""
    ended = Signal(int)
    """The recorder's exit status, 128+n if signal n ended it. Emitted after the last output."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._process: subprocess.Popen[bytes] | None = None
        self._streams: dict[int, tuple[QSocketNotifier, Callable[[bytes], None]]] = {}
        self._status_rest = b""
        self._terminal = -1
        self._untyped = bytearray()
        self._typist: QSocketNotifier | None = None
        self._poll = QTimer(self)
        self._poll.setInterval(_POLL_MS)
        self._poll.timeout.connect(self._look)

    @property
    def is_running(self) -> bool:
        """Whether the recorder is running."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """The recorder's process id, 0 if it was never started."""
        return self._process.pid if self._process is not None else 0

    def start(self, arguments: Sequence[str], folder: Path, additions: Mapping[str, str]) -> None:
        """Run ``python -m warpline ARGUMENTS``; the first argument is the command. Raises OSError."""
        # Imported here: pty loads tty and termios, which the window does not need otherwise.
        import pty

        master, slave = pty.openpty()
        status_read, status_write = os.pipe()
        _set_size(slave)
        command = [
            *own_python("warpline"),
            arguments[0],
            "--status-fd",
            str(status_write),
            *arguments[1:],
        ]
        environment = {**os.environ, **additions}
        try:
            self._process = subprocess.Popen(
                command,
                cwd=folder,
                env=environment,
                stdin=slave,
                stdout=slave,
                stderr=slave,
                pass_fds=(status_write,),
                start_new_session=True,
            )
        except OSError:
            os.close(master)
            os.close(status_read)
            raise
        finally:
            os.close(slave)
            os.close(status_write)
        self._terminal = master
        for descriptor, take in ((master, self._take_output), (status_read, self._take_status)):
            os.set_blocking(descriptor, False)
            notifier = QSocketNotifier(descriptor, QSocketNotifier.Type.Read, self)
            notifier.activated.connect(lambda _socket, _type, fd=descriptor: self._readable(fd))
            self._streams[descriptor] = (notifier, take)
        self._poll.start()

    def write(self, data: bytes) -> None:
        """Write to the program's terminal; ignored when the program has ended.

        A terminal buffers some kilobytes; the rest follows when the program reads.
        """
        if self._terminal not in self._streams:
            return
        self._untyped += data
        self._type()

    def _type(self) -> None:
        try:
            while self._untyped:
                del self._untyped[: os.write(self._terminal, self._untyped)]
        except BlockingIOError:
            pass
        except OSError:
            self._untyped.clear()
        if self._untyped and self._typist is None:
            self._typist = QSocketNotifier(self._terminal, QSocketNotifier.Type.Write, self)
            self._typist.activated.connect(lambda _socket, _type: self._type())
        if self._typist is not None:
            self._typist.setEnabled(bool(self._untyped))

    def interrupt(self) -> None:
        """Interrupt the program as Ctrl-C in a terminal does; the capture is still written."""
        self._signal(signal.SIGINT)

    def kill(self) -> None:
        """Kill the recorder; its spool keeps what was recorded."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        if self._process is not None and self.is_running:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(number)

    def _read(self, descriptor: int) -> bytes | None:
        """The available data; None at the end of the stream."""
        try:
            data = os.read(descriptor, _READ_BYTES)
        except BlockingIOError:
            return b""
        except OSError:
            data = b""  # a terminal without a writer raises an error instead of reporting its end
        return data or None

    def _take_output(self, data: bytes) -> None:
        self.output.emit(data)

    def _take_status(self, data: bytes) -> None:
        *lines, self._status_rest = (self._status_rest + data).split(b"\n")
        for line in lines:
            with contextlib.suppress(ValueError):
                status = json.loads(line)
                if isinstance(status, dict):
                    self.status.emit(status)

    def _readable(self, descriptor: int) -> bool:
        """Read a bounded amount of the available data; False when there is none."""
        if descriptor not in self._streams:
            return False
        # A terminal returns 4 KiB at a time: reading once per event would slow down a program with much output.
        parts: list[bytes] = []
        data: bytes | None = b""
        for _ in range(_READS_AT_ONCE):
            data = self._read(descriptor)
            if not data:
                break
            parts.append(data)
        if parts:
            self._streams[descriptor][1](b"".join(parts))
        if data is None:
            self._close(descriptor)
        return bool(parts)

    def _close(self, descriptor: int) -> None:
        notifier, _take = self._streams.pop(descriptor)
        notifier.setEnabled(False)
        notifier.deleteLater()
        if descriptor == self._terminal and self._typist is not None:
            self._typist.setEnabled(False)
            self._typist.deleteLater()
            self._typist = None
        os.close(descriptor)

    def _look(self) -> None:
        if self._process is None or self._process.poll() is None:
            return
        self._poll.stop()
        # Drain the pipes without waiting: a process the program left behind may hold them open.
        for descriptor in list(self._streams):
            for _ in range(_LAST_READS):
                if not self._readable(descriptor):
                    break
            if descriptor in self._streams:
                self._close(descriptor)
        code = self._process.returncode
        self.ended.emit(code if code >= 0 else 128 - code)


def _set_size(descriptor: int) -> None:
    import fcntl
    import struct
    import termios

    # Progress bars ask for the terminal's width.
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
