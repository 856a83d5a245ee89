"""What a job is told by: its ranks, its steps, who is waited for, and any report over the ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.report import NotRecorded, Report, Table
from warpline.analysis.jobs.arrivals import RankClock, arrivals, last_ones, rank_clocks
from warpline.analysis.jobs.distribution import measures, over_ranks
from warpline.analysis.jobs.job_steps import ranks_table, steps_by_rank, steps_table
from warpline.analysis.jobs.rank_facts import FACTS
from warpline.analysis.jobs.rank_steps import COLLECTIVES, STEPS
from warpline.analysis.jobs.step_matrix import StepMatrix, step_matrix
from warpline.analysis.jobs.stragglers import stragglers
from warpline.i18n import english

RankReports = Mapping[int, Mapping[str, Report]]
"""Of each rank its reports by name."""
NEEDED = (STEPS, COLLECTIVES, FACTS)
"""What every rank is asked for, whatever else is."""
_NAMED = 20
"""How many ranks a note names."""


@dataclass(frozen=True, eq=False)
class JobTables:
    """The reports of a job, its steps as matrices, and of each rank its clock and host (empty: not recorded)."""

    reports: tuple[Report, ...]
    steps: StepMatrix
    clocks: Mapping[int, RankClock]
    hosts: Mapping[int, str]


def job_tables(ranks: RankReports, asked: Sequence[str], *, every: bool) -> JobTables:
    """What a job is told by, from what its ranks reported: ``job_ranks``, ``job_steps``, ``job_stragglers``, and
    the reports asked for over the ranks.

    ``every`` also gives ``job_step_ranks``, a row for each step of each rank, and all quantities of a report, for
    programs; people get the first duration of a report (or its first quantity).
    """
    steps, why = _tables(ranks, STEPS)
    collectives, why_alone = _tables(ranks, COLLECTIVES)
    longest = max((stop for its in ranks.values() for _, stop in [its[STEPS].range_ns]), default=0)
    found = arrivals(collectives)
    clocks = rank_clocks(found)

    def report(name: str, title: str, result: Table | NotRecorded) -> Report:
        return Report(name, title, (0, longest), result)

    reports = [
        report("job_ranks", english("Ranks"), why or _with_absent(ranks_table(steps), ranks, steps)),
        report("job_steps", english("Steps over ranks"), why or steps_table(steps, last_ones(found))),
    ]
    if every:
        reports.append(
            report("job_step_ranks", english("Steps of each rank"), why or steps_by_rank(steps, clocks))
        )
    reports.append(
        report("job_stragglers", english("Who is waited for"), why_alone or stragglers(found, steps, clocks))
    )
    for name in asked:
        tables, why_not = _tables(ranks, name)
        only = None if every else _first_measures(tables)
        result = why_not or over_ranks(tables, only)
        if isinstance(result, Table):
            result = _with_absent(result, ranks, tables)
            if not every:
                more = english("Other columns than these are in the JSON (--json).")
                result = replace(result, notes=(*result.notes, more))
        title = next(its[name].title for its in ranks.values()) if ranks else name
        reports.append(report(name, title, result))
    shown = reports if every else [_for_people(one) for one in reports]
    return JobTables(tuple(shown), step_matrix(steps, clocks), clocks, _hosts(ranks))


def _hosts(ranks: RankReports) -> dict[int, str]:
    facts, _ = _tables(ranks, FACTS)
    return {rank: str(table.value(0, "host") or "") for rank, table in facts.items()}


def _tables(ranks: RankReports, name: str) -> tuple[dict[int, Table], NotRecorded | None]:
    """The tables of the ranks that have the report, and why there is none where no rank has."""
    found: dict[int, Table] = {}
    reason: NotRecorded | None = None
    for rank, reports in sorted(ranks.items()):
        result = reports[name].result
        if isinstance(result, Table):
            found[rank] = result
        elif reason is None:
            reason = result
    if found:
        return found, None
    return found, reason or NotRecorded(english("no rank could be read"))


def _for_people(report: Report) -> Report:
    """The report without columns in which nothing stands because no rank is meant, and causes that took no time."""
    table = report.table
    if table is None or not len(table):
        return report
    has_parts = report.name == "job_ranks"

    def says_something(column: Column) -> bool:
        values = table.values(column.name)
        if has_parts and column.role is Role.DURATION:
            return any(values)
        return any(value is not None for value in values)

    kept = tuple(filter(says_something, table.columns))
    data = {column.name: table.data[column.name] for column in kept}
    return replace(report, result=replace(table, columns=kept, data=data))


def _with_absent(table: Table, ranks: RankReports, found: Mapping[int, Table]) -> Table:
    """The table with a note that names the ranks it says nothing about."""
    absent = sorted(set(ranks) - set(found))
    if not absent:
        return table
    named = ", ".join(map(str, absent[:_NAMED])) + (", …" if len(absent) > _NAMED else "")
    return replace(table, notes=(*table.notes, english("Not recorded on ranks {ranks}.", ranks=named)))


def _first_measures(tables: Mapping[int, Table]) -> list[str]:
    """The first duration of a report, else its first quantity."""
    for table in tables.values():
        columns = measures(table)
        durations = [column.name for column in columns if column.role is Role.DURATION]
        if names := durations or [column.name for column in columns]:
            return names[:1]
    return []
