"""What is wrong with a job as a whole: who keeps others waiting, uneven work, slow links, clocks that do not fit."""

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
"""Parts of the time of all ranks: what is lost waiting is critical, worth a warning."""
_MOST = 0.5
_OF_HOST = 0.6
_NEARLY_ALL = 0.8
_IN_TURNS = 0.3
_UNEVEN = 1.05
_SLOW_LINK = 0.7
_UNEVEN_MEMORY = 1.25
_ALIKE = 3
"""So many communicators must carry the same before one of them is slow."""


@dataclass(frozen=True)
class JobFinding:
    """One problem of a job: ``ranks`` it is about, ``cost_ns`` what all ranks together lose by it (0: not told).

    ``title``, ``text`` and ``remedy`` are English and translated where they are shown.
    """

    id: str
    severity: Severity
    title: str
    text: str
    ranks: tuple[int, ...]
    cost_ns: int
    remedy: str = ""


@dataclass(frozen=True, eq=False)
class JobCase:
    """What findings are drawn from."""

    steps: StepMatrix
    stragglers: Sequence[Straggler]
    hosts: Mapping[int, str]
    clocks: Mapping[int, RankClock]
    traffic: Sequence[Traffic]
    memory: Mapping[int, float]
    """The most bytes each rank held."""

    @property
    def total_ns(self) -> float:
        """The steps of all ranks together."""
        return float(np.nansum(self.steps.values("duration_ns"))) if len(self.steps.steps) else 0.0

    @property
    def lost_ns(self) -> int:
        """What all ranks together waited for those that came last."""
        return sum(one.others_ns for one in self.stragglers)


def job_findings(case: JobCase) -> list[JobFinding]:
    """What stands out, worst and most costly first."""
    found = [*_waiting(case), *_uneven(case), *_links(case), *_clocks(case), *_memory(case)]
    order = list(Severity)
    return sorted(found, key=lambda one: (order.index(one.severity), -one.cost_ns))


def findings_table(found: Sequence[JobFinding], case: JobCase) -> Table | NotRecorded:
    """A row for each finding; empty where nothing stands out."""
    if not len(case.steps.steps) or (not case.stragglers and not found):
        return NotRecorded(
            english("no collective was found on two ranks or more"),
            english("record kernels, and steps by which collectives are matched, on every rank"),
        )
    return Table(
        (
            Column("title", english("Finding"), Role.NAME, key=True, ours=True),
            Column("severity", english("Severity"), Role.TEXT, ours=True),
            Column("cost_ns", english("Costs all ranks"), Role.DURATION, heat=True),
            Column("text", english("What"), Role.TEXT, ours=True),
            Column("ranks", english("Ranks"), Role.TEXT, key=True),
            Column("remedy", english("Remedy"), Role.TEXT, ours=True),
            Column("id", english("Id"), Role.CODE),
        ),
        {
            "title": [one.title for one in found],
            "severity": [one.severity.value for one in found],
            "cost_ns": np.ma.masked_equal(np.array([one.cost_ns for one in found], np.int64), 0),
            "text": [one.text for one in found],
            "ranks": [rank_text(one.ranks) or None for one in found],
            "remedy": [one.remedy or None for one in found],
            "id": [one.id for one in found],
        },
        scope="" if found else english("nothing stands out"),
    )


def _waiting(case: JobCase) -> Iterator[JobFinding]:
    """Who the ranks wait for: one of them, those of a host, a few, or each in its turn."""
    lost, total = case.lost_ns, case.total_ns
    late = [one for one in case.stragglers if one.others_ns > 0]
    if not late or not total or lost < _SOME * total:
        return
    severity = Severity.CRITICAL if lost >= _MUCH * total else Severity.WARNING
    share = f"{100 * lost / total:.0f} %"
    top = late[0]
    host, its_ranks, of_host = _worst_host(case)
    if top.others_ns >= _MOST * lost:
        yield JobFinding(
            "late_rank",
            severity,
            english("One rank is always late")
            if 5 * top.last >= top.collectives
            else english("One rank costs the others most of what they wait"),
            _about(top, total),
            (top.rank,),
            top.others_ns,
            _remedy(top),
        )
    elif host and of_host >= _OF_HOST * lost:
        yield JobFinding(
            "late_host",
            severity,
            english("The ranks of one host are late"),
            english(
                "Ranks of {host} are what the others waited for in {part} of the waiting, which is {share} of all "
                "ranks' time.",
                host=host,
                part=f"{100 * of_host / lost:.0f} %",
                share=share,
            ),
            its_ranks,
            of_host,
            english(
                "Compare this machine with the others: clocks and temperature of its GPUs, its disks, its links."
            ),
        )
    else:
        sums = np.cumsum([one.others_ns for one in late])
        needed = int(np.searchsorted(sums, _NEARLY_ALL * lost)) + 1
        ranks = tuple(sorted(one.rank for one in late[:needed]))
        if needed >= max(_ALIKE, _IN_TURNS * len(case.stragglers)):
            yield JobFinding(
                "late_in_turns",
                severity,
                english("A different rank is late each time"),
                english(
                    "{count} ranks share {part} of what the others waited, which is {share} of all ranks' time.",
                    count=needed,
                    part=f"{100 * sums[needed - 1] / lost:.0f} %",
                    share=share,
                ),
                ranks,
                lost,
                english(
                    "Look for what comes and goes: data of uneven length, garbage collection, checkpoints, neighbours "
                    "on the machine."
                ),
            )
        else:
            yield JobFinding(
                "late_few",
                severity,
                english("A few ranks are late"),
                english(
                    "Ranks {ranks} are what the others waited for in {part} of the waiting, which is {share} of all "
                    "ranks' time.",
                    ranks=rank_text(ranks),
                    part=f"{100 * sums[needed - 1] / lost:.0f} %",
                    share=share,
                ),
                ranks,
                int(sums[needed - 1]),
                _remedy(top),
            )


def _about(one: Straggler, total: float) -> str:
    text = english(
        "Rank {rank} came last to {last:,} of {count:,} collectives; the others waited {others} for it together, "
        "{share} of all ranks' time.",
        rank=one.rank,
        last=one.last,
        count=one.collectives,
        others=format_duration(one.others_ns),
        share=f"{100 * one.others_ns / total:.0f} %",
    )
    if one.reason is None:
        return text
    why = english(
        "What took longer there: {what}, by {more}",
        what=one.reason.title,
        more=format_duration(round(one.reason.more_ns)),
    )
    return f"{text} · {why}" + (f" · {one.reason.detail}" if one.reason.detail else "")


def _remedy(one: Straggler) -> str:
    part = one.reason.part if one.reason else ""
    if part == "loader_ns":
        return english(
            "Look at the data loader of that rank: its share of the data, its workers, the disk it reads."
        )
    if part == "computation_ns":
        return english(
            "Compare its kernels with those of other ranks (job_kernels): more work, or a slower GPU."
        )
    if part.startswith("host") or part == "launch_ns":
        return english("Open that rank and look at what its host does in these steps.")
    return english("Open that rank beside another one at one of these steps.")


def _worst_host(case: JobCase) -> tuple[str, tuple[int, ...], int]:
    """The host whose ranks were waited for longest, these ranks, and how long; no host where there are not several."""
    sums: dict[str, int] = {}
    ranks: dict[str, list[int]] = {}
    for one in case.stragglers:
        host = case.hosts.get(one.rank, "")
        sums[host] = sums.get(host, 0) + one.others_ns
        ranks.setdefault(host, []).append(one.rank)
    if "" in sums or len(sums) < 2 or max(map(len, ranks.values())) < 2:
        return "", (), 0
    worst = max(sums, key=lambda host: sums[host])
    return worst, tuple(sorted(ranks[worst])), sums[worst]


def _uneven(case: JobCase) -> Iterator[JobFinding]:
    """Computation that is more on some ranks than on most."""
    steps = case.steps
    if "computation_ns" not in steps.cells or len(steps.ranks) < 2:
        return
    computed = spreads(steps.values("computation_ns").T).median
    known = np.sort(computed[~np.isnan(computed)])
    # Of two ranks neither is the usual one: the one that computes less is what the other could do.
    usual = float(known[(len(known) - 1) // 2]) if len(known) else 0.0
    if usual <= 0:
        return
    most = float(np.nanmax(computed))
    if most < _UNEVEN * usual:
        return
    # Those that stand out: nearer to the one that has most than to the usual.
    above = np.flatnonzero(computed > (usual + most) / 2)
    ranks = tuple(steps.ranks[above].tolist())
    yield JobFinding(
        "uneven_work",
        Severity.WARNING,
        english("Ranks compute for unequally long"),
        _uneven_text(ranks, format_duration(round(usual)), format_duration(round(most))),
        ranks,
        0,
        english("See job_kernels: more calls are more work, longer calls a slower GPU."),
    )


def _uneven_text(ranks: tuple[int, ...], usual: str, most: str) -> str:
    if len(ranks) == 1:
        return english(
            "The usual rank computes for {usual} in a step, rank {rank} for {most} (medians over the steps).",
            usual=usual,
            most=most,
            rank=ranks[0],
        )
    return english(
        "The usual rank computes for {usual} in a step, ranks {ranks} for up to {most} (medians over the steps).",
        usual=usual,
        most=most,
        ranks=rank_text(ranks),
    )


def _links(case: JobCase) -> Iterator[JobFinding]:
    """Communicators that carry the same as others at a much lower bandwidth."""
    alike: dict[CommunicationFacts, list[Traffic]] = {}
    for one in case.traffic:
        if one.bus_bytes_per_s and one.meetings:
            alike.setdefault(one.alike, []).append(one)
    slow: dict[tuple[int, ...], tuple[float, Traffic, float]] = {}
    for ones in alike.values():
        if len(ones) < _ALIKE:
            continue
        usual = float(np.median([one.bus_bytes_per_s or 0.0 for one in ones]))
        for one in ones:
            part = (one.bus_bytes_per_s or 0.0) / usual
            if part < _SLOW_LINK and (one.ranks not in slow or part < slow[one.ranks][0]):
                slow[one.ranks] = (part, one, usual)
    for part, one, usual in sorted(slow.values(), key=lambda found: found[0])[:_ALIKE]:
        bandwidth = one.bus_bytes_per_s or 0.0
        wasted = one.transfer_ns * (1 - part) * one.meetings * one.size
        yield JobFinding(
            "slow_link",
            Severity.WARNING,
            english("A slow link"),
            english(
                "Ranks {ranks} carry {operation} at {bandwidth} GB/s of bus bandwidth, "
                "others the same at {usual} GB/s.",
                ranks=rank_text(one.ranks),
                operation=OPERATIONS[one.facts.operation],
                bandwidth=f"{bandwidth / 1e9:.1f}",
                usual=f"{usual / 1e9:.1f}",
            ),
            one.ranks,
            int(wasted),
            english("Check the links between these ranks: cables, adapters, the switch, the way NCCL chose."),
        )


def _clocks(case: JobCase) -> Iterator[JobFinding]:
    ranks = tuple(rank for rank, clock in sorted(case.clocks.items()) if not clock.fits)
    if ranks:
        yield JobFinding(
            "unfit_clock",
            Severity.NOTE,
            english("A clock that does not fit") if len(ranks) == 1 else english("Clocks that do not fit"),
            english(
                "Most ends of collectives of rank {rank} do not fit those of the others: its times cannot be held "
                "against theirs.",
                rank=ranks[0],
            )
            if len(ranks) == 1
            else english(
                "Most ends of collectives of ranks {ranks} do not fit those of the others: their times cannot be held "
                "against each other.",
                ranks=rank_text(ranks),
            ),
            ranks,
            0,
            english("Check that this trace is of the same run and the same steps as the others.")
            if len(ranks) == 1
            else english("Check that these traces are of the same run and the same steps as the others."),
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
            "uneven_memory",
            Severity.NOTE,
            english("One rank holds more memory")
            if len(ranks) == 1
            else english("Some ranks hold more memory"),
            english(
                "Rank {rank} holds {most} GB, most ranks {usual} GB.",
                rank=ranks[0],
                most=f"{most / 1e9:.1f}",
                usual=f"{usual / 1e9:.1f}",
            )
            if len(ranks) == 1
            else english(
                "Ranks {ranks} hold up to {most} GB, most ranks {usual} GB.",
                ranks=rank_text(ranks),
                most=f"{most / 1e9:.1f}",
                usual=f"{usual / 1e9:.1f}",
            ),
            ranks,
            0,
            english("The first rank to run out of memory ends the job: balance what they hold."),
        )
