"""What a recording is: its command, its options, its start. Kept in ``session.json`` of the spool directory."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from warpline.model.errors import RecordingError
from warpline.platform.files import read_regular
from warpline.untrusted import INT64, bounded, read_json

SESSION_FILE = "session.json"
SESSION_VERSION = 1
SESSION_BEGINS = b'{\n "output": '
"""The first bytes that `Session.save` writes; another program's file of that name begins differently."""
LATEST_NS = 1 << 61
"""Later than any CLOCK_MONOTONIC time: 73 years."""
_MOST_BYTES = 16 << 20
"""The largest session file read; the kernel allows command lines of a few MiB."""
_LATEST_WALL_NS = 1 << 63
"""Upper limit of wall clock times: a wrongly set clock may show any year."""
_TYPES: dict[str, type | tuple[type, ...]] = {
    "output": str,
    "command": list,
    "working_directory": str,
    "start_monotonic_ns": int,
    "start_realtime_ns": int,
    "recorder_pid": int,
    "target_pid": int,
    "options": dict,
    "host": dict,
    "tool": str,
    "stop_monotonic_ns": (int, type(None)),
    "exit_status": (int, type(None)),
    "exit_signal": (int, type(None)),
    "was_running": bool,
    "is_remote": bool,
    "first_step": int,
    "until_step": int,
}
_MOST_PIDS = 1 << 32


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0 and value in INT64


_IS_VALID: dict[str, Callable[[Any], bool]] = {
    "bool": lambda value: isinstance(value, bool),
    "str": lambda value: isinstance(value, str),
    "int": _is_count,
    "int | None": lambda value: value is None or _is_count(value),
    "tuple[str, ...]": lambda value: isinstance(value, list) and all(isinstance(text, str) for text in value),
}
"""Checks a value for a field of `RecordingOptions`, by the field's type."""


@dataclass(frozen=True, kw_only=True)
class RecordingOptions:
    """How to record. ``trace`` lists names from `warpline.recording.sources.registry.trace_names`; ``capture_range`` is
    ``none``, ``cuda-profiler`` or ``nvtx:NAME``; a duration of None has no limit.
    """

    trace: tuple[str, ...]
    duration_ns: int | None = None
    delay_ns: int = 0
    capture_range: str = "none"
    cuda_graphs: str = "node"
    terminate: bool = False
    """End the program as well when the recording ends before it."""
    cuda_memory: bool = False
    """Record allocations of device memory."""
    osrt_threshold_ns: int = 1_000
    """Shorter calls of the OS runtime are not recorded."""
    python_hz: int = 100
    """Samples of Python stacks per second; 0 for none."""
    native_hz: int = 100
    """Samples of native stacks per second that a thread is on a core; 0 for none."""

    torch_shapes: int = 0
    """Number of PyTorch training steps whose operators are recorded with shapes, types and FLOPs."""

    torch_memory: bool = False
    """Record how much memory of each GPU PyTorch's allocator holds after every step."""

    ring_ns: int = 0
    """Keep only the last so many ns of the recording; 0 keeps all of it."""

    max_duration_ns: int = 0
    """End the recording after this time, pauses included; 0 for no limit."""

    max_size_bytes: int = 0
    """End the recording when its spool reaches this size on disk; 0 for no limit."""

    keeps_stderr: bool = True
    """Whether the capture keeps the last lines of the program's standard error."""

    keeps_arguments: bool = False
    """Whether arguments that look like secrets are stored as they are."""

    series: str = ""
    """UUID of the first capture of the series that this one continues; empty for a new series."""

    waits: bool = False
    """Record nothing until a snapshot is asked for."""

    is_driven: bool = False
    """A profiler inside the program starts and pauses the recording."""

    @property
    def starts_paused(self) -> bool:
        """Whether recording waits for a delay to end, a range to begin or a resume command."""
        return self.delay_ns > 0 or self.capture_range != "none" or self.is_driven or self.waits


@dataclass(frozen=True, kw_only=True)
class Session:
    """One recording as it is stored. The program's environment is never part of it.

    Times are ns of CLOCK_MONOTONIC, except ``start_realtime_ns``, which is CLOCK_REALTIME at ``start_monotonic_ns``.
    ``stop_monotonic_ns`` and ``exit_status`` (as a shell reports it) are None until known, and after a crash.
    """

    directory: Path
    output: Path
    command: tuple[str, ...]
    working_directory: str
    start_monotonic_ns: int
    start_realtime_ns: int
    recorder_pid: int
    target_pid: int
    options: RecordingOptions
    host: dict[str, Any] = field(default_factory=dict)
    tool: str = ""
    stop_monotonic_ns: int | None = None
    exit_status: int | None = None
    exit_signal: int | None = None
    """The signal that ended the program."""
    was_running: bool = False
    """The program was already running when the recording began."""
    is_remote: bool = False
    """Recorded on another machine: a path of the program is not the file of that name here."""
    first_step: int = 0
    until_step: int = 0
    """The training steps of a snapshot: from the first up to, but not including, the second; 0 for all."""
    is_cut: bool = False
    """Only the end of the recording is kept, so there is no snapshot of the threads at its start."""

    def save(self) -> None:
        """Write ``session.json``, replacing it as a whole.

        Raises OSError when the directory cannot be written.
        """
        values = asdict(self)
        del values["directory"]
        values["output"] = str(self.output)
        values["version"] = SESSION_VERSION
        unfinished = self.directory / f"{SESSION_FILE}.part"
        unfinished.write_text(json.dumps(values, indent=1, ensure_ascii=True))
        os.replace(unfinished, self.directory / SESSION_FILE)

    def terminating(self) -> Session:
        """The same session, which ends the program as well."""
        return replace(self, options=replace(self.options, terminate=True))

    def ended(
        self, stop_monotonic_ns: int, exit_status: int | None, exit_signal: int | None = None
    ) -> Session:
        """The same session with its end."""
        return replace(
            self, stop_monotonic_ns=stop_monotonic_ns, exit_status=exit_status, exit_signal=exit_signal
        )


def load_session(directory: Path) -> Session:
    """Read ``session.json`` of a spool directory.

    Raises RecordingError when the file is missing or damaged.
    """
    path = directory / SESSION_FILE
    try:
        values = read_json(read_regular(path, _MOST_BYTES))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise RecordingError(f"{directory}: not a spool directory, it has no {SESSION_FILE}") from error
    except (OSError, ValueError) as error:
        raise RecordingError(f"{path}: cannot be read: {error}") from error
    try:
        _check_types(values)
        if values.pop("version") != SESSION_VERSION:
            raise RecordingError(f"{path}: written by another version of Warpline")
        options = dict(values.pop("options"))
        options["trace"] = tuple(options["trace"])
        values["options"] = RecordingOptions(**options)
        values["output"] = Path(values["output"])
        values["command"] = tuple(str(word) for word in values["command"])
        session = Session(directory=directory, **values)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RecordingError(f"{path}: is damaged: {error}") from error
    return session


def says_recording(path: Path) -> bool:
    """Whether a file looks like the session of a recording, not like another program's file of that name."""
    return output_in(path) is not None


def output_in(path: Path) -> Path | None:
    """The output path that a session file names; None when the file is not the session of a recording."""
    try:
        values = read_json(read_regular(path, _MOST_BYTES))
    except (OSError, ValueError):
        return None
    if not isinstance(values, dict) or values.get("version") != SESSION_VERSION:
        return None
    output = values.get("output")
    return Path(output) if isinstance(output, str) and "\0" not in output else None


def _check_types(values: dict[str, Any]) -> None:
    """Raises TypeError for a value of the wrong type, ValueError for one that `Session.save` never writes."""
    for key, value in values.items():
        wanted = _TYPES.get(key)
        if wanted is not None and not isinstance(value, wanted):
            raise TypeError(f"{key} is of the wrong type")
        latest = _LATEST_WALL_NS if key == "start_realtime_ns" else LATEST_NS
        if key.endswith("_ns") and value is not None and not 0 <= value < latest:
            raise ValueError(f"{key} is not a time")
        if key.endswith("_pid") and not 0 <= value < _MOST_PIDS:
            raise ValueError(f"{key} is not a process id")
    for option in fields(RecordingOptions):
        key = option.name
        if key in values["options"] and not _IS_VALID[str(option.type)](values["options"][key]):
            raise TypeError(f"{key} is of the wrong type")
    if "\0" in values["output"]:
        raise ValueError("output is not a path")
    values["host"] = bounded(values.get("host", {}))
    values["options"] = bounded(values["options"])


def readable(text: str) -> str:
    """Valid UTF-8 for a capture; bytes of arguments and paths that are not UTF-8 are replaced."""
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    except UnicodeEncodeError:  # a lone surrogate, which JSON allows
        return text.encode("utf-8", "replace").decode()
