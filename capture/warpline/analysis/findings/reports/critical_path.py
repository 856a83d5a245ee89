"""Report: the critical path, from the end of a range back through the actors that were waited for."""

from __future__ import annotations

import numpy as np

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.causes import PATH_TITLES
from warpline.analysis.findings.diagnose import cases_of
from warpline.analysis.findings.draft import place_of
from warpline.analysis.findings.finding import Diagnosis
from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table, Targets, Texts, Values
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.tables import masked_below_zero, scope_text
from warpline.i18n import english


def critical_path(view: View, options: Options) -> Table | NotRecorded:
    """The segments of the path in time order; they add up to the range. With ranks, the path of each rank."""
    cases = cases_of(view, options)
    if isinstance(cases, Diagnosis):
        return NotRecorded(cases.reason, cases.remedy)
    return path_table(view, cases)


def path_table(view: View, cases: list[tuple[int, Case]]) -> Table:
    """The table of the paths of some (rank, case); rank −1 for none."""
    parts = [_path_columns(rank, number, case) for number, (rank, case) in enumerate(cases)]
    rank, number, start, stop, cause, row, actor, place = (
        np.concatenate([part[column] for part in parts]) for column in range(8)
    )
    actors = [case.actor_name for _, case in cases]
    places = [case.segment_place for _, case in cases]
    device = cases[0][1].device
    titles = {code: title.format(device=device) for code, title in PATH_TITLES.items()}
    columns = [
        Column("number", "Segment", Role.ORDINAL, key=True),
        Column("name", "Cause", Role.NAME, ours=True),
        Column("start_ns", "Start", Role.TIME),
        Column("segment_ns", "Duration", Role.DURATION),
        Column("track", "Track", Role.TEXT),
        Column("place", "Place", Role.TEXT),
    ]
    data: dict[str, Values] = {
        "number": number,
        "name": Texts(cause, lambda code: titles.get(code, str(code))),
        "start_ns": start - view.capture.span[0],
        "segment_ns": stop - start,
        "track": Texts(actor, lambda code: actors[code >> 40](code & _LOW)),
        "place": Texts(place, lambda code: place_of(places[code >> 40](code & _LOW))),
    }
    if (rank >= 0).any():
        columns.insert(0, Column("rank", "Rank", Role.ID, key=True))
        data["rank"] = masked_below_zero(rank)
    return Table(
        tuple(columns),
        data,
        targets=Targets(rows=row, starts=start, stops=stop),
        scope=scope_text(view, english("The critical path")),
        notes=(english("Work that is not on the path can get slower without making the range longer."),),
    )


_LOW = (1 << 40) - 1


def _path_columns(
    rank: int, number: int, case: Case
) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], ...]:
    segment, start, stop = case.graph.walk(case.actor)
    count = len(segment)
    own = number << 40
    return (
        np.full(count, rank, np.int64),
        np.arange(count, dtype=np.int64),
        start,
        stop,
        case.segments.cause[segment].astype(np.int64),
        case.segments.row[segment].astype(np.int64),
        case.segments.actor[segment].astype(np.int64) + own,
        segment + own,
    )


report = ReportSpec("critical_path", "The critical path", "steps", critical_path, place=304)
