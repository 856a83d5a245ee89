"""Reaches another machine: the user's own ssh, or any command that runs a program there.

Everything goes through the standard streams of that command. What starts the recorder is one fixed line; the program,
its directory and its environment follow through the channel, so that no secret shows in a list of processes.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import secrets
import select
import shlex
import shutil
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpline.i18n import tr
from warpline.model.errors import RecordingError, UsageError
from warpline.recording.remote.frames import (
    BEAT_S,
    GONE_S,
    MAX_DATA_BYTES,
    FrameError,
    FrameReader,
    FrameType,
    packed,
    packed_json,
)
from warpline.recording.remote.near.package import far_package
from warpline.untrusted import visible

_MOST_NOISE_BYTES = 1 << 20
"""What a shell may print before our first line."""
_PYTHONS = ("python3", *(f"python3.{minor}" for minor in range(20, 8, -1)), "/usr/libexec/platform-python")
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "fish"})
_CONTAINERS = frozenset({"docker", "podman", "nerdctl", "kubectl", "oc"})
_SILENCE_S = 20.0
"""How long a command may be silent before the user is told that we are waiting for it."""
_UNINTERRUPTED = ("sh", "-c", 'trap "" INT QUIT; exec "$@"', "sh")
"""Ctrl-C is meant for the remote program; it would end ssh."""
# The interpreter itself is run, not what led to it: a shim of pyenv takes a third of a second.
# One word of an environment may have 128 KiB (MAX_ARG_STRLEN): a larger login environment is not restored.
_START = """e=$({{ base64 </proc/$$/environ; }} 2>/dev/null)
[ ${{#e}} -lt 120000 ] || e=
for p in {pythons}; do
t=$("$p" -I -c "import base64, sys, zlib; print(sys.version_info >= (3, 9), sys.executable)" 2>/dev/null) &&
[ -x "${{t#True }}" ] &&
WARPLINE_LOGIN=$e exec "${{t#True }}" -I -c \\
"import base64, sys, zlib; exec(zlib.decompress(base64.b64decode(sys.argv[1])))" \\
{arguments}
done; echo; echo {marker} none"""


@dataclass(frozen=True)
class FarMachine:
    """Another machine: an ssh host, or the words of a command that runs a program there."""

    host: str = ""
    via: tuple[str, ...] = ()
    python: str = ""

    @property
    def title(self) -> str:
        """What messages call the machine."""
        return self.host or shlex.join(self.via)

    @property
    def options(self) -> str:
        """The options of the command line that name it."""
        words = ("--via", shlex.join(self.via)) if self.via else ("--on", self.host)
        return shlex.join((*words, "--python", self.python) if self.python else words)

    @property
    def is_ssh(self) -> bool:
        """Whether it is reached by ssh."""
        return not self.via or Path(self.via[0]).name == "ssh"

    def command(self, line: str) -> list[str]:
        """The command that runs a shell line on the machine. ssh joins its words for the shell at the other end."""
        joined = f"exec sh -c {shlex.quote(line)}"
        if not self.via:
            return ["ssh", "-T", "-e", "none", self.host, joined]
        return [*self.via, joined] if self.is_ssh else [*self.via, "sh", "-c", line]


def machine_of(host: str | None, via: str | None, python: str = "") -> FarMachine:
    """The machine that ``--on`` and ``--via`` name.

    Raises UsageError.
    """
    if via:
        try:
            words = tuple(shlex.split(via))
        except ValueError as error:
            raise UsageError(tr("--via {text!r}: {why}", text=via, why=error)) from error
        if not words:
            raise UsageError(tr("--via needs a command, such as 'docker exec -i CONTAINER'"))
        _require_open_input(words)
        return FarMachine(via=words, python=python)
    # ssh would take it for an option, one of which runs a command here.
    if not host or host.startswith("-") or any(character.isspace() for character in host):
        raise UsageError(tr("not a host: {host!r}", host=host or ""))
    return FarMachine(host=host, python=python)


def _require_open_input(words: tuple[str, ...]) -> None:
    """Refuse commands that would wait for ever: those that run nothing, and those without standard input."""
    program = Path(words[0]).name
    if program in _SHELLS and words[-1].startswith("-") and words[-1].endswith("c"):
        raise UsageError(
            tr(
                "--via {text!r} would run a shell without a program; leave out {word}: a program and its arguments"
                " are added to the command (for this machine: --via env)",
                text=shlex.join(words),
                word=words[-1],
            )
        )
    options = [word for word in words if word.startswith("-")]
    is_interactive = any(word.startswith(("-i", "-ti", "--interactive", "--stdin")) for word in options)
    if program in _CONTAINERS and "exec" in words and not is_interactive:
        raise UsageError(
            tr("--via {text!r}: write {program} exec -i …", text=shlex.join(words), program=program)
        )


class Connection:
    """A connection to the far end of the recorder, once our files are on the machine."""

    def __init__(
        self,
        place: FarMachine,
        request: dict[str, Any],
        *,
        check: Callable[[], None] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Connect and send the request.

        ``check`` is called at least once a second while this waits, and may raise Cancelled. ``environment`` is added
        to that of the command.

        Raises RecordingError with the reason when there is no recorder to be had.
        """
        self.place, self._check = place, check or (lambda: None)
        command = place.command("")[0]
        if shutil.which(command) is None:
            raise RecordingError(tr("{command}: there is no such command here", command=command))
        package = far_package()
        marker = f"warpline-{secrets.token_hex(8)}"
        try:
            self._process = subprocess.Popen(
                [*_UNINTERRUPTED, *place.command(_start_line(place, marker, package.digest))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, **(environment or {})},
            )
        except OSError as error:
            raise RecordingError(f"{command}: {error.strerror}") from error
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self.incoming, self.outgoing = self._process.stdout.fileno(), self._process.stdin.fileno()
        os.set_blocking(self.incoming, False)
        os.set_blocking(self.outgoing, False)
        self._unsent = bytearray()
        self._reader = FrameReader()
        self._early = b""
        self._behind: list[tuple[FrameType, bytes]] = []
        self.heard = self._sent = time.monotonic()
        try:
            self.machine = self._greeting(marker.encode())
            if not self.machine.get("cached"):
                data = package.packed()
                head = f"{len(data):<11}{hashlib.sha256(data).hexdigest()[:60]}\n".encode()
                self._unsent += head + data
            self.send(packed_json(FrameType.REQUEST, request))
        except BaseException:
            self.close()
            raise
        self.heard = time.monotonic()

    @property
    def unsent(self) -> int:
        """Bytes that the connection has not taken yet."""
        return len(self._unsent)

    def send(self, frame: bytes) -> None:
        """Queue a frame."""
        self._unsent += frame

    def flush(self) -> None:
        """Write as much as the connection accepts. A closed connection shows up when reading."""
        now = time.monotonic()
        if now - self._sent > BEAT_S and not self._unsent:
            self.send(packed(FrameType.BEAT))
        with contextlib.suppress(BlockingIOError, BrokenPipeError):
            while self._unsent:
                count = os.write(self.outgoing, self._unsent[:MAX_DATA_BYTES])
                del self._unsent[:count]
                self._sent = now

    def read(self) -> list[tuple[FrameType, bytes]] | None:
        """The frames that have arrived; None when the connection is lost.

        Raises FrameError.
        """
        early, self._early = self._early, b""
        if early:
            return self._reader.feed(early)
        try:
            data = os.read(self.incoming, 1 << 20)
        except BlockingIOError:
            return None if time.monotonic() - self.heard > GONE_S else []
        if not data:
            return None
        self.heard = time.monotonic()
        return self._reader.feed(data)

    def wait(self, timeout_s: float, others: Iterable[tuple[int, int]] = ()) -> None:
        """Wait until the connection or one of the other descriptors (with poll events) has something to do."""
        poller = select.poll()
        poller.register(self.incoming, select.POLLIN)
        if self._unsent:
            poller.register(self.outgoing, select.POLLOUT)
        for descriptor, events in others:
            poller.register(descriptor, events)
        self._check()
        poller.poll(0 if self._early else min(timeout_s, BEAT_S / 2) * 1000)

    def answer(self, timeout_s: float = 120.0) -> dict[str, Any]:
        """The answer to a request that is answered at once.

        Raises RecordingError.
        """
        from warpline.recording.remote.frames import values_of

        deadline = time.monotonic() + timeout_s
        try:
            while time.monotonic() < deadline:
                self.flush()
                self.wait(1.0)
                # A long check sends nothing meanwhile: only the end of the connection counts.
                self.heard = time.monotonic()
                frames = self.read()
                if frames is None:
                    break
                for number, (kind, body) in enumerate(frames):
                    if kind is FrameType.FAILED:
                        raise RecordingError(visible(str(values_of(body).get("message"))))
                    if kind is FrameType.REPLY:
                        self._behind = frames[number + 1 :]
                        return values_of(body)
        except FrameError as error:
            raise RecordingError(tr("{host}: {why}", host=self.place.title, why=error)) from error
        raise RecordingError(self.lost_text())

    def say_last(self, frame: bytes, timeout_s: float = 10.0) -> bool:
        """Send the frame after which the far end closes the connection; returns whether it closed it properly."""
        self.send(frame)
        deadline = time.monotonic() + timeout_s
        with contextlib.suppress(FrameError, OSError, subprocess.TimeoutExpired):
            while time.monotonic() < deadline:
                self.flush()
                self.wait(0.1)
                if self.read() is None:
                    return self._process.wait(2.0) == 0
        return False

    def lost_text(self) -> str:
        """Why the connection ended."""
        status = self._process.poll()
        if status:
            return tr(
                "{host}: the connection ended with status {status}", host=self.place.title, status=status
            )
        return tr("{host}: the connection was lost", host=self.place.title)

    def following(self) -> list[tuple[FrameType, bytes]]:
        """The frames that follow an answer.

        Raises RecordingError when the connection is lost, FrameError.
        """
        behind, self._behind = self._behind, []
        frames = behind or self.read()
        if frames is None:
            raise RecordingError(self.lost_text())
        return frames

    def close(self) -> None:
        """End the connection."""
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                pipe.close() if pipe is not None else None
        try:
            self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            self._process.terminate()
            try:
                self._process.wait(2.0)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def _greeting(self, marker: bytes) -> dict[str, Any]:
        """The first line of the far end, after what its shell prints."""
        noise = b""
        silent_at = time.monotonic() + _SILENCE_S
        while True:
            before, found, after = noise.partition(b"\n" + marker + b" ")
            if found and b"\n" in after:
                line, _, self._early = after.partition(b"\n")
                return self._greeted(line)
            if len(noise) > _MOST_NOISE_BYTES:
                raise RecordingError(tr("{host}: its shell prints without end", host=self.place.title))
            self.wait(1.0)
            if self.place.via and time.monotonic() > silent_at:
                silent_at = float("inf")
                text = tr("{host} has not run a program yet; Ctrl-C ends the waiting", host=self.place.title)
                print(f"warpline: {text}", file=sys.stderr, flush=True)
            try:
                data = os.read(self.incoming, 1 << 16)
            except BlockingIOError:
                continue  # ssh may ask for a password
            if not data:
                raise RecordingError(self._refused(before))
            noise += data

    def _greeted(self, line: bytes) -> dict[str, Any]:
        if line.strip() == b"none" and self.place.python:
            raise RecordingError(
                tr(
                    "{host}: {python} is no Python 3.9 or later with its standard library",
                    host=self.place.title,
                    python=self.place.python,
                )
            )
        if line.strip() == b"none":
            raise RecordingError(
                tr(
                    "{host} has no Python 3.9 or later with its standard library; name one with --python PATH",
                    host=self.place.title,
                )
            )
        try:
            hello = json.loads(line)
        except ValueError:
            hello = None
        if not isinstance(hello, dict):
            raise RecordingError(tr("{host}: its first line makes no sense", host=self.place.title))
        if not hello.get("root"):
            raise RecordingError(
                tr(
                    "{host} has no folder for the recorder: ~/.cache, /var/tmp, /tmp and /dev/shm cannot be written"
                    " or forbid programs (noexec)",
                    host=self.place.title,
                )
            )
        return hello

    def _refused(self, said: bytes) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(2.0)
        status = self._process.poll()
        text = visible(said[-400:].decode("utf-8", "replace").strip())
        if status == 255 and self.place.is_ssh:  # it has given the reason
            if self.place.host:
                return tr("ssh could not connect to {host}", host=self.place.host)
            return tr("{command}: could not connect", command=self.place.title)
        if status is None:
            return self.lost_text()
        why = tr(
            "{command}: ended with status {status} before the recorder began",
            command=self.place.title,
            status=status,
        )
        return f"{why}: {text}" if text else why


def _start_line(place: FarMachine, marker: str, digest: str) -> str:
    boot = base64.b64encode(zlib.compress(_boot_program(), 9)).decode()
    pythons = [place.python] if place.python else list(_PYTHONS)
    return _START.format(pythons=shlex.join(pythons), arguments=f"{boot} {marker} {digest}", marker=marker)


def _boot_program() -> bytes:
    return Path(__file__).parents[1].joinpath("boot.py").read_bytes()


def ask(place: FarMachine, request: dict[str, Any]) -> dict[str, Any]:
    """The answer to a request that is answered at once.

    Raises RecordingError.
    """
    connection = Connection(place, request)
    try:
        return connection.answer()
    finally:
        connection.close()
