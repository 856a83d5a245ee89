"""The registry of sources: the packages beside this module and those that other distributions register.

The recorder, the doctor, the finaliser, ``--trace`` and New Capture use it and name no source themselves.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from warpline.i18n import english, tr
from warpline.model.errors import UsageError
from warpline.plugins import Plugin, checked, load_plugins
from warpline.recording import sources
from warpline.recording.agent.contribution import Contribution
from warpline.recording.sources.source import Choice, RecordingSource, ScriptedProgram
from warpline.recording.unavailable import Unavailable

if TYPE_CHECKING:
    from warpline.recording.spool.reader import SpoolFile

ENTRY_POINT_GROUP = "warpline.sources"


class BrokenSource(RecordingSource):
    """Stands for a source that cannot be loaded, so that its reason is shown."""

    def __init__(self, plugin: Plugin[RecordingSource]) -> None:
        self.name = self.title = plugin.name
        self.choice = Choice(plugin.name, plugin.name, plugin.problem)
        self._plugin = plugin

    def probe(self) -> str:
        raise self._unavailable()

    def contribute(self, *_session_and_inherited: object) -> Contribution:
        raise self._unavailable()

    def _unavailable(self) -> Unavailable:
        return Unavailable(self._plugin.problem, self._plugin.remedy)


@lru_cache(maxsize=1)
def recording_sources() -> tuple[RecordingSource, ...]:
    """All sources, in the order in which they are shown, opened and translated."""
    by_name = {source.name: source for source in _packages()}
    for plugin in load_plugins(ENTRY_POINT_GROUP, RecordingSource, _check_fields):
        source = plugin.value or BrokenSource(plugin)
        by_name.setdefault(source.name, source)
    return tuple(sorted(by_name.values(), key=lambda source: (source.position, source.name)))


def source_title(name: str) -> str:
    """The short title of a source, by its name in captures; the name itself if it is not a source here."""
    if name == "agent":
        return english("Recorder inside the program")
    return next((source.short_title for source in recording_sources() if source.name == name), "") or name


def choices() -> tuple[Choice, ...]:
    """The choices of ``--trace``, in order."""
    by_name: dict[str, Choice] = {}
    for source in recording_sources():
        by_name.setdefault(source.choice.name, source.choice)
    return tuple(by_name.values())


def trace_names() -> tuple[str, ...]:
    """Names of `choices`."""
    return tuple(choice.name for choice in choices())


def default_trace() -> tuple[str, ...]:
    """The names in ``--trace`` by default."""
    return tuple(choice.name for choice in choices() if choice.is_default)


def default_trace_of(command: Sequence[str]) -> tuple[str, ...]:
    """The names in ``--trace`` by default for a command."""
    asked = {source.choice.name for source in recording_sources() if source.is_default_for(command)}
    return tuple(name for name in trace_names() if name in asked)


def asked_sources(trace: Iterable[str]) -> Sequence[RecordingSource]:
    """The sources that some names of ``--trace`` select, in order."""
    asked = frozenset(trace)
    return [source for source in recording_sources() if source.choice.name in asked]


def parse_trace(text: str) -> tuple[str, ...]:
    """The names in a comma-separated list. Raises UsageError for an empty one, and for a name that is no choice."""
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not names or not set(names) <= set(trace_names()):
        known = ",".join(trace_names())
        raise UsageError(tr("not a list of sources: {text!r} (choose from {known})", text=text, known=known))
    return names


def control_mask(trace: Iterable[str]) -> int:
    """The control page's bits of the selected sources."""
    mask = 0
    for source in asked_sources(trace):
        mask |= source.choice.control_bit
    return mask


def scripted_program(pid: int) -> ScriptedProgram:
    """A running program that executes scripts. Raises Unavailable when it does not."""
    for source in recording_sources():
        program = source.scripted(pid)
        if program is not None:
            return program
    raise Unavailable(english("no source here can load the agent into a running program"))


def passing_types() -> frozenset[int]:
    """Record types that a ring may drop."""
    sources = recording_sources()
    timed = (entry[0] for source in sources for entry in source.passing_records)
    return frozenset(timed).union(*(source.passing_in_own_clock for source in sources))


def passing_places() -> dict[int, tuple[int, int]]:
    """Offsets of start and end of the records that a ring may drop or cut."""
    return {entry[0]: entry[1:] for source in recording_sources() for entry in source.passing_records}


def lasting_types() -> dict[int, tuple[int, int, int]]:
    """Passing types of which a ring keeps the last record of each lane: offsets of its time and of the lane's key."""
    return {entry[0]: entry[1:] for source in recording_sources() for entry in source.lasting_records}


def life_types() -> dict[int, int]:
    """Record types that a ring keeps while their thread or process exists: the offset of its id."""
    return dict(entry for source in recording_sources() for entry in source.life_records)


def module_paths(spools: Sequence[SpoolFile]) -> set[str]:
    """Paths of programs and libraries that sources read to name functions."""
    return {path for source in recording_sources() for path in source.module_paths(spools)}


def capture_ranges() -> tuple[str, ...]:
    """The forms of ``--capture-range``: words, and ``word:NAME`` for one that takes a name."""
    return ("none", *(source.capture_range for source in recording_sources() if source.capture_range))


def source_of_range(text: str) -> RecordingSource | None:
    """The source that a ``--capture-range`` needs; None for ``none``.

    Raises ValueError when there is no such range.
    """
    if text == "none":
        return None
    word, colon, name = text.partition(":")
    for source in recording_sources():
        form, takes_name, _ = source.capture_range.partition(":")
        if form and form == word and takes_name == colon and bool(name) == bool(takes_name):
            return source
    raise ValueError(f"not a capture range: {text!r}")


def _packages() -> list[RecordingSource]:
    packaged = []
    for module in pkgutil.iter_modules(sources.__path__):
        if module.ispkg:
            source = importlib.import_module(f"{sources.__name__}.{module.name}.source").source
            _check_fields(checked(source, RecordingSource))
            packaged.append(source)
    return packaged


def _check_fields(source: RecordingSource) -> None:
    for name, kind in (("name", str), ("title", str), ("choice", Choice), ("position", int)):
        if not isinstance(getattr(source, name, None), kind):
            raise TypeError(english("it has no {name}", name=name))
