"""Which sources there are: the packages beside this module, and those that other distributions register.

The recorder, the doctor, the finaliser, ``--trace`` and New Capture ask here and name no source themselves.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Sequence
from functools import lru_cache

from warpline.i18n import english
from warpline.plugins import Plugin, checked, load_plugins
from warpline.recording import sources
from warpline.recording.agent.contribution import Contribution
from warpline.recording.sources.source import Choice, RecordingSource
from warpline.recording.unavailable import Unavailable

ENTRY_POINT_GROUP = "warpline.sources"


class BrokenSource(RecordingSource):
    """Stands for a source that cannot be loaded, and says why when it is asked for."""

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
    """Every source, in the order in which they are shown, opened and translated."""
    found = {source.name: source for source in _packages()}
    for plugin in load_plugins(ENTRY_POINT_GROUP, RecordingSource, _check_fields):
        source = plugin.value or BrokenSource(plugin)
        found.setdefault(source.name, source)
    return tuple(sorted(found.values(), key=lambda source: (source.position, source.name)))


def source_title(name: str) -> str:
    """What a source of a capture records, in English, by the name it has there; that of an importer stays."""
    if name == "agent":
        return english("Recorder inside the program")
    return next((source.short_title for source in recording_sources() if source.name == name), "") or name


def choices() -> tuple[Choice, ...]:
    """What ``--trace`` may name, in order."""
    found: dict[str, Choice] = {}
    for source in recording_sources():
        found.setdefault(source.choice.name, source.choice)
    return tuple(found.values())


def trace_names() -> tuple[str, ...]:
    """Names of `choices`."""
    return tuple(choice.name for choice in choices())


def default_trace() -> tuple[str, ...]:
    """What is recorded unless something else is asked for."""
    return tuple(choice.name for choice in choices() if choice.is_default)


def asked_sources(trace: Iterable[str]) -> Sequence[RecordingSource]:
    """The sources that serve some words of ``--trace``, in order."""
    asked = frozenset(trace)
    return [source for source in recording_sources() if source.choice.name in asked]


def control_mask(trace: Iterable[str]) -> int:
    """What is asked for, as the control page has it."""
    mask = 0
    for source in asked_sources(trace):
        mask |= source.choice.control_bit
    return mask


def passing_types() -> frozenset[int]:
    """Types of records that a recording with a ring may let go."""
    sources = recording_sources()
    timed = (entry[0] for source in sources for entry in source.passing_records)
    return frozenset(timed).union(*(source.passing_in_own_clock for source in sources))


def lasting_types() -> dict[int, tuple[int, int, int]]:
    """Of these, types of which the last record of each lane stays: where its time stands, and its lane."""
    return {entry[0]: entry[1:] for source in recording_sources() for entry in source.lasting_records}


def life_types() -> dict[int, int]:
    """Types of records that a ring keeps while who they tell of is there: at which byte the id of that stands."""
    return dict(entry for source in recording_sources() for entry in source.life_records)


def capture_ranges() -> tuple[str, ...]:
    """What ``--capture-range`` may be: words, and ``word:NAME`` for one that takes a name."""
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
    found = []
    for module in pkgutil.iter_modules(sources.__path__):
        if module.ispkg:
            source = importlib.import_module(f"{sources.__name__}.{module.name}.source").source
            _check_fields(checked(source, RecordingSource))
            found.append(source)
    return found


def _check_fields(source: RecordingSource) -> None:
    for name, kind in (("name", str), ("title", str), ("choice", Choice), ("position", int)):
        if not isinstance(getattr(source, name, None), kind):
            raise TypeError(english("it has no {name}", name=name))
