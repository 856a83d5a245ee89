"""The reports of a job: ranks, steps, stragglers, communication, kernels, memory, and any report over ranks."""

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
from warpline.analysis.jobs.pinged_clocks import pinged_clocks
from warpline.analysis.jobs.rank_collectives import COLLECTIVES
from warpline.analysis.jobs.rank_facts import FACTS
from warpline.analysis.jobs.rank_kernels import KERNELS
from warpline.analysis.jobs.rank_steps import STEPS
from warpline.analysis.jobs.rank_tables import RANK_TABLES
from warpline.analysis.jobs.step_matrix import StepMatrix, step_matrix
from warpline.analysis.jobs.stragglers import find_stragglers, stragglers
from warpline.i18n import english

NEEDED = tuple(RANK_TABLES)
"""The tables that every rank computes."""
_NAMED = 20
"""How many ranks a note names."""
_NO_RANK = NotRecorded(english("no rank could be read"))


@dataclass(frozen=True, eq=False)
class JobTables:
    """The reports of a job, its steps as matrices, its findings, and the clock and host of each rank (empty host: not
    recorded).
    """

    reports: tuple[Report, ...]
    steps: StepMatrix
    clocks: Mapping[int, RankClock]
    findings: tuple[JobFinding, ...]
    hosts: Mapping[int, str]


class JobGatherer:
    """Takes the reports of ranks one at a time, and keeps only what the job's tables need.

    ``asked`` are further reports to spread over ranks, with all quantities (``every``) or only the first duration.
    """

    def __init__(self, asked: Sequence[str] = (), *, every: bool = True) -> None:
        self._asked = asked
        self._every = every
        self._ranks: list[int] = []
        self._longest = 0
        self._reasons: dict[str, NotRecorded] = {}
        self._ranks_with: dict[str, set[int]] = {}
        self._steps: dict[int, Table] = {}
        self._facts: dict[int, Table] = {}
        self._meetings = Meetings()
        self._kernels = KernelTimes()
        self._tables: dict[str, dict[int, Table]] = {name: {} for name in asked}
        self._titles: dict[str, str] = {}

    def add(self, rank: int, reports: Mapping[str, Report]) -> None:
        """Add the reports of a rank by name: `NEEDED` and those asked for."""
        self._ranks.append(rank)
        for name in (*NEEDED, *self._asked):
            report = reports[name]
            self._titles.setdefault(name, report.title)
            self._longest = max(self._longest, report.range_ns[1])
            if not isinstance(report.result, Table):
                self._reasons.setdefault(name, report.result)
                continue
            self._ranks_with.setdefault(name, set()).add(rank)
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
        """The tables of the job: ``job_findings``, ``job_ranks``, ``job_steps``, ``job_stragglers``,
        ``job_collectives``, ``job_groups``, ``job_kernels``, ``job_memory``, and the reports asked for.
        """
        hosts = {rank: str(table.value(0, "host") or "") for rank, table in self._facts.items()}
        meetings = self._meetings
        met = rank_clocks(meetings)
        clocks = {**pinged_clocks(self._facts, met), **met}
        last = last_ones(meetings)
        steps = step_matrix(self._steps).with_clocks(clocks)
        late = find_stragglers(last, waited_ns(meetings, last), steps, self._kernels)
        all_traffic = traffic(meetings, last)
        case = JobCase(
            steps=steps,
            stragglers=late,
            hosts=hosts,
            clocks=clocks,
            traffic=all_traffic,
            memory=self._memory(),
        )
        findings = job_findings(case)
        reports = [
            self._report(
                "job_findings", english("Findings over ranks"), STEPS, lambda: findings_table(findings, case)
            ),
            self._report("job_ranks", english("Ranks"), STEPS, lambda: ranks_table(steps, hosts)),
            self._report("job_steps", english("Steps over ranks"), STEPS, lambda: steps_table(steps, last)),
            self._report(
                "job_stragglers",
                english("Late ranks"),
                COLLECTIVES,
                lambda: stragglers(late, clocks),
            ),
            self._report(
                "job_collectives",
                english("Communication over ranks"),
                COLLECTIVES,
                lambda: collectives_table(all_traffic),
            ),
            self._report(
                "job_groups",
                english("Parallel groups"),
                COLLECTIVES,
                lambda: groups_table(all_traffic, steps),
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
        shown = reports if self._every else [_without_empty(report) for report in reports]
        return JobTables(tuple(shown), steps, clocks, tuple(findings), hosts)

    def _report(self, name: str, title: str, source: str, make: Callable[[], Table | NotRecorded]) -> Report:
        """A report made from a table of the ranks, or the reason when no rank has that table."""
        result = make() if source in self._ranks_with else self._reasons.get(source, _NO_RANK)
        if isinstance(result, Table):
            result = self._with_absent(result, source)
        return Report(name, title, (0, self._longest), result)

    def _spread(self, name: str) -> Report:
        tables = dict(sorted(self._tables[name].items()))
        if not tables:
            result: Table | NotRecorded = self._reasons.get(name, _NO_RANK)
        else:
            result = over_ranks(tables, None if self._every else _first_measures(tables))
        if isinstance(result, Table):
            result = self._with_absent(result, name)
            if not self._every:
                more = english("More columns are in the JSON (--json).")
                result = replace(result, notes=(*result.notes, more))
        return Report(name, self._titles.get(name, name), (0, self._longest), result)

    def _with_absent(self, table: Table, source: str) -> Table:
        """The table with a note that names the ranks without data."""
        absent = sorted(set(self._ranks) - self._ranks_with.get(source, set()))
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
        memory = {}
        for rank, table in self._facts.items():
            sizes = [table.value(0, name) for name in ("used_bytes", "reserved_bytes", "allocated_bytes")]
            memory[rank] = float(next((size for size in sizes if size is not None), 0))
        return memory


def _without_empty(report: Report) -> Report:
    """The report without empty columns and without causes that took no time."""
    table = report.table
    if table is None or not len(table):
        return report
    has_parts = report.name == "job_ranks"

    def has_values(column: Column) -> bool:
        values = table.values(column.name)
        if has_parts and column.role is Role.DURATION:
            return any(values)
        return any(value is not None for value in values)

    shown = tuple(filter(has_values, table.columns))
    data = {column.name: table.data[column.name] for column in shown}
    return replace(report, result=replace(table, columns=shown, data=data))


def _first_measures(tables: Mapping[int, Table]) -> list[str]:
    """The first duration of a report, else its first quantity."""
    for table in tables.values():
        columns = measures(table)
        durations = [column.name for column in columns if column.role is Role.DURATION]
        if names := durations or [column.name for column in columns]:
            return names[:1]
    return []
