"""What a source does in the recorder while the program runs, and what collectors tell each other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from warpline.model.tracks import Source
from warpline.recording.session import RecordingOptions
from warpline.recording.spool.writer import SpoolWriter


@dataclass(kw_only=True)
class Watched:
    """The program that is recorded, for collectors: where to write, whom to follow.

    ``provided`` are the facts that collectors opened so far record. Collectors that see processes and threads of the
    program appear say so; those that want to know subscribe when they are made.
    """

    directory: Path
    root_pid: int
    starts_paused: bool = False
    is_running: bool = False
    """Whether the program ran before it was watched: its threads and children are to be found first."""
    options: RecordingOptions = field(default_factory=lambda: RecordingOptions(trace=()))
    """What was asked for."""
    provided: set[str] = field(default_factory=set)
    on_process: list[Callable[[int], None]] = field(default_factory=list)
    on_threads: list[Callable[[Sequence[int]], None]] = field(default_factory=list)

    def writer(self, producer: str) -> SpoolWriter:
        """A spool file of its own for one collector.

        Raises OSError.
        """
        return SpoolWriter(self.directory / f"{producer}.spool", producer)

    def processes_appeared(self, pids: Iterable[int]) -> None:
        """These belong to the program, or run another one now."""
        for pid in pids:
            for tell in self.on_process:
                tell(pid)

    def threads_appeared(self, tids: Sequence[int]) -> None:
        """These belong to the program."""
        for tell in self.on_threads:
            tell(tids)


class Collector(ABC):
    """A source at work. What a subclass does not need it leaves as it is here; all calls come from one thread."""

    events: int = 0
    """How many records it has taken, for the status."""

    @property
    def descriptors(self) -> Sequence[int]:
        """What to poll for (edge-triggered); `drain` follows."""
        return ()

    @property
    def period_ns(self) -> int | None:
        """How often `tick` wants to be called, None for never; it is called more often, too."""
        return None

    def begin(self, *, paused: bool) -> None:  # noqa: B027
        """The program has just begun."""

    def tick(self) -> None:  # noqa: B027
        """Take what is due."""

    def hold(self) -> None:  # noqa: B027
        """Before any collector drains: set aside what must not be newer than what the others are about to take."""

    def drain(self) -> None:  # noqa: B027
        """Take everything that has come."""

    def pause(self) -> None:  # noqa: B027
        """Record nothing until `resume`. `drain` follows."""

    def resume(self) -> None:  # noqa: B027
        """Record again; also after a start in pause."""

    def stop(self) -> None:  # noqa: B027
        """The recording is over and the program is not: record nothing more. `drain` follows."""

    def close(self) -> None:  # noqa: B027
        """Take the rest and let go of everything, the spool file included."""

    @abstractmethod
    def report(self) -> Source:
        """How it is doing, with what it lost; also after `close`."""
