"""Records a program on another machine; its streams and its spool arrive here, where the capture is written."""

from __future__ import annotations

import contextlib
import os
import select
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpline.i18n import tr
from warpline.memory_room import require_memory
from warpline.model.errors import RecordingError
from warpline.platform.held_folders import TemporaryFolder
from warpline.platform.systems import is_linux
from warpline.recording.capture_of_session import Report, Result, write_capture
from warpline.recording.control import ControlServer, announced
from warpline.recording.remote.frames import (
    FrameError,
    FrameType,
    file_of,
    packed,
    packed_json,
    packed_stream,
    stream_of,
    values_of,
)
from warpline.recording.remote.near import run_notes
from warpline.recording.remote.near.local_streams import (
    LocalInput,
    LocalOutput,
    LocalSignals,
    raw_terminal,
    terminal_size,
)
from warpline.recording.remote.near.mirror import Mirror
from warpline.recording.remote.near.outcome import outcome_of, own_status, safe
from warpline.recording.remote.near.pings import FarClock
from warpline.recording.remote.near.transport import Connection, FarMachine
from warpline.recording.remote.zstandard_frames import decompressed, zstandard
from warpline.recording.session import SESSION_FILE, load_session
from warpline.recording.spool.directory import recovering, remove_spool
from warpline.untrusted import visible

if TYPE_CHECKING:
    from warpline.recording.remote.near.fetched_files import FetchedFiles

_STATES = frozenset({"started", "recording", "paused", "stopped", "delayed", "recorded", "discarded"})
_REPLY_S = 10.0


class FarRun:
    """One recording on another machine, from here."""

    def __init__(
        self, place: FarMachine, request: dict[str, Any], output: Path, directory: Path, report: Report | None
    ) -> None:
        self._place, self._request = place, request | {"zstandard": zstandard() is not None}
        self._output, self._directory = output, directory
        self._report: Report = report or (lambda _status: None)
        self._run: str = request["run"]
        self._end: dict[str, Any] | None = None
        self._is_complete = self._is_discarded = False
        self._stop_ns = 0
        self._replies: dict[int, dict[str, Any]] = {}
        self._asked = 0
        self._writing: threading.Thread | None = None
        self._written: Result | Exception | None = None
        self._outputs = {number: LocalOutput(number) for number in (1, 2)}
        self._input = LocalInput(is_used=request["action"] != "attach")
        self._is_connected = self._is_greeted = False
        self._clock = FarClock()
        self._has_pings = False
        """Whether the other end answers pings; a recording that an older version began does not."""
        self._files: FetchedFiles | None = None

    def finish(self) -> Result:
        """Connect, follow the recording to its end and write the capture."""
        is_new = self._request["action"] != "resume"
        if is_new:
            self._remember()
        self._signals = LocalSignals()
        try:
            try:
                self._connection = Connection(self._place, self._request, check=self._leave_by_signal)
            except BaseException:
                if is_new:
                    run_notes.forget(self._run)
                raise
            self._is_connected = True
            try:
                return self._followed()
            finally:
                self._connection.close()
        finally:
            self._signals.close()

    def _leave_by_signal(self) -> None:
        """Before the program starts, signals are meant for us: undo what was begun."""
        for received in () if self._is_connected else self._signals.take():
            raise SystemExit(128 + received.number)

    def _followed(self) -> Result:
        # Of its kind, those that a killed process left are removed first.
        with contextlib.closing(TemporaryFolder(Path(tempfile.gettempdir()))) as folder:
            self._folder = folder.path
            self._follow()
            return self._finished()

    def _follow(self) -> None:
        self._mirror = Mirror(self._directory, self._output, self._place.title)
        with contextlib.ExitStack() as stack:
            stack.callback(self._mirror.close)
            server: ControlServer | None = None
            if is_linux():
                stack.enter_context(announced(self._directory, os.getpid(), os.getpid()))
                server = ControlServer(self._directory, self._control)
                stack.callback(server.close)
            stack.enter_context(raw_terminal(bool(self._request.get("terminal"))))
            try:
                while not (self._end is not None and self._has_arrived):
                    self._step(server)
            except FrameError as error:
                raise RecordingError(tr("{host}: {why}", host=self._place.title, why=error)) from error
            finally:
                for output in self._outputs.values():
                    output.close()

    @property
    def _has_arrived(self) -> bool:
        """Whether everything that the capture needs has arrived."""
        return self._is_complete and self._files is not None and self._files.is_complete

    def _step(self, server: ControlServer | None) -> None:
        """Wait for the next event and handle it.

        Raises RecordingError when the connection is lost, FrameError for an invalid frame.
        """
        others = [(self._signals.descriptor, select.POLLIN)]
        if server is not None:
            others += [(descriptor, select.POLLIN) for descriptor in server.descriptors]
        reads_input = self._is_greeted and self._end is None and self._input.may_read
        if reads_input:
            others.append((0, select.POLLIN))
        is_writing = any(output.acknowledged < output.received for output in self._outputs.values())
        self._connection.wait(0.02 if is_writing else 0.5, others)
        if reads_input and _is_readable(0):
            offset = self._input.sent
            self._connection.send(packed_stream(FrameType.INPUT, 0, offset, self._input.read()))
        self._pass_signals()
        if server is not None:
            server.serve()
        self._receive()
        for number, output in self._outputs.items():
            if output.written > output.acknowledged:
                output.acknowledged = output.written
                values = {"stream": number, "count": output.acknowledged}
                self._connection.send(packed_json(FrameType.RECEIVED, values))
        if self._has_pings and (ping := self._clock.ping()) is not None:
            self._connection.send(ping)
        self._connection.flush()
        if self._is_complete and self._files is None:
            from warpline.recording.remote.near.fetched_files import FetchedFiles

            self._files = FetchedFiles(self._folder, self._needed())
            self._connection.send(packed_json(FrameType.FETCH, {"paths": self._files.paths}))
        if self._has_arrived and self._end is None and self._writing is None and self._stop_ns:
            # The program outlives its recording: write the capture while its streams go on.
            require_memory()
            self._writing = threading.Thread(target=self._write_beside, name="warpline-capture")
            self._writing.start()

    def _needed(self) -> list[str]:
        if not (self._directory / SESSION_FILE).exists():
            return []
        from warpline.recording.remote.near.fetched_files import needed_files

        try:
            return needed_files(self._directory)
        except Exception:  # damaged records; writing the capture says so
            return []

    def _receive(self) -> None:
        frames = self._connection.read()
        if frames is None:
            raise RecordingError(self._left(self._connection.lost_text()))
        try:
            for kind, body in frames:
                self._take(kind, body)
        except OSError as error:  # the disk is full here, as a rule
            why = f"{error.filename or self._directory}: {error.strerror}"
            raise RecordingError(self._left(why)) from error

    def _take(self, kind: FrameType, body: bytes) -> None:
        if kind is FrameType.COMPRESSED:
            kind, body = decompressed(body)
        if kind in {FrameType.WHOLE, FrameType.PAGE, FrameType.CHUNK, FrameType.BYTES}:
            self._mirror.apply(kind, body)
        elif kind is FrameType.FILE and self._files is not None:
            name, _offset, data = file_of(body)
            self._files.add(name, data)
        elif kind is FrameType.OUTPUT:
            number, offset, data = stream_of(body)
            if number not in self._outputs:
                raise FrameError("a stream that no program has")
            self._outputs[number].add(offset, data)
        elif kind is FrameType.STATUS:
            self._tell(values_of(body))
        elif kind is FrameType.CHECK:
            values = values_of(body)
            again = self._mirror.differing(values)
            answer = {"name": values["name"], "again": again, "is_last": bool(values.get("is_last"))}
            self._connection.send(packed_json(FrameType.CHECKED, answer))
        elif kind is FrameType.COMPLETE:
            self._mirror.complete(values_of(body).get("sizes"))
            self._is_complete = True
        elif kind is FrameType.RECEIVED:
            count = values_of(body).get("count")
            self._input.consumed = count if isinstance(count, int) else self._input.consumed
        elif kind is FrameType.EXIT:
            self._end = values_of(body)
        elif kind is FrameType.PONG:
            self._clock.take(values_of(body))
        elif kind is FrameType.REPLY:
            values = values_of(body)
            self._replies[self._asked if values.get("id") == self._asked else 0] = values
        elif kind is FrameType.HELLO:
            if self._is_greeted:
                raise FrameError("it greets twice")
            self._greet(values_of(body))
        elif kind is FrameType.FAILED:
            run_notes.forget(self._run)
            raise RecordingError(visible(str(values_of(body).get("message"))))

    def _greet(self, hello: dict[str, Any]) -> None:
        self._is_greeted = True
        self._has_pings = hello.get("has_pings") is True
        if hello.get("takes_held") is True:
            for frame in self._mirror.held():
                self._connection.send(frame)
        if not hello.get("is_new"):
            offset = hello.get("input")
            self._input.sent = self._input.consumed = offset if isinstance(offset, int) else 0
            note = run_notes.noted(self._run)
            for output, received in zip(self._outputs.values(), note.received if note else (), strict=False):
                output.received = output.written = received
        self._remember()

    def _remember(self) -> None:
        run_notes.remember(
            run_notes.RunNote(
                run=self._run,
                place=self._place.options,
                output=str(self._output),
                spool=str(self._directory),
                title=str(self._request.get("title", "")),
                received=tuple(output.received for output in self._outputs.values()),
            )
        )

    def _tell(self, status: dict[str, Any]) -> None:
        state = status.get("state")
        if state not in _STATES:
            return
        if state == "recorded":
            stop = status.get("stop_monotonic_ns")
            self._stop_ns = stop if isinstance(stop, int) else 0
            return
        self._is_discarded |= state == "discarded"
        status = own_status({str(key): safe(value) for key, value in status.items()})
        if state == "started":
            status |= {"spool": str(self._directory), "recorder_pid": os.getpid(), "host": self._place.title}
        self._report(status)

    def _control(self, request: dict[str, Any]) -> dict[str, Any]:
        """The remote recorder's reply to a request that arrived on the control socket here."""
        self._asked += 1
        self._replies.clear()
        self._connection.send(packed_json(FrameType.CONTROL, {**request, "id": self._asked}))
        deadline = time.monotonic() + _REPLY_S
        while self._asked not in self._replies:
            if time.monotonic() > deadline:
                return {"ok": False, "error": f"{self._place.title} does not answer"}
            self._connection.flush()
            self._connection.wait(0.1)
            self._receive()
        reply = self._replies.pop(self._asked)
        return own_status({str(key): safe(value) for key, value in reply.items() if key != "id"})

    def _pass_signals(self) -> None:
        for received in self._signals.take():
            self._connection.send(packed_json(FrameType.SIGNAL, {"signal": int(received.number)}))
        if self._signals.is_resized:
            self._signals.is_resized = False
            size = terminal_size()
            if size is not None:
                self._connection.send(packed_json(FrameType.SIZE, {"rows": size[0], "columns": size[1]}))

    def _left(self, text: str) -> str:
        """Why nothing more arrives here, and how to continue."""
        if self._is_greeted:  # before, it is not known here what has been written
            self._remember()
        if not self._is_greeted and self._request["action"] != "resume":
            return text + tr("; to see whether the program was started: {command}", command=self._resuming)
        if self._end is not None:
            return text + tr("; the recording waits there: {command}", command=self._resuming)
        if self._request.get("with_me"):
            return text + tr(
                "; the program was ended, its recording waits: {command}", command=self._resuming
            )
        return text + tr("; the program runs on and is still recorded: {command}", command=self._resuming)

    @property
    def _resuming(self) -> str:
        place = self._place
        if place.via:
            return f"warpline record {place.options} --resume"
        return f"warpline record --resume {place.host}"

    def _finished(self) -> Result:
        """The capture, and the program's status."""
        end = self._end or {}
        status = end.get("exit_status")
        status = status if isinstance(status, int) and 0 <= status <= 255 else 125
        failed = end.get("failed")
        if isinstance(failed, str):
            raise RecordingError(self._failed(visible(failed)))
        if end.get("error") or self._is_discarded:
            remove_spool(self._directory)
            self._forget()
            return Result(exit_status=status, error=visible(str(end.get("error") or "")))
        outcome = outcome_of(end.get("outcome"), self._stop_ns)
        self._stop_ns = outcome.stop_monotonic_ns
        if self._writing is not None:
            self._writing.join()
        else:
            self._write_beside()
        if isinstance(self._written, Exception):
            raise self._written
        assert self._written is not None
        self._forget()
        return replace(self._written, exit_status=status, outcome=outcome)

    def _failed(self, why: str) -> str:
        text = tr("{host}: {why}", host=self._place.title, why=why)
        if (self._directory / SESSION_FILE).exists():
            arguments = recovering(self._directory, self._output)
            text += tr("; what arrived is kept: warpline recover {spool}", spool=arguments)
        self._forget()
        return text

    def _write_beside(self) -> None:
        """Write the capture; the result or the error stays in ``_written``."""
        try:
            session = load_session(self._directory)
            host = {**session.host, **self._clock.described()}
            session = replace(session, output=self._output, directory=self._directory, host=host)
            session.save()  # the capture, and a recovery, are made of what lies there
            outcome = outcome_of(None, self._stop_ns or session.start_monotonic_ns)
            result = Result(exit_status=0)
            self._written = write_capture(
                session,
                outcome,
                self._signals,  # type: ignore[arg-type]  # has the same methods as the local one
                self._report,
                result,
                self._folder,
            )
        except Exception as error:  # raised in the main thread
            self._written = error

    def _forget(self) -> None:
        """Remove the recording from the other machine: it is complete here."""
        run_notes.forget(self._run)
        if not self._connection.say_last(packed(FrameType.TAKEN)):
            # The connection was lost at the last moment. Another failure leaves a folder there (`doctor --clean`).
            until = time.monotonic() + _REPLY_S

            def check() -> None:
                if time.monotonic() > until:
                    raise RecordingError(tr("{host} does not answer", host=self._place.title))

            with contextlib.suppress(RecordingError, OSError):
                again = Connection(self._place, {"action": "resume", "run": self._run}, check=check)
                try:
                    again.say_last(packed(FrameType.TAKEN))
                finally:
                    again.close()


def _is_readable(descriptor: int) -> bool:
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    return bool(poller.poll(0))
