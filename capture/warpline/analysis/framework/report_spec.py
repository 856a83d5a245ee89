"""A report before it is computed: what it is called and what computes it. Every module of a report has one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table
from warpline.analysis.framework.selection import View

Compute = Callable[[View, Options], Table | NotRecorded]
LAST = 1_000


@dataclass(frozen=True)
class ReportSpec:
    """A module of a report has one, called ``report``.

    ``name`` is what ``--report`` takes and the name of the module; ``title`` is what a person reads. ``family`` groups
    reports for people: ``gpu``, ``framework``, ``steps``, ``ranges``, ``cpu``, or one of its own. ``needs``: kinds of
    events; without any of them in a capture there is nothing to report (empty: there always is). ``place``: reports
    are listed by it, then by name. ``of_tracks``: its rows are tracks, so one that is chosen in the table
    is marked there, where others are left out of tables about it. ``of_launches``: without a link from a call
    to the GPU work it launched there is nothing to report either.
    """

    name: str
    title: str
    family: str
    compute: Compute
    needs: tuple[str, ...] = ()
    place: int = LAST
    of_tracks: bool = False
    of_launches: bool = False
