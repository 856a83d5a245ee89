"""How a profiler records: it drives the recording its program is part of, or starts a recorder that attaches to it.

Whatever fails here raises RecordingError; the profiler tells it once and the program goes on.
"""

from __future__ import annotations

import json
import os
import select
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

_PATIENCE_S = 30.0
"""How long a recorder may take to begin; Python and numpy have to be loaded from a disk that may be slow."""
_FINISH_S = 3600.0
_REPLY_S = 5.0


class CycleRecording(Protocol):
    """Cycles of recording; each begins with `resume` and ends with `finish` or `discard`."""

    def prepare(self) -> None:
        """The next cycle is near: get ready, record nothing."""

    def resume(self) -> None:
        """Record from now on."""

    def finish(self) -> ProfilerResult:
        """The cycle is over and kept."""

    def discard(self) -> None:
        """The cycle is over and not kept."""


class DrivenRecording:
    """The recording of ``warpline record`` this process is part of."""

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
        """A capture of what was recorded until then."""
        from warpline.recording.finalise import finalise

        return finalise(self._spool, passing_folder() / "so-far.h5", until_ns=until_ns).path


class OwnRecording:
    """A recorder of our own for each cycle. It is no child of the program, which never has to wait for it."""

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
            raise RecordingError(tr("nothing was being recorded"))
        recorder.stop()
        return ProfilerResult(recorder.written, expected=recorder.output)

    def discard(self) -> None:
        recorder, self._recorder = self._recorder, None
        if recorder is not None:
            recorder.stop(discard=True)


def recording_for(
    targets: frozenset[ProfilerTarget], folder: Callable[[], Path], name: str
) -> CycleRecording:
    """The recording this process is part of, else one of its own whose captures are called ``name``, in a folder."""
    spool = os.environ.get("WARPLINE_SPOOL", "")
    if spool and (Path(spool) / "control.sock").exists():
        return DrivenRecording(Path(spool))
    trace = ["nvtx", "steps"]
    if ProfilerTarget.CPU in targets:
        trace = ["cpu", *trace, "python"]
    if ProfilerTarget.GPU in targets:
        trace += ["cuda", "nvml"]
    return OwnRecording(folder(), name, tuple(trace))


class _Recorder:
    """One recorder process, from its start to its capture."""

    def __init__(self, output: Path, trace: tuple[str, ...]) -> None:
        """Starts it and does not wait. Raises RecordingError, OSError."""
        self._reports = -1
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
        # Through a shell that is gone at once: the recorder is nobody's child, so no wait() of the program meets it.
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
        """Wait until it has attached, have the program's ranges written, and let it record."""
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
        """The recording ends now; its capture is written meanwhile."""
        annotation.connect(None)
        gpu, self._gpu = self._gpu, None
        if gpu is not None:
            gpu.end()
        if self._spool == Path():
            # It never began: it ends when it finds out that we are gone, or with the stop it can get by then.
            self._spool = Path(self._next({"started"}, _PATIENCE_S)["spool"])
        self._send("stop", discard=discard)

    def written(self) -> Path:
        """Where the capture is, as soon as it is complete."""
        return Path(self._next({"done"}, _FINISH_S)["path"])

    def _send(self, command: str, **fields: Any) -> None:
        from warpline.recording.control import send_command

        send_command(self._spool, command, timeout_s=_REPLY_S, **fields)

    def _next(self, states: set[str], patience_s: float) -> dict[str, Any]:
        """The next report of one of these states."""
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
            poller = select.poll()
            poller.register(self._reports, select.POLLIN)
            ready = poller.poll(max(deadline - time.monotonic(), 0) * 1000)
            data = os.read(self._reports, 1 << 16) if ready else b""
            if not data:
                why = tr("it went away") if ready else tr("it does not answer")
                raise RecordingError(tr("the recorder did not finish: {why}", why=why))
            self._received += data

    def __del__(self) -> None:
        if self._reports >= 0:
            os.close(self._reports)


def _environment() -> dict[str, str]:
    """That of the program, without what would load our agent or another profiler into the recorder."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("WARPLINE_") and name != "LD_PRELOAD"
    }
