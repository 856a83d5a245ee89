"""Collectors: what sources do in the recorder while the program runs."""

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
    """The recorded program, for collectors: where to write and which process to follow.

    ``provided`` are the facts that collectors opened so far record. Collectors announce new processes and threads of
    the program to those that have subscribed.
    """

    directory: Path
    root_pid: int
    starts_paused: bool = False
    is_running: bool = False
    """Whether the program was already running, so that its threads and children must be listed first."""
    options: RecordingOptions = field(default_factory=lambda: RecordingOptions(trace=()))
    """The options of the recording."""
    provided: set[str] = field(default_factory=set)
    on_process: list[Callable[[int], None]] = field(default_factory=list)
    on_threads: list[Callable[[Sequence[int]], None]] = field(default_factory=list)

    def writer(self, producer: str) -> SpoolWriter:
        """Create the spool file of one collector.

        Raises OSError.
        """
        return SpoolWriter(self.directory / f"{producer}.spool", producer)

    def processes_appeared(self, pids: Iterable[int]) -> None:
        """Announce processes that joined the program or executed another one."""
        for pid in pids:
            for listener in self.on_process:
                listener(pid)

    def threads_appeared(self, tids: Sequence[int]) -> None:
        """Announce new threads of the program."""
        for listener in self.on_threads:
            listener(tids)


class Collector(ABC):
    """Collects the records of a source. Subclasses override what they need; all calls come from one thread."""

    events: int = 0
    """Number of records collected, for the status."""

    @property
    def descriptors(self) -> Sequence[int]:
        """Descriptors to poll (edge-triggered); `drain` follows."""
        return ()

    @property
    def period_ns(self) -> int | None:
        """The longest time between calls of `tick`; None if it is not needed."""
        return None

    def begin(self, *, paused: bool) -> None:  # noqa: B027
        """Start collecting: the program has just started."""

    def tick(self) -> None:  # noqa: B027
        """Take the samples that are due."""

    def hold(self) -> None:  # noqa: B027
        """Called before any collector drains: set aside what must not be newer than the others' records."""

    def drain(self) -> None:  # noqa: B027
        """Collect all pending records."""

    def pause(self) -> None:  # noqa: B027
        """Stop recording until `resume`. `drain` follows."""

    def resume(self) -> None:  # noqa: B027
        """Record again, also after a paused start."""

    def stop(self) -> None:  # noqa: B027
        """Stop recording while the program continues. `drain` follows."""

    def close(self) -> None:  # noqa: B027
        """Collect the rest and close everything, including the spool file."""

    @abstractmethod
    def report(self) -> Source:
        """The state of the source and its losses; also after `close`."""
