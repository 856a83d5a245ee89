"""What an exporter is, and what it is given: a part of a capture, where it goes and how."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from warpline.i18n import tr
from warpline.interchange.export.selection import ExportSelection, count_events
from warpline.model.progress import IsCancelled, Progress, check_cancelled, never, unwatched
from warpline.storage import Capture


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
    """About how many bytes an event takes, what each attribute and each byte of text adds, and what packing leaves.

    ``per_file`` is there in every file, packed or not.
    """

    per_event: float = 0.0
    per_attribute: float = 0.0
    per_text_byte: float = 0.0
    packed_ratio: float = 0.1
    per_file: float = 0.0
    per_sample: float = 24.0
    """Of a counter; 0 where the format holds none."""


@runtime_checkable
class Exporter(Protocol):
    """One format. A module whose name ends in ``_exporter`` has one instance as ``exporter`` (`export.registry`).

    It may have a number ``position``: where it stands among others in lists. Those without one come last.
    """

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
