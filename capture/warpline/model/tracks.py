"""Tracks: the rows a person sees, each named by a URI that is unique in its capture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from signal import Signals
from typing import TypeAlias

AttributeValue: TypeAlias = "str | int | float | bool"

NO_ATTRIBUTES: Mapping[str, AttributeValue] = {}


class Packing(StrEnum):
    """How overlapping events of a track are distributed to lanes."""

    NEST = "nest"
    """One lane per nesting depth; events that overlap without nesting go to the lowest free lane."""
    PACK = "pack"
    """The lowest free lane (kernels of a stream, asynchronous ranges)."""


@dataclass(frozen=True, kw_only=True)
class Track:
    """A row of the timeline.

    ``uri`` is ``[rank/R/]`` followed by a path such as ``cpu/3``, ``process/71.2/thread/74.1/state`` or
    ``gpu/0/process/71.2/context/1/stream/7``; ``parent`` is the index of the track above it or -1.
    Process and thread are indexes into the capture's tables of processes and threads, device, context and stream
    the recorder's own numbers; None where a track has none. ``role`` says what a track holds, so that views need
    not parse URIs: ``cores``, ``core``, ``process``, ``thread``, ``state``, ``thread_cpu``, ``api``, ``ranges``,
    ``operators``, ``phases``, ``python``, ``osrt``, ``samples``, ``cpu_samples``, ``memory``, ``gpu``, ``context``,
    ``streams``, ``stream``, ``sync``, ``overhead``, ``rank``, ``counter``, ``group``, ``other`` …
    ``attributes`` are what else there is to know about it, by name; few tracks have any.
    """

    index: int
    uri: str
    title: str
    role: str = "other"
    parent: int = -1
    process: int | None = None
    thread: int | None = None
    device: int | None = None
    context: int | None = None
    stream: int | None = None
    rank: int | None = None
    clock: int = 0
    sort_key: int = 0
    attributes: Mapping[str, AttributeValue] = field(default_factory=lambda: NO_ATTRIBUTES, hash=False)


@dataclass(frozen=True, kw_only=True)
class Process:
    """A process of the recorded program. ``start_ns`` and ``stop_ns`` are capture times, None when unknown."""

    pid: int
    name: str = ""
    command: str = ""
    parent_pid: int | None = None
    start_ns: int | None = None
    stop_ns: int | None = None
    exit_status: int | None = None
    rank: int | None = None


@dataclass(frozen=True)
class Thread:
    """A thread; ``process`` is an index into the capture's processes."""

    process: int
    tid: int
    name: str = ""
    start_ns: int | None = None
    stop_ns: int | None = None

    @property
    def label(self) -> str:
        """``loader (490)``; only the name of a thread without a number, "" of one without a name."""
        return f"{self.name} ({self.tid})" if self.name and self.tid >= 0 else self.name


@dataclass(frozen=True)
class Device:
    """A GPU or another accelerator. ``properties`` are the recorder's own (SM count, memory bytes …)."""

    index: int
    name: str
    kind: str = "gpu"
    rank: int | None = None
    properties: tuple[tuple[str, str | int | float], ...] = ()


@dataclass(frozen=True)
class Clock:
    """A time base. Capture time = recorded time − ``offset_ns``."""

    name: str
    offset_ns: int = 0
    method: str = ""
    residual_ns: int | None = None


@dataclass(frozen=True)
class Source:
    """A collector, agent or importer. ``reason`` says why it is disabled or only partly enabled."""

    name: str
    enabled: bool
    reason: str = ""
    lost: int = 0
    remedy: str = ""


_STOPPED = (Signals.SIGINT, Signals.SIGTERM)


@dataclass(frozen=True)
class ProgramEnd:
    """How the recorded program ended: exit status as a shell reports it, signal, and last lines of standard error.

    A field is None when it is unknown.
    """

    exit_status: int | None = None
    exit_signal: int | None = None
    stderr_tail: tuple[str, ...] | None = None

    @property
    def signal(self) -> int | None:
        """The signal that ended it, None without one: for a program run in a shell, status 128 + n stands for n."""
        status = self.exit_status or 0
        return status - 128 if self.exit_signal is None and signal_name(status - 128) else self.exit_signal

    @property
    def failure(self) -> int:
        """The exit status of a program that failed; 0 of one that did not, that somebody stopped, or that goes on."""
        if self.signal in _STOPPED:
            return 0
        return self.exit_status or (128 + self.signal if self.signal else 0)

    @property
    def last_words(self) -> str:
        """The last line of its standard error, empty where none is known."""
        return next((line.strip() for line in reversed(self.stderr_tail or ()) if line.strip()), "")


def signal_name(number: int) -> str:
    """``SIGKILL`` for 9, empty for a number that is no signal here."""
    try:
        return Signals(number).name
    except ValueError:
        return ""


@dataclass(frozen=True)
class Skipped:
    """Items that an importer left out: their number and the reason."""

    what: str
    count: int
    reason: str
