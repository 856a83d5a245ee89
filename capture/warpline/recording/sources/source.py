"""Defines a source: what it records, and how it is selected, tried, collected and translated.

Each folder beside this module is one source, with an instance of `RecordingSource` called ``source`` in its module
``source``; another distribution registers such an instance as an entry point of the group ``warpline.sources``. The
instance is created whenever Warpline lists its sources, so heavy imports (numpy, drivers) belong inside its methods.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from warpline.i18n import english
from warpline.recording.agent.contribution import Contribution
from warpline.recording.unavailable import Unavailable

if TYPE_CHECKING:
    from pathlib import Path

    from warpline.recording.agent.trials import PythonTrial
    from warpline.recording.session import Session
    from warpline.recording.sources.collector import Collector, Watched
    from warpline.recording.spool.reader import SpoolFile
    from warpline.recording.spool.spool_to_tracks import Translation
    from warpline.storage import CaptureBuilder

START_REMEDY = english("start the program with: warpline record")


@dataclass(frozen=True)
class Choice:
    """A choice of ``--trace`` and of New Capture. Several sources may share one.

    ``control_bit`` is its bit in the control page, 0 if nothing inside the program checks it (docs/spool.md).
    """

    name: str
    title: str
    text: str
    is_default: bool = False
    control_bit: int = 0


class ScriptedProgram(Protocol):
    """A running program that executes scripts of ours. Both raise Unavailable."""

    def execute(self, script: Path) -> None:
        """Have its main thread execute a file when it next can; returns at once."""

    def withdraw(self) -> None:
        """Have a script that was not executed yet stay so."""


class RecordingSource(ABC):
    """One source. Subclasses override what they need."""

    name: str
    """Its name in captures and ``warpline doctor``, and the producer of its spool file."""
    choice: Choice
    title: str
    """What it records, in a line, for ``warpline doctor``."""
    short_title: str = ""
    """What it records, in two or three words, for the window; its name is shown if empty."""
    position: int = 1000
    """Its place in lists. Sources are opened, drained and translated in this order; one that builds on another comes
    after it. Equal positions are ordered by name."""
    provides: frozenset[str] = frozenset()
    """Facts it records exactly (`warpline.recording.sources.facts`), so that later sources need not estimate them."""
    without: str = ""
    """What a capture lacks or has instead without this source, for the summary of a recording."""
    capture_range: str = ""
    """The form of ``--capture-range`` that needs this source: a word, or ``word:NAME``."""
    needs_start: str = ""
    """Why it cannot record a running program; empty if it can."""
    record_types: frozenset[int] = frozenset()
    """Types of its records in spool files (docs/spool.md)."""
    timed_records: tuple[tuple[int, int], ...] = ()
    """Types of its records with a CLOCK_MONOTONIC ns (u64), and its offset. The last such time ends a recording whose
    recorder was killed."""

    passing_records: tuple[tuple[int, int, int], ...] = ()
    """Types of records that a ring may drop, and the offsets of their start and end (u64, CLOCK_MONOTONIC ns). Records
    before the ring are dropped, those that cross its start are cut. Records that stay valid (names, stacks, processes)
    do not belong here."""
    passing_in_own_clock: frozenset[int] = frozenset()
    """Types that a ring may drop although they have no time or one of another clock. If the session ``is_cut``, the
    source itself drops or cuts what is before ``Translation.start_ns``."""
    lasting_records: tuple[tuple[int, int, int, int], ...] = ()
    """Passing types whose records stay valid until the next one of their lane: the offset of their time (u64), and the
    offsets of the first and behind the last byte of the lane's key. A ring keeps the last record of each thread and
    lane, however old."""

    life_records: tuple[tuple[int, int], ...] = ()
    """Types of records about a thread or process, and the offset of its id (u32). A ring keeps them while it exists,
    and for the ring's length after that."""

    def is_default_for(self, command: Sequence[str]) -> bool:  # noqa: ARG002
        """Whether it records a command unless ``--trace`` says otherwise."""
        return self.choice.is_default

    @abstractmethod
    def probe(self) -> str:
        """Try the source briefly; returns a remark, or nothing.

        Raises Unavailable.
        """

    def trial(self) -> PythonTrial | None:
        """The trial inside Python after a successful `probe`; None if it needs none."""
        return None

    def contribute(self, session: Session, inherited: Mapping[str, str]) -> Contribution:  # noqa: ARG002
        """Additions to the program's environment. Called for a selected source before the program starts.

        Raises Unavailable.
        """
        return Contribution()

    def joins(self, pid: int) -> str:  # noqa: ARG002  # for sources that override it
        """Check a running process; returns a remark on what would be recorded of it, or nothing.

        Raises Unavailable when it cannot be recorded.
        """
        if self.needs_start:
            raise Unavailable(self.needs_start, START_REMEDY)
        return ""

    def joining(self, inherited: Mapping[str, str]) -> Mapping[str, str] | None:  # noqa: ARG002  # for sources that override it
        """Environment variables for a running program that loads the agent itself (`warpline.Profiler`); None if the
        source does not record inside the program. ``inherited`` are those of the sources before it.
        """
        return None

    def scripted(self, pid: int) -> ScriptedProgram | None:  # noqa: ARG002
        """A running program that can execute scripts; None if the source knows no such programs.

        Raises Unavailable when this one cannot.
        """
        return None

    def open(self, watched: Watched) -> Collector | None:  # noqa: ARG002
        """Create its collector for the recorder; None for a source that records only inside the program.

        Raises Unavailable, and OSError when a spool file cannot be made.
        """
        return None

    def module_paths(self, spools: Sequence[SpoolFile]) -> Iterable[str]:  # noqa: ARG002
        """Paths of programs and libraries that `translate` reads to name functions."""
        return ()

    def prepare(self, translation: Translation, spools: Sequence[SpoolFile]) -> None:  # noqa: B027
        """Called before any source translates, to pass values to others with `Translation.give`."""

    def translate(  # noqa: B027
        self, translation: Translation, spools: Sequence[SpoolFile], builder: CaptureBuilder
    ) -> None:
        """Add its records to the capture. Called once with all spool files, also for recordings without it.

        Its records may be in any of the files. Invalid records are counted with ``builder.add_skipped``, not raised.
        """
