"""What an exporter is, which there are, and what part of a capture they are given."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from warpline.i18n import tr
from warpline.model import Cancelled, ExportError, UsageError, WarplineError
from warpline.storage import Capture

Int64Array = npt.NDArray[np.int64]
Progress = Callable[[float, str], None]
"""Takes a fraction in 0-1 and what is being done."""
IsCancelled = Callable[[], bool]

ENTRY_POINT_GROUP = "warpline.exporters"

MODULES: tuple[str, ...] = (
    "warpline.interchange.export_capture",
    "warpline.interchange.export_chrome",
    "warpline.interchange.export_csv",
    "warpline.interchange.export_parquet",
    "warpline.interchange.export_html",
)
"""One line per exporter; each module exports ``exporter``."""

_BYTES_OF_TABLES = 30_000
_BYTES_PER_SAMPLE = 24
_PACKED_RATIO = 0.2

CHUNK_EVENTS = 1 << 18
"""Events handled at a time: bounds the memory of an export."""


@dataclass(frozen=True)
class ExportSelection:
    """The part of a capture to export, in capture time; None is no border. ``tracks`` are indexes, None for all."""

    start_ns: int | None = None
    stop_ns: int | None = None
    tracks: frozenset[int] | None = None

    def interval(self, capture: Capture) -> tuple[int, int]:
        """Both borders, those of the recording where none is set."""
        start = capture.span[0] if self.start_ns is None else self.start_ns
        stop = capture.span[1] if self.stop_ns is None else self.stop_ns
        return start, max(start, stop)

    def has_track(self, track: int) -> bool:
        """Whether a track is selected."""
        return self.tracks is None or track in self.tracks

    @property
    def is_bounded(self) -> bool:
        """Whether events may be left out because of their time."""
        return self.start_ns is not None or self.stop_ns is not None


@dataclass(frozen=True)
class ExportOptions:
    """``compress``: the archive form of a capture, where the format has one."""

    compress: bool = False


@dataclass(frozen=True)
class Estimate:
    """What an export would hold: exact numbers of events and counter samples, and about how many bytes."""

    events: int
    samples: int
    size_bytes: int


@runtime_checkable
class Exporter(Protocol):
    """One format. A module of :data:`MODULES`, or an entry point, provides one instance."""

    @property
    def name(self) -> str:
        """One lower-case word."""
        ...

    @property
    def title(self) -> str:
        """What a person reads in a file dialog."""
        ...

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Ends of file names that mean this format (``.json``, ``.json.gz``)."""
        ...

    @property
    def bytes_per_event(self) -> float:
        """About how large an event becomes, for the preview."""
        ...

    def export(
        self,
        capture: Capture,
        out: Path,
        selection: ExportSelection,
        options: ExportOptions,
        progress: Progress,
        cancelled: IsCancelled,
    ) -> Path:
        """Write the part into ``out`` (replacing it only when complete) and return what was written.

        Raises ExportError, StorageError, OSError, Cancelled.
        """
        ...


@runtime_checkable
class HasFixedPart(Protocol):
    """An exporter whose files hold something that does not grow with the number of events."""

    def fixed_bytes(self, capture: Capture, selection: ExportSelection) -> int:
        """About how many bytes that is."""
        ...


@lru_cache(maxsize=1)
def builtin_exporters() -> tuple[Exporter, ...]:
    """The exporters of :data:`MODULES`."""
    return tuple(
        _checked(getattr(importlib.import_module(module), "exporter", None), module) for module in MODULES
    )


@lru_cache(maxsize=1)
def exporters() -> tuple[Exporter, ...]:
    """All exporters, built-in ones first. An installed one with the name of a built-in one replaces it.

    Raises WarplineError when an installed distribution registers something that is not an exporter.
    """
    found = {exporter.name: exporter for exporter in builtin_exporters()}
    for point in metadata.entry_points(group=ENTRY_POINT_GROUP):
        try:
            loaded = point.load()
        except ModuleNotFoundError as error:
            # The application's exporters need the window's packages; without them these formats are missing.
            found[point.name] = _Missing(point.name, error.name or "?")
            continue
        exporter = _checked(loaded, point.value)
        found[exporter.name] = exporter
    return tuple(found.values())


def _checked(found: object, origin: str) -> Exporter:
    if not isinstance(found, Exporter):
        raise WarplineError(tr("{origin} is registered as an exporter and is not one", origin=origin))
    return found


@dataclass(frozen=True)
class _Missing:
    """Stands for an exporter whose packages are not installed; its entry point is named like its suffix."""

    name: str
    module: str
    bytes_per_event: float = 0.0

    @property
    def title(self) -> str:
        return tr("{name} (needs {module})", name=self.name, module=self.module)

    @property
    def suffixes(self) -> tuple[str, ...]:
        return (f".{self.name}",)

    def export(
        self,
        capture: Capture,
        out: Path,
        selection: ExportSelection,
        options: ExportOptions,
        progress: Progress,
        cancelled: IsCancelled,
    ) -> Path:
        del capture, selection, options, progress, cancelled
        raise ExportError(
            tr("{out}: this format needs {module}: pip install 'warpline[gui]'", out=out, module=self.module)
        )


def exporter_for(out: Path) -> Exporter:
    """The exporter for a file name.

    Raises UsageError when no format has such names.
    """
    name = ".csv" if out.is_dir() else out.name.lower()
    # Those of the window are loaded only for a name that no other format has: they import Qt.
    found = _longest_match(name, builtin_exporters()) or _longest_match(name, exporters())
    if found is None:
        known = " ".join(suffix for exporter in exporters() for suffix in exporter.suffixes)
        raise UsageError(
            tr("{out}: the name does not say the format; use one of {known}", out=out, known=known)
        )
    return found


def _longest_match(name: str, among: tuple[Exporter, ...]) -> Exporter | None:
    lengths = {
        len(suffix): exporter for exporter in among for suffix in exporter.suffixes if name.endswith(suffix)
    }
    return lengths[max(lengths)] if lengths else None


def match_tracks(capture: Capture, patterns: list[str]) -> frozenset[int] | None:
    """Indexes of tracks whose URI matches any of the patterns, and of the tracks below them; None without patterns.

    Raises UsageError when a pattern matches nothing.
    """
    if not patterns:
        return None
    found: set[int] = set()
    for pattern in patterns:
        hits = {track.index for track in capture.tracks if fnmatchcase(track.uri, pattern)}
        if not hits:
            raise UsageError(tr("no track matches {pattern!r}", pattern=pattern))
        found |= hits
    # A parent always comes before its children.
    for track in capture.tracks:
        if track.parent in found:
            found.add(track.index)
    return frozenset(found)


def lane_slices(capture: Capture, selection: ExportSelection) -> Iterator[tuple[int, slice]]:
    """Each selected track with the rows of one of its lanes that overlap the selected time, in row order."""
    start, stop = selection.interval(capture)
    for lane in range(len(capture.lanes)):
        track = int(capture.lanes.track[lane])
        if not selection.has_track(track):
            continue
        if selection.is_bounded:
            rows = capture.lane_slice(lane, start, stop)
        else:
            first = int(capture.lanes.first[lane])
            rows = slice(first, first + int(capture.lanes.count[lane]))
        if rows.stop > rows.start:
            yield track, rows


def chunks(capture: Capture, selection: ExportSelection) -> Iterator[tuple[int, slice]]:
    """`lane_slices` in pieces of at most `CHUNK_EVENTS` rows."""
    for track, rows in lane_slices(capture, selection):
        for first in range(rows.start, rows.stop, CHUNK_EVENTS):
            yield track, slice(first, min(first + CHUNK_EVENTS, rows.stop))


def count_events(capture: Capture, selection: ExportSelection) -> int:
    """Number of events in the selection, exactly; searches lanes and touches no event."""
    return sum(rows.stop - rows.start for _, rows in lane_slices(capture, selection))


def counter_slice(capture: Capture, counter: int, selection: ExportSelection) -> slice:
    """The samples of a counter in the selected time, with the one before it, whose value still holds."""
    times = capture.counters[counter].times
    if not selection.is_bounded:
        return slice(0, len(times))
    start, stop = selection.interval(capture)
    low = int(np.searchsorted(times, start, "left"))
    high = int(np.searchsorted(times, stop, "left"))
    if low and (low == len(times) or times[low] > start):
        low -= 1
    return slice(low, max(low, high))


def estimate(
    capture: Capture, selection: ExportSelection, exporter: Exporter, *, is_packed: bool = False
) -> Estimate:
    """What an export would hold and about how large it would be, in the time of a few searches per lane.

    ``is_packed``: compressed (``.gz``, the archive form of a capture).
    """
    events = count_events(capture, selection)
    samples = 0
    for counter in capture.counters:
        if selection.has_track(counter.track):
            rows = counter_slice(capture, counter.index, selection)
            samples += rows.stop - rows.start
    size = events * exporter.bytes_per_event + samples * _BYTES_PER_SAMPLE
    if isinstance(exporter, HasFixedPart):
        size += exporter.fixed_bytes(capture, selection)
    return Estimate(events, samples, int(_BYTES_OF_TABLES + size * (_PACKED_RATIO if is_packed else 1)))


def check_cancelled(cancelled: IsCancelled) -> None:
    """Raise Cancelled when the person who started the export has changed their mind."""
    if cancelled():
        raise Cancelled(tr("the export was cancelled"))


def export_capture(
    capture: Capture,
    out: Path | str,
    selection: ExportSelection | None = None,
    options: ExportOptions | None = None,
    progress: Progress | None = None,
    cancelled: IsCancelled | None = None,
) -> Path:
    """Write a part of a capture in the format that the name of ``out`` says; returns what was written.

    Raises UsageError for a name of no known format and for overwriting the capture itself, ExportError, StorageError,
    Cancelled. What was at ``out`` before stays until the new file is complete.
    """
    path = Path(out)
    exporter = exporter_for(path)
    if path.exists() and capture.path.exists() and path.samefile(capture.path):
        raise UsageError(tr("{out}: this is the capture itself; choose another name", out=path))
    if not path.parent.is_dir():
        raise ExportError(
            tr("{out}: the directory {directory} does not exist", out=path, directory=path.parent)
        )
    try:
        return exporter.export(
            capture,
            path,
            selection or ExportSelection(),
            options or ExportOptions(),
            progress or _silent,
            cancelled or _never,
        )
    except OSError as error:
        raise ExportError(
            tr("{out}: cannot be written: {reason}", out=path, reason=error.strerror or error)
        ) from error


def _silent(_fraction: float, _text: str) -> None:
    return None


def _never() -> bool:
    return False
