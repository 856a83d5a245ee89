"""What a job is told by: its ranks, its steps, who is waited for, and any report over the ranks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.report import NotRecorded, Report, Table
from warpline.analysis.jobs.clocks import RankClock, rank_clocks
from warpline.analysis.jobs.distribution import measures, over_ranks
from warpline.analysis.jobs.job_collectives import collectives_table, groups_table, traffic
from warpline.analysis.jobs.job_findings import JobCase, JobFinding, findings_table, job_findings
from warpline.analysis.jobs.job_kernels import KernelTimes, kernels_table
from warpline.analysis.jobs.job_memory import memory_table
from warpline.analysis.jobs.job_steps import ranks_table, steps_table
from warpline.analysis.jobs.meetings import Meetings, last_ones, waited_ns
from warpline.analysis.jobs.rank_collectives import COLLECTIVES
from warpline.analysis.jobs.rank_facts import FACTS
from warpline.analysis.jobs.rank_kernels import KERNELS
from warpline.analysis.jobs.rank_steps import STEPS
from warpline.analysis.jobs.rank_tables import RANK_TABLES
from warpline.analysis.jobs.step_matrix import StepMatrix, step_matrix
from warpline.analysis.jobs.stragglers import find_stragglers, stragglers
from warpline.i18n import english

NEEDED = tuple(RANK_TABLES)
"""What every rank is asked for, whatever else is."""
_NAMED = 20
"""How many ranks a note names."""
_NOBODY = NotRecorded(english("no rank could be read"))


@dataclass(frozen=True, eq=False)
class JobTables:
    """The reports of a job, its steps as matrices, what stands out, and of each rank its clock and host (empty: not
    recorded).
    """

    reports: tuple[Report, ...]
    steps: StepMatrix
    clocks: Mapping[int, RankClock]
    findings: tuple[JobFinding, ...]
    hosts: Mapping[int, str]


class JobGatherer:
    """Takes the reports of ranks one after the other and keeps of each what the job's tables are made of.

    ``asked`` are names of further reports to be spread over the ranks, ``every`` all their quantities instead of the
    first duration.
    """

    def __init__(self, asked: Sequence[str] = (), *, every: bool = True) -> None:
        self._asked = asked
        self._every = every
        self._ranks: list[int] = []
        self._longest = 0
        self._why: dict[str, NotRecorded] = {}
        self._found: dict[str, set[int]] = {}
        self._steps: dict[int, Table] = {}
        self._facts: dict[int, Table] = {}
        self._meetings = Meetings()
        self._kernels = KernelTimes()
        self._tables: dict[str, dict[int, Table]] = {name: {} for name in asked}
        self._titles: dict[str, str] = {}

    def add(self, rank: int, reports: Mapping[str, Report]) -> None:
        """The reports of a rank by name: `NEEDED` and those asked for."""
        self._ranks.append(rank)
        for name in (*NEEDED, *self._asked):
            report = reports[name]
            self._titles.setdefault(name, report.title)
            self._longest = max(self._longest, report.range_ns[1])
            if not isinstance(report.result, Table):
                self._why.setdefault(name, report.result)
                continue
            self._found.setdefault(name, set()).add(rank)
            self._keep(name, rank, report.result)

    def _keep(self, name: str, rank: int, table: Table) -> None:
        if name == STEPS:
            self._steps[rank] = table
        elif name == FACTS:
            self._facts[rank] = table
        elif name == COLLECTIVES:
            self._meetings.add(rank, table)
        elif name == KERNELS:
            self._kernels.add(rank, table)
        if name in self._tables:
            self._tables[name][rank] = table

    def finish(self) -> JobTables:
        """``job_findings``, ``job_ranks``, ``job_steps``, ``job_stragglers``, ``job_collectives``, ``job_groups``,
        ``job_kernels``, ``job_memory``, and the reports asked for over the ranks.
        """
        hosts = {rank: str(table.value(0, "host") or "") for rank, table in self._facts.items()}
        meetings = self._meetings
        clocks = rank_clocks(meetings)
        last = last_ones(meetings)
        steps = step_matrix(self._steps).with_clocks(clocks)
        late = find_stragglers(last, waited_ns(meetings, last), steps, self._kernels)
        carried = traffic(meetings, last)
        case = JobCase(steps, late, hosts, clocks, carried, self._memory())
        found = job_findings(case)
        reports = [
            self._report(
                "job_findings", english("Findings over ranks"), STEPS, lambda: findings_table(found, case)
            ),
            self._report("job_ranks", english("Ranks"), STEPS, lambda: ranks_table(steps, hosts)),
            self._report("job_steps", english("Steps over ranks"), STEPS, lambda: steps_table(steps, last)),
            self._report(
                "job_stragglers",
                english("Who is waited for"),
                COLLECTIVES,
                lambda: stragglers(late, clocks),
            ),
            self._report(
                "job_collectives",
                english("Communication over ranks"),
                COLLECTIVES,
                lambda: collectives_table(carried),
            ),
            self._report(
                "job_groups",
                english("Parallel groups"),
                COLLECTIVES,
                lambda: groups_table(carried, steps),
            ),
            self._report(
                "job_kernels",
                english("Kernels over ranks"),
                KERNELS,
                lambda: kernels_table(self._kernels),
            ),
            self._report("job_memory", english("Memory of ranks"), FACTS, lambda: memory_table(self._facts)),
        ]
        reports += [self._spread(name) for name in self._asked]
        shown = reports if self._every else [_for_people(one) for one in reports]
        return JobTables(tuple(shown), steps, clocks, tuple(found), hosts)

    def _report(self, name: str, title: str, source: str, make: Callable[[], Table | NotRecorded]) -> Report:
        """A report drawn from a table of the ranks; why there is none where no rank has that."""
        result = make() if source in self._found else self._why.get(source, _NOBODY)
        if isinstance(result, Table):
            result = self._with_absent(result, source)
        return Report(name, title, (0, self._longest), result)

    def _spread(self, name: str) -> Report:
        tables = dict(sorted(self._tables[name].items()))
        if not tables:
            result: Table | NotRecorded = self._why.get(name, _NOBODY)
        else:
            result = over_ranks(tables, None if self._every else _first_measures(tables))
        if isinstance(result, Table):
            result = self._with_absent(result, name)
            if not self._every:
                more = english("Other columns than these are in the JSON (--json).")
                result = replace(result, notes=(*result.notes, more))
        return Report(name, self._titles.get(name, name), (0, self._longest), result)

    def _with_absent(self, table: Table, source: str) -> Table:
        """The table with a note that names the ranks it says nothing about."""
        absent = sorted(set(self._ranks) - self._found.get(source, set()))
        if not absent:
            return table
        named = ", ".join(map(str, absent[:_NAMED])) + (", …" if len(absent) > _NAMED else "")
        note = (
            english("Not recorded on rank {rank}.", rank=named)
            if len(absent) == 1
            else english("Not recorded on ranks {ranks}.", ranks=named)
        )
        return replace(table, notes=(*table.notes, note))

    def _memory(self) -> dict[int, float]:
        found = {}
        for rank, table in self._facts.items():
            sizes = [table.value(0, name) for name in ("used_bytes", "reserved_bytes", "allocated_bytes")]
            found[rank] = float(next((size for size in sizes if size is not None), 0))
        return found


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


def _first_measures(tables: Mapping[int, Table]) -> list[str]:
    """The first duration of a report, else its first quantity."""
    for table in tables.values():
        columns = measures(table)
        durations = [column.name for column in columns if column.role is Role.DURATION]
        if names := durations or [column.name for column in columns]:
            return names[:1]
    return []
