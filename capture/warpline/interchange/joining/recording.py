"""Joins a recording with traces of the same run, written by a framework's profiler or by the program itself.

Processes and threads are matched by their ids, clocks by UTC or the monotonic clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpline.i18n import english, tr
from warpline.interchange.export.capture_exporter import CaptureCopy
from warpline.interchange.export.selection import ExportSelection
from warpline.interchange.framework import registry
from warpline.interchange.framework.bundles import traces_of
from warpline.interchange.framework.detection import detect
from warpline.interchange.framework.importer import ImportOptions, ImportSummary
from warpline.interchange.framework.importing import CONVERTING_SHARE, MEMORY_BYTES, convert_each
from warpline.model import BUILTIN_KINDS, ImportFormatError, UsageError, WarplineError, format_duration
from warpline.model.progress import IsCancelled, Progress, check_cancelled, never, unwatched
from warpline.storage import CaptureBuilder, open_capture

if TYPE_CHECKING:
    from warpline.storage import Capture

METHODS = ("auto", "utc", "start")
"""The alignment methods that make sense for one run."""
_CONTAINERS = frozenset(("process", "thread", "gpu", "context", "cores"))
_HDF5 = b"\x89HDF"
_COPYING_SHARE = 0.3
"""Share of the whole time for the recording; traces, sorting and the level of detail take the rest."""


@dataclass(frozen=True)
class _Fit:
    """The offset of a trace's clock from the recording's: capture time = recorded time - ``offset_ns``."""

    method: str
    offset_ns: int
    reason: str


def is_capture(path: Path) -> bool:
    """Whether a file is a Warpline capture."""
    try:
        with path.open("rb") as file:
            if file.read(4) != _HDF5:
                return False
        with open_capture(path):
            return True
    except (OSError, WarplineError):
        return False


def join_files(
    paths: Sequence[Path | str],
    out: Path | str,
    *,
    format: str | None = None,  # noqa: A002  # named like the option --format
    align: str = "auto",
    progress: Progress | None = None,
    cancelled: IsCancelled | None = None,
) -> Path:
    """Add traces of the same run to a recording, which is one of ``paths``, and write both to ``out``.

    Events join the recorded process with their pid and the thread with their tid. ``align`` is ``utc``, ``start`` (the
    trace begins where the recording begins), or ``auto``: UTC or the monotonic clock, whichever places the trace inside
    the recording.

    Raises ImportFormatError when they are not from one run, StorageError, UsageError, Cancelled.
    """
    inputs = [Path(path) for path in paths]
    recordings = [path for path in inputs if is_capture(path)]
    if len(recordings) != 1:
        raise UsageError(
            tr("name exactly one recording to join with traces of the same run, not {n}", n=len(recordings))
        )
    if align not in METHODS:
        raise UsageError(
            tr(
                "a recording and a trace of the same run cannot be aligned by {align!r}; use one of {names}",
                names=", ".join(METHODS),
                align=align,
            )
        )
    if Path(out).exists() and any(path.samefile(out) for path in inputs if path.exists()):
        raise UsageError(
            tr("{path} is one of the inputs; write the joined capture to another file", path=out)
        )
    report, is_cancelled = progress or unwatched, cancelled or never
    others = [path for path in inputs if path not in recordings]
    with traces_of(others, is_cancelled) as files, open_capture(recordings[0]) as capture:
        return _join(capture, files, Path(out), format, align, report, is_cancelled)


def _join(
    capture: Capture,
    files: list[Path],
    out: Path,
    name: str | None,
    align: str,
    report: Progress,
    is_cancelled: IsCancelled,
) -> Path:
    converters = [registry.importer_named(name) if name else detect(path) for path in files]
    copied, reading = 0, tr("reading {name}", name=capture.path.name)

    def count(events: int) -> None:
        nonlocal copied
        copied += events
        report(_COPYING_SHARE * copied / max(1, len(capture.events)), reading)
        check_cancelled(is_cancelled, tr("the import was cancelled"))

    def report_rest(fraction: float, text: str) -> None:
        report(_COPYING_SHARE + (1 - _COPYING_SHARE) * fraction, text)

    with JoiningBuilder(capture, out) as builder:
        report(0.0, reading)
        CaptureCopy(capture, builder, ExportSelection()).run(count)
        builder.meta.pop("exported_from", None)
        builder.meta["imported_from"] = [
            {"file": capture.path.name, "format": "warpline"},
            *(
                {"file": path.name, "format": converter.name}
                for path, converter in zip(files, converters, strict=True)
            ),
        ]
        builder.begin_joining()
        options = [ImportOptions(clock=builder.add_clock(path.name)) for path in files]
        fits: list[_Fit] = []
        for path, converter, option in zip(files, converters, options, strict=True):
            builder.joined_pids = builder.other_pids = frozenset()
            (summary,) = convert_each([path], [converter], [option], builder, report_rest, is_cancelled)
            _check_pids(path, capture, builder, is_forced=align != "auto")
            fit = _fit(path, capture, summary, align)
            builder.set_clock_offset(option.clock, fit.offset_ns, method=fit.method)
            builder.widen((summary.start_ns or 0) - fit.offset_ns, (summary.stop_ns or 0) - fit.offset_ns)
            fits.append(fit)
        builder.meta["alignment"] = {"method": fits[-1].method, "reason": fits[-1].reason}
        return builder.finish(
            lambda fraction, text: report_rest(CONVERTING_SHARE + (1 - CONVERTING_SHARE) * fraction, text),
            is_cancelled,
        )


class JoiningBuilder(CaptureBuilder):
    """A builder that already holds a recording and reuses its processes, threads and GPUs.

    Their recorded names, titles and order stay. If a trace has events for a recorded track, it gets a track of its own.
    """

    def __init__(self, capture: Capture, out: Path) -> None:
        super().__init__(out, memory_budget_bytes=MEMORY_BYTES)
        self._is_joining = False
        self._known = len(capture.processes), len(capture.threads), len(capture.tracks)
        self._longest_first = sorted(
            range(len(capture.processes)),
            key=lambda index: (
                (capture.processes[index].start_ns or 0) - (capture.processes[index].stop_ns or 1 << 62)
            ),
        )
        self._processes_by_pid: dict[int, int] = {}
        self._threads_by_id: dict[tuple[int, int], int] = {}
        self.joined_pids: frozenset[int] = frozenset()
        """Pids of the recording that occur in the current trace."""
        self.other_pids: frozenset[int] = frozenset()
        """Pids of the current trace that the recording does not have."""

    def begin_joining(self) -> None:
        """Call after the recording has been copied; everything added from now on joins it."""
        # If a pid was reused, the process that lived longest.
        for index in reversed(self._longest_first):
            self._processes_by_pid[self._processes[index].pid] = index
        for index, thread in enumerate(self._threads):
            self._threads_by_id.setdefault((thread.process, thread.tid), index)
        # Traces have attributes that the recording's kinds lack.
        for spec in BUILTIN_KINDS:
            self.add_kind(spec)
        self._is_joining = True

    def widen(self, start_ns: int, stop_ns: int) -> None:
        """Extend the capture to include a joined trace."""
        low, high = self.span or (start_ns, stop_ns)
        self.set_span(min(low, start_ns), max(high, stop_ns))

    def add_process(self, pid: int, **fields: Any) -> int:
        """See `CaptureBuilder`; the recorded process if the pid is known."""
        known = self._processes_by_pid.get(pid) if self._is_joining else None
        if known is not None:
            self.joined_pids |= {pid}
            return known
        if self._is_joining:
            self.other_pids |= {pid}
        return super().add_process(pid, **fields)

    def add_thread(self, process: int, tid: int, **fields: Any) -> int:
        """See `CaptureBuilder`; the recorded thread if the tid is known."""
        known = self._threads_by_id.get((process, tid)) if self._is_joining else None
        return super().add_thread(process, tid, **fields) if known is None else known

    def add_device(self, index: int, name: str, **fields: Any) -> int:
        """See `CaptureBuilder`; the recorded GPU if it is known."""
        known = [place for place, device in enumerate(self._devices) if device.index == index]
        return known[0] if self._is_joining and known else super().add_device(index, name, **fields)

    def update_process(self, index: int, **changes: Any) -> None:
        """See `CaptureBuilder`; recorded values stay."""
        if not self._is_joining or index >= self._known[0]:
            super().update_process(index, **changes)

    def update_thread(self, index: int, **changes: Any) -> None:
        """See `CaptureBuilder`; recorded values stay."""
        if not self._is_joining or index >= self._known[1]:
            super().update_thread(index, **changes)

    def update_track(self, index: int, **changes: Any) -> None:
        """See `CaptureBuilder`; recorded values stay."""
        if not self._is_joining or index >= self._known[2]:
            super().update_track(index, **changes)

    def track(self, uri: str, **fields: Any) -> int:
        """See `CaptureBuilder`; a track cannot hold events of two clocks."""
        known, clock = self._track_ids.get(uri), fields.get("clock")
        if not self._is_joining or known is None:
            return super().track(uri, **fields)
        if self._tracks[known].role in _CONTAINERS or clock in (None, self._tracks[known].clock):
            return known
        title = f"{self._tracks[known].title} · {self._clocks[clock].name}"
        return super().track(f"{uri}/{clock}", **{**fields, "title": title})


def _check_pids(path: Path, capture: Capture, builder: JoiningBuilder, *, is_forced: bool) -> None:
    """Raises ImportFormatError when a trace shares no process with the recording."""
    if builder.joined_pids or is_forced:
        return
    unknown = ", ".join(str(pid) for pid in sorted(builder.other_pids)[:6]) or tr("none")
    recorded = ", ".join(str(process.pid) for process in capture.processes[:6])
    raise ImportFormatError(
        tr(
            "{path}: none of its processes ({unknown}) was recorded ({recorded}), so it is not from the same run. "
            "To join them anyway: --align start",
            path=path,
            unknown=unknown,
            recorded=recorded,
        )
    )


def _fit(path: Path, capture: Capture, summary: ImportSummary, align: str) -> _Fit:
    """The clock offset of a trace. Raises ImportFormatError when no clock places it inside the recording."""
    first, last = summary.start_ns or 0, summary.stop_ns or 0
    if align == "start":
        return _Fit("start", first - capture.span[0], english("requested: both begin together"))
    fits = _clock_fits(capture, summary)
    if align == "utc":
        fits = [fit for fit in fits if fit.method == "utc"]
    low, high = capture.span
    for fit in fits:
        if first - fit.offset_ns < high and last - fit.offset_ns >= low:
            return fit
    if not fits:
        raise ImportFormatError(
            tr(
                "{path} and the recording share no clock; try --align start",
                path=path,
            )
        )
    apart = min(max(low - (last - fit.offset_ns), first - fit.offset_ns - high) for fit in fits)
    raise ImportFormatError(
        tr(
            "{path}: its events are {time} away from the recording, so it is not from the same run. "
            "To join them anyway: --align start",
            path=path,
            time=format_duration(apart),
        )
    )


def _clock_fits(capture: Capture, summary: ImportSummary) -> list[_Fit]:
    """The offsets by the clocks that both have, the more reliable one first."""
    fits = []
    utc, monotonic = (capture.meta.get(name) for name in ("start_utc_ns", "start_monotonic_ns"))
    # In an exported part, time still counts from the beginning of the whole capture.
    if isinstance(utc, int) and summary.utc_offset_ns is not None:
        fits.append(
            _Fit(
                "utc",
                utc - summary.utc_offset_ns,
                english("both give their offset from UTC"),
            )
        )
    if isinstance(monotonic, int):
        fits.append(
            _Fit(
                "monotonic",
                monotonic,
                english("both use the machine's monotonic clock"),
            )
        )
    return fits
