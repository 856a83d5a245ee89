"""What an exporter is, which there are, and what part of a capture they are given."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Protocol, runtime_checkable

from warpline.i18n import tr
from warpline.interchange.export.selection import ExportSelection, count_events
from warpline.model import ExportError, UsageError, WarplineError
from warpline.model.progress import IsCancelled, Progress, check_cancelled, never, unwatched
from warpline.storage import Capture

ENTRY_POINT_GROUP = "warpline.exporters"

MODULES: tuple[str, ...] = (
    "warpline.interchange.export.capture_exporter",
    "warpline.interchange.export.chrome_json.chrome_exporter",
    "warpline.interchange.export.csv_exporter",
    "warpline.interchange.export.parquet_exporter",
    "warpline.interchange.export.html_exporter",
)
"""One line per exporter; each module exports ``exporter``."""


@dataclass(frozen=True)
class ExportOptions:
    """``compress``: the archive form of a capture, where the format has one."""

    compress: bool = False


@dataclass(frozen=True)
class ExportJob:
    """One export: which part of which capture goes where and how, and who wants to know how far it is."""

    capture: Capture
    out: Path
    selection: ExportSelection = field(default_factory=ExportSelection)
    options: ExportOptions = field(default_factory=ExportOptions)
    progress: Progress = unwatched
    is_cancelled: IsCancelled = never

    def check_cancelled(self) -> None:
        """Raise Cancelled when the person who started the export has changed their mind."""
        check_cancelled(self.is_cancelled, tr("the export was cancelled"))

    def counted(self, text: str, share: float = 1.0) -> Callable[[int], None]:
        """What to call with the number of events that are done, again and again; they are ``share`` of all the work.

        The function raises Cancelled.
        """
        total = max(1, count_events(self.capture, self.selection))
        done = 0

        def add(events: int) -> None:
            nonlocal done
            done += events
            self.check_cancelled()
            self.progress(share * min(1.0, done / total), text)

        return add


@dataclass(frozen=True)
class SizeModel:
    """About how many bytes an event takes, what each attribute and each byte of text adds, and what packing leaves."""

    per_event: float = 0.0
    per_attribute: float = 0.0
    per_text_byte: float = 0.0
    packed_ratio: float = 0.1


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
    def size_model(self) -> SizeModel:
        """How large events become, for the preview."""
        ...

    def export(self, job: ExportJob) -> Path:
        """Write the part into ``job.out`` (replacing it only when complete) and return what was written.

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
    size_model: SizeModel = SizeModel()

    @property
    def title(self) -> str:
        return tr("{name} (needs {module})", name=self.name, module=self.module)

    @property
    def suffixes(self) -> tuple[str, ...]:
        return (f".{self.name}",)

    def export(self, job: ExportJob) -> Path:
        raise ExportError(
            tr(
                "{out}: this format needs {module}: pip install 'warpline[gui]'",
                out=job.out,
                module=self.module,
            )
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
            ExportJob(
                capture,
                path,
                selection or ExportSelection(),
                options or ExportOptions(),
                progress or unwatched,
                cancelled or never,
            )
        )
    except OSError as error:
        raise ExportError(
            tr("{out}: cannot be written: {reason}", out=path, reason=error.strerror or error)
        ) from error
