"""Communication over ranks: bandwidth, time lost waiting, and the communicators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.report import NotRecorded, Table
from warpline.analysis.jobs.communication_facts import (
    GROUP_KINDS,
    OPERATIONS,
    CommunicationFacts,
    bus_factor,
    kind_of_group,
    ranks_of_text,
)
from warpline.analysis.jobs.distribution import recorded
from warpline.analysis.jobs.meetings import LastOnes, Meetings
from warpline.analysis.jobs.step_matrix import StepMatrix
from warpline.i18n import english

Int64Array = npt.NDArray[np.int64]
Float64Array = npt.NDArray[np.float64]
_NAMED = 8


@dataclass(frozen=True, eq=False, kw_only=True)
class Traffic:
    """One kind of communication of one communicator, over all its ``ranks``, with ``count`` events.

    ``transfer_ns`` is the median time of the last rank to arrive; NaN without a match on other ranks, since all may
    have waited. ``lost_ns`` is the total wait for the last rank.
    """

    facts: CommunicationFacts
    ranks: tuple[int, ...]
    count: int
    meetings: int
    time_ns: int
    exposed_ns: int
    transfer_ns: float
    lost_ns: int

    @property
    def size(self) -> int:
        """The number of ranks of the communicator."""
        return self.facts.size or len(self.ranks)

    @property
    def algorithm_bytes_per_s(self) -> float | None:
        """Size divided by transfer time; None when either is unknown."""
        if not self.facts.bytes or not self.transfer_ns > 0:
            return None
        return self.facts.bytes / self.transfer_ns * 1e9

    @property
    def bus_bytes_per_s(self) -> float | None:
        """The bus bandwidth as nccl-tests defines it (`bus_factor`); None when unknown."""
        factor, bandwidth = bus_factor(self.facts.operation, self.size), self.algorithm_bytes_per_s
        return None if factor is None or bandwidth is None else bandwidth * factor

    @property
    def alike(self) -> CommunicationFacts:
        """The facts without name and ranks, equal for communicators of the same purpose."""
        facts = replace(self.facts, ranks="")
        return replace(facts, group="") if self.facts.description else facts


def traffic(meetings: Meetings, last: LastOnes) -> list[Traffic]:
    """All communication of a job by communicator, operation and size."""
    size = len(meetings.facts)
    sums = np.zeros((3, size), np.int64)
    ranks: list[list[int]] = [[] for _ in range(size)]
    for rank, share in sorted(meetings.shares.items()):
        sums[:, share.facts] += np.stack([share.count, share.time_ns, share.exposed_ns])
        for place in share.facts.tolist():
            ranks[place].append(rank)
    lost, counts = np.zeros(size, np.int64), np.bincount(last.facts, minlength=size)
    np.add.at(lost, last.facts, last.others_ns)
    transfer = np.full(size, np.nan)
    order = np.argsort(last.facts, kind="stable")
    kinds, first = np.unique(last.facts[order], return_index=True)
    for kind, part in zip(kinds.tolist(), np.split(last.transfer_ns[order], first[1:]), strict=False):
        transfer[kind] = np.median(part)
    return [
        Traffic(
            facts=facts,
            ranks=tuple(ranks[place]),
            count=int(sums[0, place]),
            meetings=int(counts[place]),
            time_ns=int(sums[1, place]),
            exposed_ns=int(sums[2, place]),
            transfer_ns=float(transfer[place]),
            lost_ns=int(lost[place]),
        )
        for place, facts in enumerate(meetings.facts)
        if ranks[place]
    ]


def collectives_table(traffic: list[Traffic]) -> Table | NotRecorded:
    """A row for each operation, size and purpose: bandwidth, and the time lost waiting for the last rank.

    Bandwidths are those of the transfer: the time of the last rank, which waits for no one. ``slowest`` is the lowest
    bandwidth of the ``communicators``, with its ranks.
    """
    if not traffic:
        return NotRecorded(english("no communication kernel was recorded in a step"))
    alike: dict[CommunicationFacts, list[Traffic]] = {}
    for item in traffic:
        alike.setdefault(item.alike, []).append(item)
    rows = sorted(
        alike.items(),
        key=lambda row: (-sum(item.lost_ns for item in row[1]), -sum(item.time_ns for item in row[1])),
    )
    slowest = [min(group, key=lambda item: item.bus_bytes_per_s or np.inf) for _, group in rows]

    def totals(name: str) -> Int64Array:
        return np.array([sum(getattr(item, name) for item in group) for _, group in rows], np.int64)

    def middle(name: str) -> npt.NDArray[np.float64]:
        return recorded(np.array([_median([getattr(item, name) for item in group]) for _, group in rows]))

    sizes = np.array([facts.bytes for facts, _ in rows], np.int64)
    return Table(
        (
            Column("operation", english("Operation"), Role.NAME, key=True, ours=True),
            Column("name", english("Kernel"), Role.TEXT, key=True),
            Column("group", english("Communicator"), Role.TEXT, key=True),
            Column("kind", english("Purpose"), Role.TEXT, ours=True),
            Column("size", english("Ranks"), Role.COUNT, key=True),
            Column("bytes", english("Size"), Role.SIZE, key=True),
            Column("communicators", english("Communicators"), Role.COUNT),
            Column("count", english("Calls"), Role.COUNT),
            Column("meetings", english("Matched"), Role.COUNT),
            Column("lost_ns", english("Lost waiting"), Role.DURATION, heat=True),
            Column("time_ns", english("Total Time"), Role.DURATION),
            Column("exposed_ns", english("Exposed"), Role.DURATION),
            Column("transfer_ns", english("Transfer"), Role.DURATION),
            Column("algorithm_bytes_per_s", english("Algorithm bandwidth"), Role.THROUGHPUT),
            Column("bus_bytes_per_s", english("Bus bandwidth"), Role.THROUGHPUT),
            Column("slowest_bytes_per_s", english("Slowest communicator"), Role.THROUGHPUT),
            Column("slowest_ranks", english("Slowest ranks"), Role.TEXT),
        ),
        {
            "operation": [OPERATIONS[facts.operation] for facts, _ in rows],
            "name": [facts.name or None for facts, _ in rows],
            "group": [facts.description or facts.group or None for facts, _ in rows],
            "kind": [GROUP_KINDS.get(kind_of_group(facts.description)) for facts, _ in rows],
            "size": np.array(
                [facts.size or max(item.size for item in group) for facts, group in rows], np.int64
            ),
            "bytes": np.ma.MaskedArray(sizes, sizes == 0),
            "communicators": np.array([len(group) for _, group in rows], np.int64),
            "count": totals("count"),
            "meetings": totals("meetings"),
            "lost_ns": np.ma.MaskedArray(totals("lost_ns"), totals("meetings") == 0),
            "time_ns": totals("time_ns"),
            "exposed_ns": totals("exposed_ns"),
            "transfer_ns": middle("transfer_ns"),
            "algorithm_bytes_per_s": middle("algorithm_bytes_per_s"),
            "bus_bytes_per_s": middle("bus_bytes_per_s"),
            "slowest_bytes_per_s": recorded(
                np.array(
                    [
                        _bandwidth_of_several(item, group)
                        for item, (_, group) in zip(slowest, rows, strict=True)
                    ]
                )
            ),
            "slowest_ranks": [
                rank_text(item.ranks) if item.bus_bytes_per_s and len(group) > 1 else None
                for item, (_, group) in zip(slowest, rows, strict=True)
            ],
        },
        notes=_bandwidth_notes(traffic),
    )


def _bandwidth_notes(traffic: list[Traffic]) -> tuple[str, ...]:
    """Notes that define transfer and bandwidth; if calls have no match, they also name the missing ranks."""
    notes = [
        english("Transfer: the time of the rank that came last, which waits for no one."),
        english("Bandwidths are defined as in nccl-tests: compare the bus bandwidth with that of the links."),
    ]
    unmatched = [item for item in traffic if not item.meetings and item.size > len(item.ranks)]
    if not unmatched:
        return tuple(notes)
    missing = {rank for item in unmatched for rank in ranks_of_text(item.facts.ranks)} - _present(traffic)
    known = notes if any(item.meetings for item in traffic) else []
    return (
        *known,
        english(
            "Some calls have no match on other ranks (missing: {ranks}). Their transfer time and bandwidth are "
            "unknown: they may have waited.",
            ranks=rank_text(tuple(sorted(missing))),
        )
        if missing
        else english(
            "Some calls have no match on other ranks. Their transfer time and bandwidth are unknown: they may have "
            "waited."
        ),
    )


def groups_table(traffic: list[Traffic], steps: StepMatrix) -> Table | NotRecorded:
    """A row for each communicator: its purpose, its ranks, and its share of their steps.

    ``exposed_ratio`` is its exposed communication as a share of its ranks' steps. For a pipeline's sends and receives
    that is the bubble, in which one stage waits for another.
    """
    groups: dict[tuple[str, str, str], list[Traffic]] = {}
    for item in traffic:
        if item.facts.group:
            groups.setdefault(item.facts.communicator, []).append(item)
    if not groups:
        return NotRecorded(
            english("no trace records which ranks communicate"),
            english("record with PyTorch 2.2 or later, or on Ascend, whose profilers write process groups"),
        )
    durations = _step_time(steps)
    rows = sorted(groups.items(), key=lambda row: (-sum(item.exposed_ns for item in row[1]), row[0]))
    members = [_members(group) for _, group in rows]
    exposed = np.array([sum(item.exposed_ns for item in group) for _, group in rows], np.int64)
    bubbles = np.array([_bubble(key, group) for key, group in rows], np.float64)
    whole = np.array(
        [sum(durations.get(rank, 0) for rank in _present(group)) for _, group in rows], np.float64
    )
    return Table(
        (
            Column("group", english("Communicator"), Role.NAME, key=True),
            Column("description", english("Description"), Role.TEXT, key=True),
            Column("ranks", english("Ranks"), Role.TEXT, key=True),
            Column("kind", english("Purpose"), Role.TEXT, ours=True),
            Column("size", english("Size"), Role.COUNT),
            Column("count", english("Calls"), Role.COUNT),
            Column("time_ns", english("Total Time"), Role.DURATION),
            Column("exposed_ns", english("Exposed"), Role.DURATION, heat=True),
            Column("exposed_ratio", english("Exposed"), Role.RATIO, of=english("the steps of its ranks")),
            Column("bubble_ratio", english("Bubble"), Role.RATIO, of=english("the steps of its ranks")),
            Column("lost_ns", english("Lost waiting"), Role.DURATION),
        ),
        {
            "group": [key[0] for key, _ in rows],
            "description": [key[1] or None for key, _ in rows],
            "ranks": [rank_text(ranks) for ranks in members],
            "kind": [GROUP_KINDS.get(kind_of_group(key[1])) for key, _ in rows],
            "size": np.array([max(item.size for item in group) for _, group in rows], np.int64),
            "count": np.array([sum(item.count for item in group) for _, group in rows], np.int64),
            "time_ns": np.array([sum(item.time_ns for item in group) for _, group in rows], np.int64),
            "exposed_ns": exposed,
            "exposed_ratio": _part(exposed, whole),
            "bubble_ratio": _part(bubbles, whole),
            "lost_ns": np.ma.MaskedArray(
                np.array([sum(item.lost_ns for item in group) for _, group in rows], np.int64),
                [not any(item.meetings for item in group) for _, group in rows],
            ),
        },
        notes=()
        if np.isnan(bubbles).all()
        else (
            english(
                "Bubble: exposed sends and receives of a pipeline, in which one stage waits for another."
            ),
        ),
    )


def _bubble(key: tuple[str, str, str], group: list[Traffic]) -> float:
    """The time that ranks waited for another stage, ns; NaN for communicators that are no pipeline's."""
    moved = [item for item in group if item.facts.operation == "send_recv"]
    if not moved or kind_of_group(key[1]) not in ("pipeline", "all", ""):
        return np.nan
    return float(sum(item.exposed_ns for item in moved))


def _part(parts: npt.NDArray[np.number], whole: Float64Array) -> npt.NDArray[np.float64]:
    return recorded(np.divide(parts, whole, out=np.full(len(whole), np.nan), where=whole > 0))


def _step_time(steps: StepMatrix) -> Mapping[int, float]:
    """The total time of each rank's steps, ns."""
    total = np.nansum(steps.values("duration_ns"), axis=0)
    return dict(zip(steps.ranks.tolist(), total.tolist(), strict=True))


def _present(group: list[Traffic]) -> set[int]:
    return {rank for item in group for rank in item.ranks}


def _members(group: list[Traffic]) -> tuple[int, ...]:
    return ranks_of_text(group[0].facts.ranks) or tuple(sorted(_present(group)))


def _bandwidth_of_several(slowest: Traffic, group: list[Traffic]) -> float:
    return slowest.bus_bytes_per_s or np.nan if len(group) > 1 else np.nan


def _median(values: list[float | None]) -> float:
    known = [value for value in values if value is not None and not np.isnan(value)]
    return float(np.median(known)) if known else np.nan


def rank_text(ranks: tuple[int, ...]) -> str:
    """Ranks as text, with consecutive ones joined (``0–3, 7``); only the first few of many."""
    runs: list[list[int]] = []
    for rank in ranks:
        if runs and rank == runs[-1][-1] + 1:
            runs[-1] = [runs[-1][0], rank]
        else:
            runs.append([rank])
    named = ["–".join(map(str, run)) for run in runs[:_NAMED]]
    return ", ".join(named) + (", …" if len(runs) > _NAMED else "")
