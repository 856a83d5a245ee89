"""Describes a Chrome JSON format: how events are grouped and turned into columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from warpline.interchange.trace_json.arguments import Arguments
from warpline.interchange.trace_json.piece_columns import (
    ASYNC,
    BORDERS,
    COUNTERS,
    FLOWS,
    GENERIC_EXTRACTORS,
    INSTANTS,
    Extractor,
    Group,
    Route,
    generic_route,
)


class Filler(NamedTuple):
    """Turns the scanned arguments of a group into columns.

    ``args_type`` names the arguments. ``fill`` adds columns to the group, and returns False when required arguments are
    missing. Without an ``args_type`` only names and times are used.
    """

    args_type: type[Any] | None = None
    fill: Callable[[Group, Arguments], bool] | None = None


_NO_FILLERS: Mapping[str, Filler] = MappingProxyType({})
_NO_NAMES: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, kw_only=True)
class TraceFormat:
    """A Chrome JSON format.

    ``route`` sorts events into groups; ``extractors`` turn decoded groups into columns. Groups in ``claimed`` get no
    columns, because they repeat other data. For scanned events: ``fillers`` are the groups that can be scanned, beside
    the generic ones; groups in ``of_gpu`` have no thread, those in ``points`` no duration; ``named_instants`` maps the
    name of an instant to its group. A format whose extractors need more than the scanner finds is not ``scannable``.
    """

    route: Route = generic_route
    extractors: Mapping[str, Extractor] = field(default_factory=lambda: GENERIC_EXTRACTORS)
    claimed: frozenset[str] = frozenset()
    scannable: bool = True
    fillers: Mapping[str, Filler] = field(default_factory=lambda: _NO_FILLERS)
    of_gpu: frozenset[str] = frozenset()
    points: frozenset[str] = frozenset()
    named_instants: Mapping[str, str] = field(default_factory=lambda: _NO_NAMES)

    @property
    def all_points(self) -> frozenset[str]:
        """All groups of events without a duration."""
        return self.points | {INSTANTS, COUNTERS, BORDERS, ASYNC, FLOWS}


CHROME = TraceFormat()
"""Traces of any origin."""
