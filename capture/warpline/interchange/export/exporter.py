"""The interface of an exporter, and the job it gets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from warpline.i18n import tr
from warpline.interchange.export.selection import ExportSelection, count_events
from warpline.model.notes import Note
from warpline.model.progress import IsCancelled, Progress, check_cancelled, never, unwatched
from warpline.storage import Capture
from warpline.storage.columns.derived_events import ShownRow


@dataclass(frozen=True)
class ExportOptions:
    """``compress`` writes the compressed archive form of a capture, if the format has one.

    ``anonymize`` puts pseudonyms in place of what names people, machines and projects (`export.pseudonyms`), and leaves
    the notes and derived rows out. ``notes`` and ``rows`` are added to pages and pictures, and kept beside captures.
    ``most_boxes`` limits the boxes of a page.
    """

    compress: bool = False
    anonymize: bool = False
    notes: tuple[Note, ...] = ()
    rows: tuple[ShownRow, ...] = ()
    most_boxes: int = 60_000


@dataclass(frozen=True, kw_only=True)
class ExportJob:
    """One export: the part of a capture, the output, options and progress."""

    capture: Capture
    out: Path
    selection: ExportSelection = field(default_factory=ExportSelection)
    options: ExportOptions = field(default_factory=ExportOptions)
    progress: Progress = unwatched
    is_cancelled: IsCancelled = never

    @property
    def notes(self) -> tuple[Note, ...]:
        """The notes on the part that is exported."""
        start, stop = self.selection.interval(self.capture)
        return tuple(note for note in self.options.notes if note.overlaps(start, stop))

    def check_cancelled(self) -> None:
        """Raise Cancelled when the export was cancelled."""
        check_cancelled(self.is_cancelled, tr("the export was cancelled"))

    def counted(self, text: str, share: float = 1.0) -> Callable[[int], None]:
        """A function to call with the number of events done each time; together they are ``share`` of the work.

        The function reports progress and raises Cancelled.
        """
        total = max(1, count_events(self.capture, self.selection))
        done = 0

        def add(events: int) -> None:
            nonlocal done
            done += events
            self.check_cancelled()
            self.progress(share * min(1.0, done / total), text)

        return add


@dataclass(frozen=True, kw_only=True)
class SizeModel:
    """Estimated bytes per event, attribute, byte of text and counter sample.

    Compression scales them by ``packed_ratio``, but not ``per_file``.
    """

    per_event: float = 0.0
    per_attribute: float = 0.0
    per_text_byte: float = 0.0
    packed_ratio: float = 0.1
    per_file: float = 0.0
    per_sample: float = 24.0
    """0 if the format has no counters."""


@runtime_checkable
class Exporter(Protocol):
    """One format. Each module named ``*_exporter`` has an instance called ``exporter`` (`export.registry`).

    A number ``position`` is optional: it orders exporters in lists; those without one come last.
    """

    @property
    def name(self) -> str:
        """One lower-case word."""
        ...

    @property
    def title(self) -> str:
        """The name in file dialogs."""
        ...

    @property
    def suffixes(self) -> tuple[str, ...]:
        """File name endings of this format (``.json``, ``.json.gz``)."""
        ...

    @property
    def size_model(self) -> SizeModel:
        """Estimated sizes, for the preview."""
        ...

    def export(self, job: ExportJob) -> Path:
        """Write the part to ``job.out``, replacing it only when complete, and return the path.

        Raises ExportError, StorageError, OSError, Cancelled.
        """
        ...


@runtime_checkable
class HasFixedPart(Protocol):
    """An exporter whose files have a part that does not grow with the number of events."""

    def fixed_bytes(self, capture: Capture, selection: ExportSelection) -> int:
        """Estimated bytes of that part."""
        ...
