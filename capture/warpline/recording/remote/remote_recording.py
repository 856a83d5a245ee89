"""Records a program on another machine; its streams and its spool arrive here, where the capture is written."""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from warpline.i18n import tr
from warpline.memory_room import require_memory
from warpline.model.errors import RecordingError
from warpline.model.tracks import Source
from warpline.platform.systems import is_linux
from warpline.recording.capture_of_session import (
    Report,
    Result,
    check_output,
    write_capture,
)
from warpline.recording.control import ControlServer, announced
from warpline.recording.remote import notes
from warpline.recording.remote.frames import (
    FrameError,
    FrameType,
    file_of,
    packed_json,
    packed_stream,
    stream_of,
    values_of,
)
from warpline.recording.remote.local_streams import (
    LocalInput,
    LocalOutput,
    LocalSignals,
    raw_terminal,
    terminal_size,
)
from warpline.recording.remote.mirror import Mirror
from warpline.recording.remote.transport import Connection, FarMachine, ask
from warpline.recording.session import SESSION_FILE, RecordingOptions, load_session
from warpline.recording.spool.directory import default_spool, held_spool, new_spool, recovering, remove_spool
from warpline.untrusted import visible

if TYPE_CHECKING:
    from warpline.recording.recorder import RecorderOutcome
    from warpline.recording.remote.machine_files import FetchedFiles

_STATES = frozenset({"started", "recording", "paused", "stopped", "delayed", "recorded", "discarded"})
_REPLY_S = 10.0
Value = TypeVar("Value", int, str)


@dataclass(frozen=True, kw_only=True)
class FarSettings:
    """What a program gets on the other machine. ``directory`` is its home by default."""

    directory: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    spool: str = ""
    """Folder for the recording over there; one in the user's cache by default."""
    ends_with_us: bool = False
    """Whether the program ends when the connection is lost."""


def record_on(
    place: FarMachine,
    command: Sequence[str],
    output: Path,
    options: RecordingOptions,
    settings: FarSettings,
    *,
    spool: Path | None = None,
    report: Report | None = None,
) -> Result:
    """Run a program on another machine, record it there, and write the capture here. Call it from the main thread.

    Raises RecordingError as `warpline.recording.record.record`, and when the connection is lost: the recording goes on
    over there then.
    """
    request = {"action": "record", "command": list(command), "title": " ".join(command)[:200]}
    return _begin(place, request, output, options, settings, spool=spool, report=report)


def attach_on(
    place: FarMachine,
    pid: int,
    output: Path,
    options: RecordingOptions,
    settings: FarSettings,
    *,
    spool: Path | None = None,
    report: Report | None = None,
) -> Result:
    """Record a program that runs on another machine; see `record_on`."""
    request = {"action": "attach", "pid": pid, "title": str(pid)}
    return _begin(place, request, output, options, settings, spool=spool, report=report)


def resume_on(place: FarMachine, output: Path | None, *, report: Report | None = None) -> Result:
    """Take up a recording whose connection was lost.

    Raises RecordingError when there is none or several, and as `record_on`.
    """
    run, note = _choose(place, output)
    target = Path(note.output) if output is None else output.absolute()
    spool = Path(note.spool) if output is None or str(target) == note.output else default_spool(target)
    check_output(target)
    with contextlib.ExitStack() as stack:
        if spool.is_dir():
            stack.enter_context(_held(spool))
        else:
            stack.enter_context(new_spool(spool))
        request = {"action": "resume", "run": run}
        return _Run(place, request, target, spool, report).finish()


def _begin(
    place: FarMachine,
    request: dict[str, Any],
    output: Path,
    options: RecordingOptions,
    settings: FarSettings,
    *,
    spool: Path | None,
    report: Report | None,
) -> Result:
    output = output.absolute()
    check_output(output)
    directory = (spool or default_spool(output)).absolute()
    request |= {
        "run": secrets.token_hex(6),
        "output": str(output),
        "options": asdict(options),
        "chdir": settings.directory,
        "environment": dict(settings.environment),
        "spool": settings.spool,
        "with_me": settings.ends_with_us,
        "terminal": terminal_size() if request["action"] == "record" else None,
    }
    with new_spool(directory):
        try:
            return _Run(place, request, output, directory, report).finish()
        finally:
            with contextlib.suppress(OSError):
                directory.rmdir()  # only when nothing was recorded


@contextlib.contextmanager
def _held(spool: Path) -> Iterator[None]:
    with held_spool(spool):
        yield


def _choose(place: FarMachine, output: Path | None) -> tuple[str, notes.RunNote]:
    """The run to resume: the only one of this machine, or the one that was meant for ``output``."""
    known = ask(place, {"action": "runs"}).get("runs")
    runs = [run for run in known if isinstance(run, dict)] if isinstance(known, list) else []
    pairs = [(str(run.get("run")), notes.noted(run.get("run"))) for run in runs]
    ours = [(run, note) for run, note in pairs if note is not None]
    if output is not None:
        ours = [pair for pair in ours if pair[1].output == str(output.absolute())]
    if len(ours) == 1:
        return ours[0]
    if not ours:
        raise RecordingError(
            tr("{host}: no recording of this computer runs or waits there", host=place.title)
        )
    outputs = ", ".join(note.output for _run, note in ours)
    raise RecordingError(
        tr("{host} has several recordings, name one with -o: {outputs}", host=place.title, outputs=outputs)
    )


class _Run:
    """One recording on another machine, from here."""

    def __init__(
        self, place: FarMachine, request: dict[str, Any], output: Path, directory: Path, report: Report | None
    ) -> None:
        self._place, self._request = place, request
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
        self._is_greeted = False
        self._files: FetchedFiles | None = None

    def finish(self) -> Result:
        """Connect, follow the recording to its end and write the capture."""
        is_new = self._request["action"] != "resume"
        if is_new:
            self._remember()
        try:
            self._connection = Connection(self._place, self._request)
        except BaseException:
            if is_new:
                notes.forget(self._run)
            raise
        self._signals = LocalSignals()
        try:
            return self._followed()
        finally:
            self._connection.close()
            self._signals.close()

    def _followed(self) -> Result:
        with tempfile.TemporaryDirectory(prefix="warpline-files-") as folder:
            self._folder = Path(folder)
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
        """Whether everything is here that the capture needs."""
        return self._is_complete and self._files is not None and self._files.is_complete

    def _step(self, server: ControlServer | None) -> None:
        """Wait for something, and do it.

        Raises RecordingError when the connection is lost, FrameError when it makes no sense.
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
        self._connection.flush()
        if self._is_complete and self._files is None:
            from warpline.recording.remote.machine_files import FetchedFiles

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
        from warpline.recording.remote.machine_files import needed_files

        try:
            return needed_files(self._directory)
        except Exception:  # damaged records; writing the capture says so
            return []

    def _receive(self) -> None:
        frames = self._connection.read()
        if frames is None:
            raise RecordingError(self._lost())
        for kind, body in frames:
            self._take(kind, body)

    def _take(self, kind: FrameType, body: bytes) -> None:
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
        elif kind is FrameType.REPLY:
            values = values_of(body)
            self._replies[self._asked if values.get("id") == self._asked else 0] = values
        elif kind is FrameType.HELLO:
            self._greet(values_of(body))
        elif kind is FrameType.FAILED:
            notes.forget(self._run)
            raise RecordingError(visible(str(values_of(body).get("message"))))

    def _greet(self, hello: dict[str, Any]) -> None:
        self._is_greeted = True
        if not hello.get("is_new"):
            offset = hello.get("input")
            self._input.sent = self._input.consumed = offset if isinstance(offset, int) else 0
            note = notes.noted(self._run)
            for output, received in zip(self._outputs.values(), note.received if note else (), strict=False):
                output.received = output.written = received
        self._remember()

    def _remember(self) -> None:
        notes.remember(
            notes.RunNote(
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
        status = _own({str(key): _safe(value) for key, value in status.items()})
        if state == "started":
            status |= {"spool": str(self._directory), "recorder_pid": os.getpid(), "host": self._place.title}
        self._report(status)

    def _control(self, request: dict[str, Any]) -> dict[str, Any]:
        """The reply of the recorder over there to a request of the control socket here."""
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
        return _own({str(key): _safe(value) for key, value in reply.items() if key != "id"})

    def _pass_signals(self) -> None:
        for received in self._signals.take():
            self._connection.send(packed_json(FrameType.SIGNAL, {"signal": int(received.number)}))
        if self._signals.is_resized:
            self._signals.is_resized = False
            size = terminal_size()
            if size is not None:
                self._connection.send(packed_json(FrameType.SIZE, {"rows": size[0], "columns": size[1]}))

    def _lost(self) -> str:
        text = self._connection.lost_text()
        self._remember()
        if not self._is_greeted and self._request["action"] != "resume":
            return text + tr("; to see whether the program was started: {command}", command=self._resuming)
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
        if self._writing is not None:
            self._writing.join()
        else:
            self._write_beside()
        if isinstance(self._written, Exception):
            raise self._written
        assert self._written is not None
        self._forget()
        return replace(self._written, exit_status=status, outcome=_outcome(end.get("outcome"), self._stop_ns))

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
            session = replace(load_session(self._directory), output=self._output, directory=self._directory)
            outcome = _outcome(None, self._stop_ns or session.start_monotonic_ns)
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
        """The recording is here: remove it over there."""
        notes.forget(self._run)
        self._connection.send(packed_json(FrameType.TAKEN, {}))
        deadline = time.monotonic() + 5
        while self._connection.unsent and time.monotonic() < deadline:
            self._connection.flush()
            self._connection.wait(0.1)


def _outcome(values: Any, stop_ns: int) -> RecorderOutcome:
    """How the recording ended, as the other end says."""
    from warpline.recording.recorder import RecorderOutcome

    values = values if isinstance(values, dict) else {}
    number = _of_type(values, int, 0)
    sources = values.get("sources")
    return RecorderOutcome(
        stop_monotonic_ns=stop_ns,
        events=number("events"),
        lost=number("lost"),
        sources=tuple(map(_source, sources if isinstance(sources, list) else ())),
        warnings=tuple(_safe(text) for text in values.get("warnings") or () if isinstance(text, str)),
        ended_early=_of_type(values, str, "")("ended_early"),
    )


def _source(values: Any) -> Source:
    values = values if isinstance(values, dict) else {}
    text = _of_type(values, str, "")
    return Source(
        text("name"),
        values.get("enabled") is True,
        text("reason"),
        _of_type(values, int, 0)("lost"),
        text("remedy"),
    )


def _of_type(values: dict[str, Any], kind: type[Value], otherwise: Value) -> Callable[[str], Value]:
    def value(name: str) -> Value:
        found = values.get(name)
        return _safe(found) if isinstance(found, kind) else otherwise

    return value


def _safe(value: Any) -> Any:
    """A value without terminal controls in its texts."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, list):
        return [_safe(part) for part in value]
    if isinstance(value, dict):
        return {str(key): _safe(part) for key, part in value.items()}
    return value


def _own(status: dict[str, Any]) -> dict[str, Any]:
    """A status without a process id of the other machine under a name that stands for one of this machine."""
    if "target_pid" in status:
        status |= {"target_pid": 0, "far_pid": status["target_pid"]}
    return status


def _is_readable(descriptor: int) -> bool:
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    return bool(poller.poll(0))
