"""What a format of the Chrome JSON family is: how its events are told apart and made into columns."""

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
    """Makes columns of the arguments of a group: the struct that says what may be in them, and a function.

    The function adds columns to the group and is False when the arguments do not tell what they must. Without a
    struct only names and times matter.
    """

    args_type: type[Any] | None = None
    fill: Callable[[Group, Arguments], bool] | None = None


_NO_FILLERS: Mapping[str, Filler] = MappingProxyType({})
_NO_NAMES: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class TraceFormat:
    """A format; an importer of the family provides one.

    ``route`` sorts events into groups, ``extractors`` make columns of decoded ones; groups in ``claimed`` need none: it
    is recorded elsewhere what they say. The rest is for events that are scanned and not decoded: ``fillers`` for the
    groups that can be read so, beside the generic ones; ``of_gpu`` are those whose events belong to no thread,
    ``points`` those without a duration; instants with a name of ``named_instants`` are the group it says. A format
    with extractors that see more than fillers do is not ``scannable``.
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
        """Groups of events without a duration."""
        return self.points | {INSTANTS, COUNTERS, BORDERS, ASYNC, FLOWS}


CHROME = TraceFormat()
"""Traces of any origin."""
