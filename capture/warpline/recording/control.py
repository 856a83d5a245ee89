"""Pauses, resumes, stops and queries a running recording over a Unix socket: one JSON object per line each way.

The socket is in the spool directory. Each recording also leaves a note in a directory of the user, so that it can be
found by process id.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import stat
import struct
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from warpline.model.errors import RecordingError
from warpline.platform.files import read_regular
from warpline.platform.systems import is_linux
from warpline.recording.proc_files import process_stat
from warpline.untrusted import read_json

SOCKET_FILE = "control.sock"
COMMANDS = ("pause", "resume", "mark", "stop", "status", "snapshot")
LONGEST_MARK = 200
"""Characters of the name of a mark."""
_LONGEST_REQUEST = 4096
_MOST_NOTE_BYTES = 64 << 10
_LONGEST_REPLY = 1 << 20


class Refused(RecordingError):
    """A recorder refuses a request; ``is_late`` if it would have accepted it earlier."""

    def __init__(self, why: str, *, is_late: bool) -> None:
        super().__init__(why)
        self.is_late = is_late


@dataclass
class _Connection:
    socket: socket.socket
    received: bytes = b""


@dataclass
class ControlServer:
    """The recorder's end; never blocks. ``answer`` gets a request's fields and returns the reply's."""

    directory: Path
    answer: Callable[[dict[str, Any]], dict[str, Any]]
    _listening: socket.socket = field(init=False)
    _connections: dict[int, _Connection] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        with _short_name(self.directory) as name:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name)  # of a process that was killed; the spool is ours alone now
            self._listening.bind(name)
        self._listening.listen(8)

    @property
    def descriptors(self) -> list[int]:
        """Descriptors to poll for reading."""
        return [self._listening.fileno(), *self._connections]

    def serve(self) -> None:
        """Answer all requests that have arrived."""
        with contextlib.suppress(BlockingIOError):
            while True:
                client, _address = self._listening.accept()
                if not _is_allowed(client):
                    self._refuse(client)
                    continue
                client.setblocking(False)
                self._connections[client.fileno()] = _Connection(client)
        for connection in list(self._connections.values()):
            self._read(connection)

    def close(self) -> None:
        """Stop listening and close all connections."""
        for connection in self._connections.values():
            connection.socket.close()
        self._listening.close()
        (self.directory / SOCKET_FILE).unlink(missing_ok=True)

    def _refuse(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError):
            client.setblocking(False)
            client.sendall(
                json.dumps({"ok": False, "error": "the recording belongs to another user"}).encode() + b"\n"
            )

    def _read(self, connection: _Connection) -> None:
        try:
            data = connection.socket.recv(_LONGEST_REQUEST)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        connection.received += data
        *lines, connection.received = connection.received.split(b"\n")
        try:
            for line in lines:
                connection.socket.sendall(json.dumps(self._reply(line)).encode() + b"\n")
        except OSError:
            data = b""
        if not data or len(connection.received) > _LONGEST_REQUEST:
            del self._connections[connection.socket.fileno()]
            connection.socket.close()

    def _reply(self, line: bytes) -> dict[str, Any]:
        try:
            request = read_json(line)
        except ValueError:
            return {"ok": False, "error": "not JSON"}
        if not isinstance(request, dict) or request.get("command") not in COMMANDS:
            return {"ok": False, "error": f"the command must be one of {', '.join(COMMANDS)}"}
        return self.answer(request)


def _is_allowed(client: socket.socket) -> bool:
    """Whether the client is the recording user or root."""
    if not hasattr(socket, "SO_PEERCRED"):  # outside Linux only the folder's permissions keep others out
        return True
    # User ids are unsigned: containers use some above 2^31.
    _pid, uid, _gid = struct.unpack("iII", client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return uid in {0, os.geteuid()}


def send_command(directory: Path, command: str, *, timeout_s: float = 10.0, **fields: Any) -> dict[str, Any]:
    """Ask the recorder of a spool directory; returns its reply.

    Raises RecordingError when there is no recorder or it refuses.
    """
    client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    client.settimeout(timeout_s)
    with client:
        try:
            with _short_name(directory) as name:
                client.connect(name)
            client.sendall(json.dumps({"command": command, **fields}).encode() + b"\n")
            received = b""
            while not received.endswith(b"\n") and len(received) < _LONGEST_REPLY:
                part = client.recv(1 << 16)
                if not part:
                    break
                received += part
        except TimeoutError as error:
            raise RecordingError(f"{directory}: the recorder does not answer") from error
        except OSError as error:
            raise RecordingError(f"{directory}: nothing is recording there") from error
    try:
        reply = read_json(received)
    except ValueError as error:
        raise RecordingError(f"{directory}: the recorder went away") from error
    if not isinstance(reply, dict) or not reply.get("ok"):
        raise Refused(
            f"{directory}: {reply.get('error', 'refused') if isinstance(reply, dict) else 'refused'}",
            is_late=isinstance(reply, dict) and reply.get("is_late") is True,
        )
    return reply


def is_recording(directory: Path) -> bool:
    """Whether a recorder listens in a spool directory; the socket of one that was killed stays, but nobody listens."""
    if not is_linux():
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK) as client:
        try:
            with _short_name(directory) as name:
                client.connect(name)
        except BlockingIOError:  # it listens but has not yet accepted the others
            return True
        except OSError:
            return False
    return True


@contextlib.contextmanager
def announced(directory: Path, recorder_pid: int, target_pid: int) -> Iterator[None]:
    """In this context ``find_recording`` finds the recording by the process id of the recorder or the program.

    Removes notes of recorders that were killed. If the note cannot be written, the recording can still be named by its
    directory.
    """
    note: Path | None = None
    _running()
    folder = notes_folder()
    if folder is not None:
        with contextlib.suppress(OSError):
            note = folder / f"{recorder_pid}.json"
            note.write_text(
                json.dumps(
                    {"spool": str(directory.absolute()), "recorder": recorder_pid, "target": target_pid}
                )
            )
    try:
        yield
    finally:
        if note is not None:
            with contextlib.suppress(OSError):
                note.unlink()
                note.parent.rmdir()  # only when it was the last one


def find_recording(which: str | None) -> Path:
    """The spool directory of a running recording, by directory, output or process id; by default the only one.

    Raises RecordingError when there is none, or several and none named.
    """
    if which is not None and not which.isdigit():
        path = Path(which)
        beside = path.with_name(f"{path.name}.spool")
        return beside if not path.is_dir() and beside.is_dir() else path
    running = _running()
    if which is not None:
        for note in running:
            if int(which) in {note["recorder"], note["target"]}:
                return Path(note["spool"])
        raise RecordingError(f"no recording has process id {which}; name its spool directory")
    if not running:
        raise RecordingError("nothing is being recorded by this user; name a process id or a spool directory")
    if len(running) > 1:
        known = ", ".join(f"{note['recorder']} ({note['spool']})" for note in running)
        raise RecordingError(f"several recordings are running, name one: {known}")
    return Path(running[0]["spool"])


def send_to_all(which: str | None, command: str, **fields: Any) -> list[dict[str, Any]]:
    """The replies of a recording, by default of all recordings of this user; what went wrong is their ``error``.

    Raises RecordingError when nothing is being recorded.
    """
    spools = [find_recording(which)] if which is not None else [Path(note["spool"]) for note in _running()]
    if not spools:
        raise RecordingError("nothing is being recorded by this user; name a process id or a spool directory")
    replies: list[dict[str, Any]] = []
    for spool in spools:
        try:
            replies.append(send_command(spool, command, **fields))
        except RecordingError as error:
            is_late = isinstance(error, Refused) and error.is_late
            replies.append({"ok": False, "error": str(error), "is_late": is_late})
    return replies


def notes_folder() -> Path | None:
    """This user's folder for notes about running recordings; None when there is no safe place for it."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    base = Path(runtime) if runtime and Path(runtime).is_dir() else Path(tempfile.gettempdir())
    folder = base / f"warpline-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()
    except OSError:
        return None
    # In a shared directory another user could have made the folder first, to learn about our recordings.
    is_ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o077
    return folder if is_ours else None


def remove_notes_of_ended() -> None:
    """Remove notes of recorders that were killed, and the folder when no other note is in it."""
    _running()
    folder = notes_folder()
    if folder is not None:
        with contextlib.suppress(OSError):
            folder.rmdir()


def _running() -> list[dict[str, Any]]:
    folder = notes_folder()
    notes: list[dict[str, Any]] = []
    for path in sorted(folder.glob("*.json")) if folder is not None else []:
        try:
            if process_stat(int(path.stem)) is None:  # killed, perhaps while it wrote its note
                path.unlink(missing_ok=True)
                continue
            note = read_json(read_regular(path, _MOST_NOTE_BYTES))
            # A recorder that has only begun makes its socket after its note.
            if int(note["recorder"]) and (Path(note["spool"]) / SOCKET_FILE).exists():
                notes.append(note)
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return notes


@contextlib.contextmanager
def _short_name(directory: Path) -> Iterator[str]:
    """A path to the socket that fits the 108 bytes of a socket address, however deep the directory is."""
    descriptor = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}/{SOCKET_FILE}"
    finally:
        os.close(descriptor)
