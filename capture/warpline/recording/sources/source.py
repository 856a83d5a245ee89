"""What a source is: what it records, how it is asked for, tried, collected and translated.

Each folder beside this module is one source, with an instance of `RecordingSource` called ``source`` in its module
``source``; another distribution registers such an instance as an entry point of the group ``warpline.sources``. The
instance is made whenever Warpline lists its sources, so what is heavy (numpy, drivers) is imported inside its methods.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warpline.recording.agent.contribution import Contribution

if TYPE_CHECKING:
    from warpline.recording.agent.trials import PythonTrial
    from warpline.recording.session import Session
    from warpline.recording.sources.collector import Collector, Watched
    from warpline.recording.spool.reader import SpoolFile
    from warpline.recording.spool.spool_to_tracks import Translation
    from warpline.storage import CaptureBuilder


@dataclass(frozen=True)
class Choice:
    """A word of ``--trace``, which is a line of New Capture as well. Several sources may serve one.

    ``control_bit`` is its bit in the control page, 0 when nothing inside the program asks for it (docs/spool.md).
    """

    name: str
    title: str
    text: str
    is_default: bool = False
    control_bit: int = 0


class RecordingSource(ABC):
    """One source. What a subclass does not need it leaves as it is here."""

    name: str
    """As in captures, in ``warpline doctor`` and as its spool file's producer."""
    choice: Choice
    title: str
    """What it records, in a line, for ``warpline doctor``."""
    short_title: str = ""
    """What it records, in two or three words, for the window; its name where empty."""
    position: int = 1000
    """Where it stands in lists; sources are opened, drained and translated in this order. One that builds on another
    stands after it. Equal positions are ordered by name."""
    provides: frozenset[str] = frozenset()
    """Facts it records exactly (`warpline.recording.sources.facts`): what stands after it need not estimate them."""
    without: str = ""
    """What a capture lacks or holds instead where this source is refused, for the line at the end of a recording."""
    capture_range: str = ""
    """The form of ``--capture-range`` that needs it: a word, or ``word:NAME``."""
    needs_start: str = ""
    """Why it cannot record a program that runs already; empty for one that can."""
    record_types: frozenset[int] = frozenset()
    """Types of the records of spool files that are its own (docs/spool.md)."""
    timed_records: tuple[tuple[int, int], ...] = ()
    """Of these, types whose records hold a CLOCK_MONOTONIC ns (u64), and at which byte: the last such time ends a
    recording whose recorder was killed."""

    passing_records: tuple[tuple[int, int, int], ...] = ()
    """Types whose records a recording with a ring may let go once they are older, and at which bytes start and end
    stand (u64, CLOCK_MONOTONIC ns): what is before the ring's beginning is left out, or begins there. Records that tell
    of what goes on (names, stacks, processes) are none of them."""
    passing_in_own_clock: frozenset[int] = frozenset()
    """Types that a ring may let go as well, whose times are none or of another clock: the source itself leaves out, or
    begins there, what is before ``Translation.start_ns`` where the session ``is_cut``."""
    lasting_records: tuple[tuple[int, int, int, int], ...] = ()
    """Passing types whose records tell what goes on from then, at which byte their time stands (u64), and from which
    byte to which what tells their lane: of each thread and lane the last record stays in a ring, however old."""

    life_records: tuple[tuple[int, int], ...] = ()
    """Types whose records tell of a thread, or a process, and at which byte its id stands (u32): in a ring they stay as
    long as it is there, and then as long as the ring is."""

    @abstractmethod
    def probe(self) -> str:
        """Try it for real, briefly; returns what is worth telling, or nothing.

        Raises Unavailable.
        """

    def trial(self) -> PythonTrial | None:
        """What it tries in a Python where `probe` found nothing against it; None for a source that needs none."""
        return None

    def contribute(self, session: Session, inherited: Mapping[str, str]) -> Contribution:  # noqa: ARG002
        """What the environment of the program gets. Called when the source is asked for, before the program runs.

        Raises Unavailable.
        """
        return Contribution()

    def joining(self) -> Mapping[str, str] | None:
        """Variables of the environment for a program that runs already and lets the agent in (`warpline.Profiler`);
        None for a source that does not record there.
        """
        return None

    def open(self, watched: Watched) -> Collector | None:  # noqa: ARG002
        """Begin to collect, in the recorder; None for a source that records inside the program only.

        Raises Unavailable, and OSError when a spool file cannot be made.
        """
        return None

    def prepare(self, translation: Translation, spools: Sequence[SpoolFile]) -> None:  # noqa: B027
        """Before any source translates: `Translation.give` what others build on."""

    def translate(  # noqa: B027
        self, translation: Translation, spools: Sequence[SpoolFile], builder: CaptureBuilder
    ) -> None:
        """Add what it recorded to the capture. Called once with all spool files, also of recordings without it.

        It looks for its record types, in whichever files they are. Records that make no sense are counted with
        ``builder.add_skipped``, not raised.
        """
