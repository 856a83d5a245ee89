"""How a profiler records: it drives the recording of ``warpline record``, or starts a recorder for its own process.

Failures raise RecordingError; the profiler turns them into warnings.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from warpline import annotation
from warpline.i18n import tr
from warpline.model.errors import RecordingError, WarplineError
from warpline.own_python import own_python
from warpline.profiling.gpu_work import JoinedGpu, follow_in_recording
from warpline.profiling.hooks import hook_frameworks
from warpline.profiling.results import ProfilerResult, passing_folder
from warpline.profiling.states import ProfilerTarget
from warpline.recording.platforms import require_linux

_PATIENCE_S = 30.0
"""Longest start of a recorder, which must load Python and numpy from a possibly slow disk."""
_FINISH_S = 3600.0
_REPLY_S = 30.0


class CycleRecording(Protocol):
    """Cycles of recording; each begins with `resume` and ends with `finish` or `discard`."""

    def prepare(self) -> None:
        """Get ready for the next cycle without recording."""

    def resume(self) -> None:
        """Start to record."""

    def finish(self) -> ProfilerResult:
        """End the cycle and keep its recording."""

    def discard(self) -> None:
        """End the cycle and drop its recording."""


class DrivenRecording:
    """Drives the recording of ``warpline record`` that includes this process."""

    def __init__(self, spool: Path) -> None:
        self._spool = spool
        self._since = 0

    def prepare(self) -> None:
        self._send("pause")

    def resume(self) -> None:
        self._since = time.monotonic_ns()
        self._send("resume")

    def finish(self) -> ProfilerResult:
        window = self._since, time.monotonic_ns()
        self._send("pause")
        return ProfilerResult(lambda: self._so_far(window[1]), window)

    def discard(self) -> None:
        self._send("pause")

    def _send(self, command: str) -> None:
        from warpline.recording.control import send_command

        send_command(self._spool, command, timeout_s=_REPLY_S, client=os.getpid())
        follow_in_recording()

    def _so_far(self, until_ns: int) -> Path:
        """Write a capture of the recording up to ``until_ns``."""
        from warpline.recording.finalise import finalise

        return finalise(self._spool, passing_folder() / "so-far.h5", until_ns=until_ns).path


class OwnRecording:
    """Starts a recorder for each cycle. It is not a child of the program, which never waits for it."""

    def __init__(self, folder: Path, name: str, trace: tuple[str, ...]) -> None:
        """Captures of the cycles go to ``folder``."""
        self._folder = folder
        self._name = name
        self._trace = trace
        self._cycles = 0
        self._recorder: _Recorder | None = None

    def prepare(self) -> None:
        self._cycles += 1
        suffix = f"_{self._cycles}" if self._cycles > 1 else ""
        self._folder.mkdir(parents=True, exist_ok=True)
        self._recorder = _Recorder(self._folder / f"{self._name}{suffix}.h5", self._trace)

    def resume(self) -> None:
        if self._recorder is None:
            self.prepare()
        recorder = self._recorder
        assert recorder is not None
        try:
            recorder.begin()
        except (WarplineError, OSError):
            self._recorder = None
            raise

    def finish(self) -> ProfilerResult:
        recorder, self._recorder = self._recorder, None
        if recorder is None:
            raise RecordingError(tr("nothing is being recorded"))
        recorder.stop()
        return ProfilerResult(recorder.written, expected=recorder.output)

    def discard(self) -> None:
        recorder, self._recorder = self._recorder, None
        if recorder is not None:
            recorder.stop(discard=True)


def recording_for(
    targets: frozenset[ProfilerTarget], folder: Callable[[], Path], name: str, sources: tuple[str, ...] = ()
) -> CycleRecording:
    """The recording that includes this process, or else one of its own, with captures ``name`` in ``folder``.

    ``sources`` are what one of its own records (names of ``--trace``), instead of what the targets suggest.
    """
    spool = os.environ.get("WARPLINE_SPOOL", "")
    if spool and (Path(spool) / "control.sock").exists():
        return DrivenRecording(Path(spool))
    if sources:
        return OwnRecording(folder(), name, sources)
    trace = ["nvtx", "steps"]
    if ProfilerTarget.CPU in targets:
        trace = ["cpu", *trace, "paddle", "python"]
    if ProfilerTarget.GPU in targets:
        trace += ["cuda", "nvml"]
    return OwnRecording(folder(), name, tuple(trace))


class _Recorder:
    """One recorder process, from its start to its capture."""

    def __init__(self, output: Path, trace: tuple[str, ...]) -> None:
        """Start the recorder without waiting. Raises RecordingError, OSError."""
        self._reports = -1
        require_linux()
        if not sys.executable:
            raise RecordingError(tr("the recorder cannot be started: this Python does not know its own path"))
        self.output = output
        self._spool = Path()
        self._reports, theirs = os.pipe()
        self._received = b""
        self._gpu: JoinedGpu | None = None
        command = [
            *own_python("warpline.recording.attached_recorder"),
            str(os.getpid()),
            str(output),
            ",".join(trace),
            str(theirs),
        ]
        # Started through a shell that exits at once, so that no wait() of the program sees the recorder.
        try:
            subprocess.run(
                ["/bin/sh", "-c", '"$@" &', "sh", *command],
                check=True,
                cwd="/",
                env=_environment(),
                pass_fds=(theirs,),
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        except (OSError, subprocess.CalledProcessError) as error:
            raise RecordingError(tr("the recorder cannot be started: {error}", error=error)) from error
        finally:
            os.close(theirs)

    def begin(self) -> None:
        """Wait until the recorder has attached, connect the program's ranges, and start to record."""
        from warpline.recording.agent.library import agent_library

        started = self._next({"started"}, _PATIENCE_S)
        self._spool = Path(started["spool"])
        library = agent_library().path
        agent = annotation.load_agent(str(library)) if library is not None else None
        if agent is not None and agent.warpline_join(os.fsencode(self._spool)):
            annotation.connect(agent)
            hook_frameworks(agent, started["variables"])
            self._gpu = JoinedGpu(str(library))
            self._gpu.begin(started["variables"])
        self._send("resume")
        if self._gpu is not None:
            self._gpu.follow()

    def stop(self, *, discard: bool = False) -> None:
        """End the recording; the recorder writes the capture in the background."""
        annotation.connect(None)
        gpu, self._gpu = self._gpu, None
        if gpu is not None:
            gpu.end()
        if self._spool == Path():
            # The recorder has not started yet: wait until it can receive the stop command.
            self._spool = Path(self._next({"started"}, _PATIENCE_S)["spool"])
        self._send("stop", discard=discard)

    def written(self) -> Path:
        """Wait until the capture is complete; returns its path."""
        return Path(self._next({"done"}, _FINISH_S)["path"])

    def _send(self, command: str, **fields: Any) -> None:
        from warpline.recording.control import send_command

        send_command(self._spool, command, timeout_s=_REPLY_S, **fields)

    def _next(self, states: set[str], patience_s: float) -> dict[str, Any]:
        """Wait for the next report with one of these states."""
        deadline = time.monotonic() + patience_s
        while True:
            line, separator, rest = self._received.partition(b"\n")
            if separator:
                self._received = rest
                report: dict[str, Any] = json.loads(line)
                if report["state"] in states:
                    return report
                if report["state"] == "failed":
                    raise RecordingError(report["message"])
                continue
            with selectors.DefaultSelector() as selector:
                selector.register(self._reports, selectors.EVENT_READ)
                ready = selector.select(max(deadline - time.monotonic(), 0))
            data = os.read(self._reports, 1 << 16) if ready else b""
            if not data:
                why = tr("it ended") if ready else tr("it does not answer")
                raise RecordingError(tr("the recorder did not finish: {why}", why=why))
            self._received += data

    def __del__(self) -> None:
        if self._reports >= 0:
            os.close(self._reports)


def _environment() -> dict[str, str]:
    """The program's environment, without variables that would load our agent or another profiler into the recorder."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("WARPLINE_") and name != "LD_PRELOAD"
    }
