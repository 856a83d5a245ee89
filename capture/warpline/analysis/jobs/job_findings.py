"""Findings about a whole job: late ranks, uneven work, slow links, clocks that do not match, memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from warpline.analysis.findings.finding import Severity
from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.report import NotRecorded, Table
from warpline.analysis.jobs.clocks import RankClock
from warpline.analysis.jobs.communication_facts import OPERATIONS, CommunicationFacts
from warpline.analysis.jobs.distribution import spreads
from warpline.analysis.jobs.job_collectives import Traffic, rank_text
from warpline.analysis.jobs.step_matrix import StepMatrix
from warpline.analysis.jobs.stragglers import Straggler
from warpline.i18n import english
from warpline.model import format_duration

_MUCH, _SOME = 0.1, 0.02
"""Shares of all ranks' time from which waiting is critical, and from which it is a warning."""
_MOST = 0.5
_FEWEST = 2
"""A rank that came last less often than this is not always late."""
_MOST_OF_HOST = 0.6
_NEARLY_ALL = 0.8
_IN_TURNS = 0.3
_UNEVEN = 1.05
_SLOW_LINK = 0.7
_UNEVEN_MEMORY = 1.25
_ALIKE = 3
"""How many communicators with equal traffic it takes to call one of them slow."""


@dataclass(frozen=True, kw_only=True)
class JobFinding:
    """One problem of a job, with its ``ranks``; ``cost_ns`` is its cost over all ranks (0: unknown).

    ``title``, ``text`` and ``remedy`` are English and translated when shown.
    """

    id: str
    severity: Severity
    title: str
    text: str
    ranks: tuple[int, ...]
    cost_ns: int
    remedy: str = ""


@dataclass(frozen=True, eq=False, kw_only=True)
class JobCase:
    """The data that findings are based on."""

    steps: StepMatrix
    stragglers: Sequence[Straggler]
    hosts: Mapping[int, str]
    clocks: Mapping[int, RankClock]
    traffic: Sequence[Traffic]
    memory: Mapping[int, float]
    """The most bytes each rank held."""

    @property
    def total_ns(self) -> float:
        """The time of all steps of all ranks, ns."""
        return float(np.nansum(self.steps.values("duration_ns"))) if len(self.steps.steps) else 0.0

    @property
    def lost_ns(self) -> int:
        """The time that all ranks waited for late ones, ns."""
        return sum(straggler.others_ns for straggler in self.stragglers)


def job_findings(case: JobCase) -> list[JobFinding]:
    """All findings, the most severe and costly first."""
    findings = [*_waiting(case), *_uneven(case), *_links(case), *_clocks(case), *_memory(case)]
    order = list(Severity)
    return sorted(findings, key=lambda finding: (order.index(finding.severity), -finding.cost_ns))


def findings_table(findings: Sequence[JobFinding], case: JobCase) -> Table | NotRecorded:
    """A row for each finding."""
    if not len(case.steps.steps) or (not case.stragglers and not findings):
        return NotRecorded(
            english("no collective was recorded on two or more ranks"),
            english("record kernels and steps on every rank; collectives are matched by step"),
        )
    return Table(
        (
            Column("title", english("Finding"), Role.NAME, key=True, ours=True),
            Column("severity", english("Severity"), Role.TEXT, ours=True),
            Column("cost_ns", english("Cost over all ranks"), Role.DURATION, heat=True),
            Column("text", english("Description"), Role.TEXT, ours=True),
            Column("ranks", english("Ranks"), Role.TEXT, key=True),
            Column("remedy", english("Remedy"), Role.TEXT, ours=True),
            Column("id", english("Id"), Role.CODE),
        ),
        {
            "title": [finding.title for finding in findings],
            "severity": [finding.severity.value for finding in findings],
            "cost_ns": np.ma.masked_equal(np.array([finding.cost_ns for finding in findings], np.int64), 0),
            "text": [finding.text for finding in findings],
            "ranks": [rank_text(finding.ranks) or None for finding in findings],
            "remedy": [finding.remedy or None for finding in findings],
            "id": [finding.id for finding in findings],
        },
        scope="" if findings else english("no problem found"),
    )


def _waiting(case: JobCase) -> Iterator[JobFinding]:
    """Late ranks: one, those of one host, a few, or a different one each time."""
    lost, total = case.lost_ns, case.total_ns
    late = [straggler for straggler in case.stragglers if straggler.others_ns > 0]
    if not late or not total or lost < _SOME * total:
        return
    severity = Severity.CRITICAL if lost >= _MUCH * total else Severity.WARNING
    share = f"{100 * lost / total:.0f} %"
    top = late[0]
    host, host_ranks, host_ns = _worst_host(case)
    if top.others_ns >= _MOST * lost:
        yield JobFinding(
            id="late_rank",
            severity=severity,
            title=_late_title(case, top),
            text=_straggler_text(top, total),
            ranks=(top.rank,),
            cost_ns=top.others_ns,
            remedy=_remedy(top),
        )
    elif host and host_ns >= _MOST_OF_HOST * lost:
        yield JobFinding(
            id="late_host",
            severity=severity,
            title=english("The ranks of one host are late"),
            text=english(
                "{part} of the waiting is for ranks of {host}. Waiting takes {share} of all ranks' time.",
                host=host,
                part=f"{100 * host_ns / lost:.0f} %",
                share=share,
            ),
            ranks=host_ranks,
            cost_ns=host_ns,
            remedy=english(
                "Compare this machine with the others: GPU clocks and temperatures, disks, links."
            ),
        )
    else:
        sums = np.cumsum([straggler.others_ns for straggler in late], dtype=np.int64)
        needed = int(np.searchsorted(sums, _NEARLY_ALL * lost)) + 1
        ranks = tuple(sorted(straggler.rank for straggler in late[:needed]))
        if needed >= max(_ALIKE, _IN_TURNS * len(case.stragglers)):
            yield JobFinding(
                id="late_in_turns",
                severity=severity,
                title=english("A different rank is late each time"),
                text=english(
                    "{part} of the waiting is spread over {count} ranks. Waiting takes {share} of all ranks' time.",
                    count=needed,
                    part=f"{100 * sums[needed - 1] / lost:.0f} %",
                    share=share,
                ),
                ranks=ranks,
                cost_ns=lost,
                remedy=english(
                    "Look for causes that come and go: inputs of uneven length, garbage collection, checkpoints, other "
                    "programs on the machine."
                ),
            )
        else:
            yield JobFinding(
                id="late_few",
                severity=severity,
                title=english("A few ranks are late"),
                text=english(
                    "{part} of the waiting is for ranks {ranks}. Waiting takes {share} of all ranks' time.",
                    ranks=rank_text(ranks),
                    part=f"{100 * sums[needed - 1] / lost:.0f} %",
                    share=share,
                ),
                ranks=ranks,
                cost_ns=int(sums[needed - 1]),
                remedy=_remedy(top),
            )


def _late_title(case: JobCase, top: Straggler) -> str:
    """How often the rank that costs most comes last, compared with the others."""
    if any(other.last >= top.last for other in case.stragglers if other.rank != top.rank):
        return english("One rank costs most, though others come last as often")
    if 5 * top.last >= top.collectives and top.last >= _FEWEST:
        return english("One rank is always late")
    return english("One rank causes most of the waiting")


def _straggler_text(straggler: Straggler, total: float) -> str:
    text = english(
        "The other ranks waited {others} in total for rank {rank}, {share} of all ranks' time. It came last in "
        "{last:,} of {count:,} collectives.",
        rank=straggler.rank,
        last=straggler.last,
        count=straggler.collectives,
        others=format_duration(straggler.others_ns),
        share=f"{100 * straggler.others_ns / total:.0f} %",
    )
    reason = straggler.reason
    if reason is None:
        return text
    excess = english(
        "What took longer there: {part}, by {more}",
        part=reason.title,
        more=format_duration(round(reason.more_ns)),
    )
    return f"{text} · {excess}" + (f" · {reason.detail}" if reason.detail else "")


def _remedy(straggler: Straggler) -> str:
    part = straggler.reason.part if straggler.reason else ""
    if part == "loader_ns":
        return english("Check the data loader of that rank: its share of the data, its workers, its disk.")
    if part == "computation_ns":
        return english(
            "Compare its kernels with those of other ranks (table Kernels over ranks): more work, or a slower GPU?"
        )
    if part.startswith("host") or part == "launch_ns":
        return english("Open that rank and look at what its CPU does in these steps.")
    return english("Open that rank next to another one at one of these steps.")


def _worst_host(case: JobCase) -> tuple[str, tuple[int, ...], int]:
    """The host whose ranks the others waited for longest, its ranks, and the time, ns; no host with only one."""
    sums: dict[str, int] = {}
    ranks: dict[str, list[int]] = {}
    for straggler in case.stragglers:
        host = case.hosts.get(straggler.rank, "")
        sums[host] = sums.get(host, 0) + straggler.others_ns
        ranks.setdefault(host, []).append(straggler.rank)
    if "" in sums or len(sums) < 2 or max(map(len, ranks.values())) < 2:
        return "", (), 0
    worst = max(sums, key=lambda host: sums[host])
    return worst, tuple(sorted(ranks[worst])), sums[worst]


def _uneven(case: JobCase) -> Iterator[JobFinding]:
    """Ranks that compute longer than most."""
    steps = case.steps
    if "computation_ns" not in steps.cells or len(steps.ranks) < 2:
        return
    computed = spreads(steps.values("computation_ns").T).median
    known = np.sort(computed[~np.isnan(computed)])
    # With two ranks, the faster one shows what the other could do.
    usual = float(known[(len(known) - 1) // 2]) if len(known) else 0.0
    if usual <= 0:
        return
    most = float(np.nanmax(computed))
    if most < _UNEVEN * usual:
        return
    # Outliers are closer to the longest time than to the usual one.
    above = np.flatnonzero(computed > (usual + most) / 2)
    ranks = tuple(steps.ranks[above].tolist())
    yield JobFinding(
        id="uneven_work",
        severity=Severity.WARNING,
        title=english("Ranks have unequal computation"),
        text=_uneven_text(ranks, format_duration(round(usual)), format_duration(round(most))),
        ranks=ranks,
        cost_ns=0,
        remedy=english(
            "See the table Kernels over ranks: more calls mean more work, longer calls a slower GPU."
        ),
    )


def _uneven_text(ranks: tuple[int, ...], usual: str, most: str) -> str:
    if len(ranks) == 1:
        return english(
            "Rank {rank} computes {most} per step, a typical rank {usual} (medians over the steps).",
            usual=usual,
            most=most,
            rank=ranks[0],
        )
    return english(
        "Ranks {ranks} compute up to {most} per step, a typical rank {usual} (medians over the steps).",
        usual=usual,
        most=most,
        ranks=rank_text(ranks),
    )


def _links(case: JobCase) -> Iterator[JobFinding]:
    """Communicators with a much lower bandwidth than others with equal traffic."""
    alike: dict[CommunicationFacts, list[Traffic]] = {}
    for traffic in case.traffic:
        if traffic.bus_bytes_per_s and traffic.meetings:
            alike.setdefault(traffic.alike, []).append(traffic)
    slow: dict[tuple[int, ...], tuple[float, Traffic, float]] = {}
    for group in alike.values():
        if len(group) < _ALIKE:
            continue
        usual = float(np.median([traffic.bus_bytes_per_s or 0.0 for traffic in group]))
        for traffic in group:
            part = (traffic.bus_bytes_per_s or 0.0) / usual
            if part < _SLOW_LINK and (traffic.ranks not in slow or part < slow[traffic.ranks][0]):
                slow[traffic.ranks] = (part, traffic, usual)
    for part, traffic, usual in sorted(slow.values(), key=lambda entry: entry[0])[:_ALIKE]:
        bandwidth = traffic.bus_bytes_per_s or 0.0
        wasted = traffic.transfer_ns * (1 - part) * traffic.meetings * traffic.size
        yield JobFinding(
            id="slow_link",
            severity=Severity.WARNING,
            title=english("Slow link"),
            text=english(
                "Ranks {ranks} reach {bandwidth} GB/s of bus bandwidth in {operation}; others reach {usual} GB/s.",
                ranks=rank_text(traffic.ranks),
                operation=OPERATIONS[traffic.facts.operation],
                bandwidth=f"{bandwidth / 1e9:.1f}",
                usual=f"{usual / 1e9:.1f}",
            ),
            ranks=traffic.ranks,
            cost_ns=int(wasted),
            remedy=english(
                "Check the links between these ranks: cables, adapters, the switch, the path NCCL chose."
            ),
        )


def _clocks(case: JobCase) -> Iterator[JobFinding]:
    ranks = tuple(rank for rank, clock in sorted(case.clocks.items()) if not clock.fits)
    if ranks:
        yield JobFinding(
            id="unfit_clock",
            severity=Severity.NOTE,
            title=english("One clock does not match") if len(ranks) == 1 else english("Clocks do not match"),
            text=english(
                "Most collectives of rank {rank} end at other times than on the other ranks, so its times cannot be "
                "compared with theirs.",
                rank=ranks[0],
            )
            if len(ranks) == 1
            else english(
                "Most collectives of ranks {ranks} end at other times than on the other ranks, so their times cannot "
                "be compared.",
                ranks=rank_text(ranks),
            ),
            ranks=ranks,
            cost_ns=0,
            remedy=english("Check that this trace is from the same run and steps as the others.")
            if len(ranks) == 1
            else english("Check that these traces are from the same run and steps as the others."),
        )


def _memory(case: JobCase) -> Iterator[JobFinding]:
    held = {rank: size for rank, size in case.memory.items() if size > 0}
    if len(held) < 2:
        return
    usual = float(np.median(list(held.values())))
    ranks = tuple(rank for rank, size in sorted(held.items()) if size > _UNEVEN_MEMORY * usual)
    if ranks:
        most = max(held[rank] for rank in ranks)
        yield JobFinding(
            id="uneven_memory",
            severity=Severity.NOTE,
            title=english("One rank holds more memory")
            if len(ranks) == 1
            else english("Some ranks hold more memory"),
            text=english(
                "Rank {rank} holds {most} GB, a typical rank {usual} GB.",
                rank=ranks[0],
                most=f"{most / 1e9:.1f}",
                usual=f"{usual / 1e9:.1f}",
            )
            if len(ranks) == 1
            else english(
                "Ranks {ranks} hold up to {most} GB, a typical rank {usual} GB.",
                ranks=rank_text(ranks),
                most=f"{most / 1e9:.1f}",
                usual=f"{usual / 1e9:.1f}",
            ),
            ranks=ranks,
            cost_ns=0,
            remedy=english("The first rank that runs out of memory ends the job: balance the memory."),
        )
