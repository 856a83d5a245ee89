"""Replaces ``paddle.fluid.profiler``, which Paddle has removed: ``from warpline.compat import fluid as profiler``.

``start_profiler`` and ``stop_profiler``, or ``with profiler("All", "total")``, record the code between them. At the end
the older report is printed, and the capture is kept as ``PROFILE_PATH.h5``.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from warpline.i18n import tr
from warpline.model.errors import UsageError, WarplineError
from warpline.profiling.paddle_details import PaddleDetails, ask
from warpline.profiling.recordings import CycleRecording, recording_for
from warpline.profiling.results import passing_folder
from warpline.profiling.states import ProfilerTarget, warn

_TARGETS = {
    "CPU": frozenset({ProfilerTarget.CPU}),
    "GPU": frozenset({ProfilerTarget.GPU}),
    "All": frozenset({ProfilerTarget.CPU, ProfilerTarget.GPU}),
}
_OPTIONS = ("Default", "OpDetail", "AllOpDetail")
_SORTED_KEYS = (None, "default", "calls", "total", "max", "min", "ave")
_PATH = "/tmp/profile"

_PLACES = {"CPU": "CPU", "GPU": "CUDA", "All": "All"}
"""Names of states in the report."""

_recording: CycleRecording | None = None
_asked = ("All", "Default")
"""Place and tracer option of the recording."""
_since_ns: int | None = None


def start_profiler(state: str, tracer_option: str = "Default") -> None:
    """Start to record. ``state`` is ``CPU``, ``GPU`` or ``All``.

    ``tracer_option`` ``OpDetail`` also lists the parts of operators (infer_shape, prepare_data, compute), and
    ``AllOpDetail`` numbers operators by their place in the step. Raises UsageError for invalid arguments.
    """
    global _recording, _since_ns, _asked
    if state not in _TARGETS:
        raise UsageError(
            tr("state must be one of {known}, not {value!r}", known=", ".join(_TARGETS), value=state)
        )
    if tracer_option not in _OPTIONS:
        known = ", ".join(_OPTIONS)
        raise UsageError(
            tr("tracer_option must be one of {known}, not {value!r}", known=known, value=tracer_option)
        )
    if _recording is not None:
        warn(tr("this profiler has been started already"))
        return
    _asked = _PLACES[state], tracer_option
    recording = recording_for(_TARGETS[state], passing_folder, "profile")
    _since_ns = None
    try:
        recording.resume()
        ask(PaddleDetails.PARTS)
    except (WarplineError, OSError) as error:
        _failed(error)
        return
    _recording = recording


def stop_profiler(sorted_key: str | None = None, profile_path: str = _PATH) -> None:
    """Stop recording, print the report and keep the capture. Raises UsageError for an unknown ``sorted_key``."""
    global _recording
    _check_key(sorted_key)
    recording, _recording = _recording, None
    if recording is None:
        return
    ask(PaddleDetails.NONE)
    try:
        result = recording.finish().since(_since_ns)
        from warpline.profiling.older_report import older_report

        print(older_report(result, sorted_key, *_asked))
        result.keep(Path(os.path.abspath(f"{profile_path}.h5")))
    except (WarplineError, OSError) as error:
        _failed(error)


def reset_profiler() -> None:
    """Drop everything recorded so far."""
    global _since_ns
    import time

    if _recording is not None:
        _since_ns = time.monotonic_ns()


@contextlib.contextmanager
def profiler(
    state: str, sorted_key: str | None = None, profile_path: str = _PATH, tracer_option: str = "Default"
) -> Iterator[None]:
    """Record the block. Raises UsageError for arguments that Paddle rejected."""
    _check_key(sorted_key)
    start_profiler(state, tracer_option)
    try:
        yield
    finally:
        stop_profiler(sorted_key, profile_path)


@contextlib.contextmanager
def cuda_profiler(
    output_file: str = "",  # noqa: ARG001  # nvprof's; captures go to `warpline record -o`
    output_mode: str | None = None,  # noqa: ARG001
    config: object = None,  # noqa: ARG001
) -> Iterator[None]:
    """Mark the block for CUDA's profiler interface: ``warpline record --capture-range cuda-profiler`` records it."""
    import ctypes

    path = _cuda_runtime()
    if path is None:
        warn(tr("no CUDA runtime is loaded: cuda_profiler has no effect"))
        yield
        return
    runtime = ctypes.CDLL(path)
    runtime.cudaProfilerStart()
    try:
        yield
    finally:
        runtime.cudaProfilerStop()


def _cuda_runtime() -> str | None:
    """The path of the CUDA runtime that this process has loaded."""
    with contextlib.suppress(OSError), open("/proc/self/maps") as maps:
        for line in maps:
            if "libcudart" in line:
                return line.split(maxsplit=5)[5].strip()
    return None


def _check_key(sorted_key: str | None) -> None:
    if sorted_key not in _SORTED_KEYS:
        known = ", ".join(key for key in _SORTED_KEYS if key)
        raise UsageError(
            tr("sorted_key must be one of {known}, not {value!r}", known=known, value=sorted_key)
        )


def _failed(error: Exception) -> None:
    warn(tr("profiling failed, the program continues: {error}", error=error))
