"""Describes a report before it is computed: its name, title and function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass

from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table
from warpline.analysis.framework.selection import View

Compute = Callable[[View, Options], Table | NotRecorded]
LAST = 1_000


@dataclass(frozen=True)
class ReportSpec:
    """Each report's module defines one as ``report``.

    ``name`` is the name of the module and the argument of ``--report``; ``title`` is shown to people. ``family`` groups
    reports: ``gpu``, ``framework``, ``steps``, ``ranges``, ``cpu``, or another. ``needs`` lists kinds of events, of
    which a capture must hold at least one (empty: no condition). Reports are listed by ``place``, then by name.
    ``of_tracks``: rows are tracks; selecting one in the table marks it instead of filtering other tables.
    ``of_launches``: the report also needs links from calls to the GPU work they launched.
    """

    name: str
    title: str
    family: str
    compute: Compute
    _: KW_ONLY
    needs: tuple[str, ...] = ()
    place: int = LAST
    of_tracks: bool = False
    of_launches: bool = False
