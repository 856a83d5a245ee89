"""The interface of an importer, which converts files of one format into events of a capture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from warpline.interchange.framework.collectives import Collectives
from warpline.model.progress import IsCancelled, Progress

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

CERTAIN = 1.0
LIKELY = 0.7
POSSIBLE = 0.3
NO = 0.0
"""Confidences that `Importer.recognise` returns. A specific format must exceed a general one that also fits."""


@dataclass(frozen=True)
class ImportOptions:
    """Where a file belongs in the capture. An importer passes these to every track, process and device it adds.

    ``prefix`` starts every track URI (empty, or ``rank/3/``). ``clock`` is the builder's clock for this file: times
    are stored as recorded, and aligning files only moves their clocks.
    """

    prefix: str = ""
    rank: int | None = None
    clock: int = 0

    @property
    def group(self) -> str | None:
        """URI of the track above all tracks of the file; None at the top level."""
        return self.prefix.rstrip("/") or None


_NO_STEPS: Mapping[int, tuple[int, int]] = MappingProxyType({})
_NO_COLLECTIVES: Collectives = MappingProxyType({})


@dataclass(frozen=True, kw_only=True)
class ImportSummary:
    """What the framework needs to align a converted file with others. Times are in the file's own clock.

    ``start_ns`` and ``stop_ns`` bound the events (None without events). A recorded time + ``utc_offset_ns`` is
    nanoseconds since the epoch (None if unknown). ``steps`` maps the number of a training step to its start and stop,
    ``collectives`` the name of a collective to its end times (`framework.collectives`).
    """

    events: int = 0
    start_ns: int | None = None
    stop_ns: int | None = None
    utc_offset_ns: int | None = None
    steps: Mapping[int, tuple[int, int]] = field(default_factory=lambda: _NO_STEPS)
    collectives: Collectives = field(default_factory=lambda: _NO_COLLECTIVES)


@runtime_checkable
class Importer(Protocol):
    """One format. Each module named ``*_importer`` has an instance called ``importer`` (`framework.registry`).

    A number ``position`` is optional: it orders importers in lists; those without one come last.
    """

    @property
    def name(self) -> str:
        """The value for ``warpline import --format``: one lower-case word."""
        ...

    @property
    def title(self) -> str:
        """The name in the interface (``PyTorch profiler (Kineto) trace``)."""
        ...

    @property
    def patterns(self) -> tuple[str, ...]:
        """File name patterns for file dialogs (``*.json``). Recognition does not use them."""
        ...

    def recognise(self, head: bytes, path: Path) -> float:
        """The confidence, 0-1, that the file has this format. Must not raise, whatever the content.

        ``head`` is the beginning of the content (up to `detection.HEAD_BYTES`), unpacked from gzip or zip. ``path`` is
        for formats that must read more, such as databases.
        """
        ...

    def convert(
        self,
        path: Path,
        builder: CaptureBuilder,
        options: ImportOptions,
        progress: Progress,
        cancelled: IsCancelled,
    ) -> ImportSummary:
        """Add the whole file to the builder: events, links, counters, processes, and what was skipped and why.

        Calls ``cancelled`` regularly (`warpline.model.progress.check_cancelled`). The caller finishes the builder.

        Raises ImportFormatError when the file is unreadable, Cancelled.
        """
        ...
