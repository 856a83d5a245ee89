"""Results of a profiler: complete recordings, and handlers for ``on_trace_ready`` that store them."""

from __future__ import annotations

import atexit
import os
import re
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpline.i18n import tr
from warpline.model.errors import RecordingError
from warpline.profiling.states import warn

if TYPE_CHECKING:
    from warpline.library.capture_reader import CaptureReader

Handler = Callable[[Any], object]
"""A function that is called with the profiler for each complete recording."""


class ProfilerResult:
    """One recording of a profiler. First use waits for the capture.

    ``window`` is the profiler's part of the capture, CLOCK_MONOTONIC ns; None for all of it.
    """

    def __init__(
        self, locate: Callable[[], Path], window: tuple[int, int] | None = None, expected: Path | None = None
    ) -> None:
        self._locate = locate
        self.expected = expected
        """The future path of the capture, if known."""
        self._path: Path | None = None
        self._window = window

    @property
    def path(self) -> Path:
        """The capture. Raises RecordingError when it could not be written."""
        if self._path is None:
            self._path = self._locate()
        return self._path

    def since(self, monotonic_ns: int | None) -> ProfilerResult:
        """The same result from a time on; unchanged for None."""
        if monotonic_ns is not None:
            stop = self._window[1] if self._window is not None else time.monotonic_ns()
            self._window = monotonic_ns, stop
        return self

    def wait(self) -> None:
        """Wait until the capture is complete. Raises RecordingError."""
        self._path = self.path

    def keep(self, target: Path) -> Path:
        """Move the capture to ``target`` and return it. Raises RecordingError, OSError."""
        import shutil

        if self._window is not None:
            self._write_window(target)
        elif self.path != target:
            self._path = Path(shutil.move(self.path, target))
        return target

    def open(self) -> CaptureReader:
        """Open the capture for reading. Raises WarplineError."""
        from warpline.library.entrance import open as open_capture

        return open_capture(self.path)

    def span_ns(self, start_monotonic_ns: int) -> tuple[int | None, int | None]:
        """The profiler's part of the capture, in ns since its start."""
        if self._window is None:
            return None, None
        first, stop = self._window
        return max(first - start_monotonic_ns, 0), max(stop - start_monotonic_ns, 0)

    def export(self, target: Path) -> Path:
        """Write the recording in the format of the suffix: ``.h5``, ``.json``, ``.pb`` (Paddle's), ``.csv`` …

        Raises WarplineError.
        """
        if target.suffix == ".h5":
            return self.keep(target)
        if target.suffix == ".pb":
            return self._write_protobuf(target)
        return self._write_window(target)

    def _write_window(self, target: Path) -> Path:
        from warpline.interchange.export.exporting import export_capture as export
        from warpline.interchange.export.selection import ExportSelection

        with self.open() as reader:
            span = self.span_ns(int(reader.metadata.get("start_monotonic_ns", 0)))
            export(reader.storage, target, ExportSelection(*span))
        return target

    def _write_protobuf(self, target: Path) -> Path:
        from warpline.interchange.export.paddle_pb.trees import export_paddle
        from warpline.interchange.export.selection import ExportSelection

        with self.open() as reader:
            origin = reader.storage.span[0]
            ends = self.span_ns(int(reader.metadata.get("start_monotonic_ns", 0)))
            start, stop = (None if end is None else origin + end for end in ends)
            return export_paddle(reader.storage, target, ExportSelection(start, stop))


class CaptureExport:
    """``on_trace_ready`` that keeps captures in a folder; the recorder writes them there directly if it can."""

    def __init__(self, folder: Path, worker_name: str | None) -> None:
        self.folder = folder
        self.worker_name = worker_name
        self.instead: Path | None = None
        """Where recordings are kept if the folder cannot be written."""

    def __call__(self, profiler: Any) -> None:
        """Keep the profiler's recording."""
        result: ProfilerResult = profiler.profiler_result
        target = _target(self.folder, self.worker_name, ".h5")
        if result.expected is not None and result.expected.parent in (self.folder.absolute(), self.instead):
            return  # it is being written there already
        _write_into(lambda: result.keep(target), self.folder)


class TraceExport:
    """``on_trace_ready`` that writes files of the format of an ending into a folder."""

    def __init__(self, folder: Path, worker_name: str | None, ending: str = ".paddle_trace.json") -> None:
        self.folder = folder
        self.worker_name = worker_name
        self.ending = ending

    def __call__(self, profiler: Any) -> None:
        """Write the profiler's recording."""
        result: ProfilerResult = profiler.profiler_result
        target = _target(self.folder, self.worker_name, self.ending)
        kept = tr("the recording exists until this program ends; to keep it, call export(PATH)")
        _write_into(lambda: result.export(target), self.folder, kept)


def export_capture(dir_name: str | os.PathLike[str], worker_name: str | None = None) -> CaptureExport:
    """An ``on_trace_ready`` that keeps each recording as a capture in ``dir_name``, which is created if necessary.

    File names begin with ``worker_name``, by default with the machine's name and the process id.
    """
    return CaptureExport(Path(dir_name), worker_name)


def export_chrome_tracing(dir_name: str | os.PathLike[str], worker_name: str | None = None) -> TraceExport:
    """An ``on_trace_ready`` that writes each recording as Chrome JSON to ``dir_name``; else like `export_capture`."""
    return TraceExport(Path(dir_name), worker_name)


def export_protobuf(dir_name: str | os.PathLike[str], worker_name: str | None = None) -> TraceExport:
    """An ``on_trace_ready`` that writes each recording as Paddle's protobuf to ``dir_name``.

    Otherwise it is like `export_capture`.
    """
    return TraceExport(Path(dir_name), worker_name, ".paddle_trace.pb")


def load_profiler_result(filename: str | os.PathLike[str]) -> CaptureReader:
    """Open the output of a profiler: a capture, or a trace of Paddle's or another profiler (``.json``, ``.pb``).

    Raises WarplineError.
    """
    from warpline.library.entrance import open as open_capture

    return open_capture(filename)


def passing_folder() -> Path:
    """A temporary folder for captures, which is removed when this process ends."""
    import shutil
    import tempfile

    folder, owner = Path(tempfile.mkdtemp(prefix="warpline-")), os.getpid()

    def remove() -> None:
        if os.getpid() == owner:  # a forked child ends earlier than its parent
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return folder


def writable_folder(handler: Handler) -> Path:
    """The folder for recordings: that of our own handler if it is writable, otherwise a new one."""
    import tempfile

    if isinstance(handler, TraceExport):
        return passing_folder()
    if isinstance(handler, CaptureExport):
        folder = handler.folder.absolute()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                return folder
        except OSError as error:
            handler.instead = Path(tempfile.mkdtemp(prefix="warpline-"))
            warn(
                tr(
                    "{folder}: cannot be written ({error}); the recording goes to {instead}",
                    folder=folder,
                    error=error.strerror,
                    instead=handler.instead,
                )
            )
            return handler.instead
    return Path(tempfile.mkdtemp(prefix="warpline-"))


def file_name(handler: Handler) -> str:
    """The file name of a handler's recordings, without suffix."""
    worker = handler.worker_name if isinstance(handler, CaptureExport | TraceExport) else None
    return _stem(worker)


def _stem(worker_name: str | None) -> str:
    worker = worker_name or f"host_{socket.gethostname()}pid_{os.getpid()}"
    now = time.time()
    moment = time.strftime("%Y_%m_%d_%H_%M_%S", time.localtime(now)) + f"_{int(now * 1000) % 1000:03}"
    return re.sub(r"[^\w.-]", "_", f"{worker}_time_{moment}")


def _target(folder: Path, worker_name: str | None, ending: str) -> Path:
    return folder.absolute() / (_stem(worker_name) + ending)


def _write_into(write: Callable[[], Path], folder: Path, remedy: str = "") -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write()
    except OSError as error:
        what = tr("{folder}: cannot be written: {error}", folder=folder, error=error.strerror or error)
        raise RecordingError(f"{what}; {remedy}" if remedy else what) from error
