"""What an importer is: one module that turns the files of one format into events of a capture."""

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
"""Confidences for :meth:`Importer.recognise`; a specific format outbids a general one that also fits."""


@dataclass(frozen=True)
class ImportOptions:
    """Where in the capture a file belongs. An importer passes these on to every track, process and device it adds.

    ``prefix`` goes before every track URI (empty, or ``rank/3/``); ``clock`` is the builder's clock of this file:
    times are written as recorded, and aligning several files only moves their clocks.
    """

    prefix: str = ""
    rank: int | None = None
    clock: int = 0

    @property
    def group(self) -> str | None:
        """URI of the track that holds all tracks of the file; None where they stand at the top."""
        return self.prefix.rstrip("/") or None


_NO_STEPS: Mapping[int, tuple[int, int]] = MappingProxyType({})
_NO_COLLECTIVES: Collectives = MappingProxyType({})


@dataclass(frozen=True)
class ImportSummary:
    """What the framework needs to know of a converted file to align it with others.

    ``start_ns`` and ``stop_ns`` bound the events in the file's own clock (None without events);
    ``utc_offset_ns`` added to a recorded time gives nanoseconds since the epoch, None when the file does not tell;
    ``steps`` maps the number of a training step to its start and stop, in the file's own clock;
    ``collectives`` the name of a collective to the times at which it ended (`framework.collectives`).
    """

    events: int = 0
    start_ns: int | None = None
    stop_ns: int | None = None
    utc_offset_ns: int | None = None
    steps: Mapping[int, tuple[int, int]] = field(default_factory=lambda: _NO_STEPS)
    collectives: Collectives = field(default_factory=lambda: _NO_COLLECTIVES)


@runtime_checkable
class Importer(Protocol):
    """One format. A module whose name ends in ``_importer`` has one instance as ``importer`` (`framework.registry`).

    It may have a number ``position``: where it stands among others in lists. Those without one come last.
    """

    @property
    def name(self) -> str:
        """What ``warpline import --format`` takes: one lower-case word."""
        ...

    @property
    def title(self) -> str:
        """What a person reads (``PyTorch profiler (Kineto) trace``)."""
        ...

    @property
    def patterns(self) -> tuple[str, ...]:
        """File name patterns for file dialogs (``*.json``). Recognition never depends on them."""
        ...

    def recognise(self, head: bytes, path: Path) -> float:
        """How sure it is, 0-1, that the file is of this format.

        ``head`` is the beginning of the content (up to `detection.HEAD_BYTES`), already
        taken out of gzip or zip; ``path`` is there for formats that must look further (a database). Must not raise
        for any content.
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
        """Add everything in the file to the builder: events, links, counters, processes, what was skipped and why.

        ``cancelled`` is asked regularly (`warpline.model.progress.check_cancelled`). The caller finishes the builder.

        Raises ImportFormatError when the file cannot be read at all, Cancelled.
        """
        ...
