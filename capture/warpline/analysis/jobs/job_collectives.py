"""Communication over ranks: what it carried at which bandwidth, what was lost waiting, among which ranks."""

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


@dataclass(frozen=True, eq=False)
class Traffic:
    """One kind of communication of one communicator, over all its ranks.

    ``ranks`` took part, ``count`` events of theirs; ``transfer_ns`` is the median time that the last one to come was in
    it, NaN where none was matched with another rank's: all may have waited; ``lost_ns`` what the others waited for the
    last one, together; ``bus_bytes_per_s`` the bus bandwidth, None where no size or no transfer is told.
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
        """How many ranks the communicator has."""
        return self.facts.size or len(self.ranks)

    @property
    def algorithm_bytes_per_s(self) -> float | None:
        """Size by time."""
        if not self.facts.bytes or not self.transfer_ns > 0:
            return None
        return self.facts.bytes / self.transfer_ns * 1e9

    @property
    def bus_bytes_per_s(self) -> float | None:
        """The bus bandwidth as nccl-tests tells it (`bus_factor`)."""
        factor, bandwidth = bus_factor(self.facts.operation, self.size), self.algorithm_bytes_per_s
        return None if factor is None or bandwidth is None else bandwidth * factor

    @property
    def alike(self) -> CommunicationFacts:
        """What communicators of the same purpose have in common: all but name and ranks."""
        facts = replace(self.facts, ranks="")
        return replace(facts, group="") if self.facts.description else facts


def traffic(found: Meetings, last: LastOnes) -> list[Traffic]:
    """All communication of a job by communicator, operation and size."""
    size = len(found.facts)
    sums = np.zeros((3, size), np.int64)
    ranks: list[list[int]] = [[] for _ in range(size)]
    for rank, share in sorted(found.shares.items()):
        sums[:, share.facts] += np.stack([share.count, share.time_ns, share.exposed_ns])
        for place in share.facts.tolist():
            ranks[place].append(rank)
    lost, meetings = np.zeros(size, np.int64), np.bincount(last.facts, minlength=size)
    np.add.at(lost, last.facts, last.others_ns)
    transfer = np.full(size, np.nan)
    order = np.argsort(last.facts, kind="stable")
    kinds, first = np.unique(last.facts[order], return_index=True)
    for kind, part in zip(kinds.tolist(), np.split(last.transfer_ns[order], first[1:]), strict=False):
        transfer[kind] = np.median(part)
    return [
        Traffic(
            facts,
            tuple(ranks[place]),
            int(sums[0, place]),
            int(meetings[place]),
            int(sums[1, place]),
            int(sums[2, place]),
            float(transfer[place]),
            int(lost[place]),
        )
        for place, facts in enumerate(found.facts)
        if ranks[place]
    ]


def collectives_table(found: list[Traffic]) -> Table | NotRecorded:
    """A row for each operation, size and purpose: bandwidth, and what was lost waiting for the last one to come.

    Bandwidths are of the transfer: the time of the rank that came last, which waited for nobody. ``slowest`` is that
    of the communicator with the lowest, of ``communicators``, and its ranks.
    """
    if not found:
        return NotRecorded(english("no kernel of communication was recorded in a step"))
    alike: dict[CommunicationFacts, list[Traffic]] = {}
    for one in found:
        alike.setdefault(one.alike, []).append(one)
    rows = sorted(
        alike.items(),
        key=lambda row: (-sum(one.lost_ns for one in row[1]), -sum(one.time_ns for one in row[1])),
    )
    slowest = [min(ones, key=lambda one: one.bus_bytes_per_s or np.inf) for _, ones in rows]

    def totals(name: str) -> Int64Array:
        return np.array([sum(getattr(one, name) for one in ones) for _, ones in rows], np.int64)

    def middle(name: str) -> npt.NDArray[np.float64]:
        return recorded(np.array([_median([getattr(one, name) for one in ones]) for _, ones in rows]))

    sizes = np.array([facts.bytes for facts, _ in rows], np.int64)
    return Table(
        (
            Column("operation", english("Operation"), Role.NAME, key=True, ours=True),
            Column("name", english("Kernel"), Role.TEXT, key=True),
            Column("group", english("Communicator"), Role.TEXT, key=True),
            Column("kind", english("For"), Role.TEXT, ours=True),
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
            Column("slowest_ranks", english("Its ranks"), Role.TEXT),
        ),
        {
            "operation": [OPERATIONS[facts.operation] for facts, _ in rows],
            "name": [facts.name or None for facts, _ in rows],
            "group": [facts.description or facts.group or None for facts, _ in rows],
            "kind": [GROUP_KINDS.get(kind_of_group(facts.description)) for facts, _ in rows],
            "size": np.array([facts.size or max(one.size for one in ones) for facts, ones in rows], np.int64),
            "bytes": np.ma.MaskedArray(sizes, sizes == 0),
            "communicators": np.array([len(ones) for _, ones in rows], np.int64),
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
                    [_bandwidth_of_several(one, ones) for one, (_, ones) in zip(slowest, rows, strict=True)]
                )
            ),
            "slowest_ranks": [
                rank_text(one.ranks) if one.bus_bytes_per_s and len(ones) > 1 else None
                for one, (_, ones) in zip(slowest, rows, strict=True)
            ],
        },
        notes=_bandwidth_notes(found),
    )


def _bandwidth_notes(found: list[Traffic]) -> tuple[str, ...]:
    """What transfer and bandwidths are; where nothing was matched, which ranks' times would tell who waited."""
    notes = [
        english("Transfer: how long the rank that came last was in it, which waited for nobody."),
        english(
            "Bandwidths are those of nccl-tests: the bus bandwidth can be held against that of the links."
        ),
    ]
    alone = [one for one in found if not one.meetings and one.size > len(one.ranks)]
    if not alone:
        return tuple(notes)
    missing = {rank for one in alone for rank in ranks_of_text(one.facts.ranks)} - _present(found)
    known = notes if any(one.meetings for one in found) else []
    return (
        *known,
        english(
            "Transfer and bandwidths are not known where no call was matched with other ranks' (not given: {ranks}): "
            "nothing tells how much of it is waiting.",
            ranks=rank_text(tuple(sorted(missing))),
        )
        if missing
        else english(
            "Transfer and bandwidths are not known where no call was matched with other ranks': nothing tells how "
            "much of it is waiting."
        ),
    )


def groups_table(found: list[Traffic], steps: StepMatrix) -> Table | NotRecorded:
    """A row for each communicator: its purpose, its ranks, and what of their steps it took.

    ``exposed_ratio`` is the time of its communication that no computation hid, as a part of its ranks' steps; of a
    pipeline's sends and receives that is the bubble, in which a stage waits for another.
    """
    of_group: dict[tuple[str, str, str], list[Traffic]] = {}
    for one in found:
        if one.facts.group:
            of_group.setdefault(one.facts.communicator, []).append(one)
    if not of_group:
        return NotRecorded(
            english("no trace tells which ranks communicate with each other"),
            english(
                "record with PyTorch 2.2 or later, or on Ascend: their profilers write the process groups"
            ),
        )
    durations = _step_time(steps)
    rows = sorted(of_group.items(), key=lambda row: (-sum(one.exposed_ns for one in row[1]), row[0]))
    members = [_members(ones) for _, ones in rows]
    exposed = np.array([sum(one.exposed_ns for one in ones) for _, ones in rows], np.int64)
    bubbles = np.array([_bubble(key, ones) for key, ones in rows], np.float64)
    whole = np.array([sum(durations.get(rank, 0) for rank in _present(ones)) for _, ones in rows], np.float64)
    return Table(
        (
            Column("group", english("Communicator"), Role.NAME, key=True),
            Column("description", english("Description"), Role.TEXT, key=True),
            Column("ranks", english("Ranks"), Role.TEXT, key=True),
            Column("kind", english("For"), Role.TEXT, ours=True),
            Column("size", english("Size"), Role.COUNT),
            Column("count", english("Calls"), Role.COUNT),
            Column("time_ns", english("Total Time"), Role.DURATION),
            Column("exposed_ns", english("Exposed"), Role.DURATION, heat=True),
            Column("exposed_ratio", english("Exposed"), Role.RATIO, english("the steps of its ranks")),
            Column("bubble_ratio", english("Bubble"), Role.RATIO, english("the steps of its ranks")),
            Column("lost_ns", english("Lost waiting"), Role.DURATION),
        ),
        {
            "group": [key[0] for key, _ in rows],
            "description": [key[1] or None for key, _ in rows],
            "ranks": [rank_text(ranks) for ranks in members],
            "kind": [GROUP_KINDS.get(kind_of_group(key[1])) for key, _ in rows],
            "size": np.array([max(one.size for one in ones) for _, ones in rows], np.int64),
            "count": np.array([sum(one.count for one in ones) for _, ones in rows], np.int64),
            "time_ns": np.array([sum(one.time_ns for one in ones) for _, ones in rows], np.int64),
            "exposed_ns": exposed,
            "exposed_ratio": _part(exposed, whole),
            "bubble_ratio": _part(bubbles, whole),
            "lost_ns": np.ma.MaskedArray(
                np.array([sum(one.lost_ns for one in ones) for _, ones in rows], np.int64),
                [not any(one.meetings for one in ones) for _, ones in rows],
            ),
        },
        notes=()
        if np.isnan(bubbles).all()
        else (
            english(
                "Bubble: sends and receives of a pipeline that no computation hid; a stage waits for another."
            ),
        ),
    )


def _bubble(key: tuple[str, str, str], ones: list[Traffic]) -> float:
    """ns that ranks waited for another stage; NaN where the communicator is no pipeline's."""
    moved = [one for one in ones if one.facts.operation == "send_recv"]
    if not moved or kind_of_group(key[1]) not in ("pipeline", "all", ""):
        return np.nan
    return float(sum(one.exposed_ns for one in moved))


def _part(parts: npt.NDArray[np.number], whole: Float64Array) -> npt.NDArray[np.float64]:
    return recorded(np.divide(parts, whole, out=np.full(len(whole), np.nan), where=whole > 0))


def _step_time(steps: StepMatrix) -> Mapping[int, float]:
    """The steps of each rank together, ns."""
    total = np.nansum(steps.values("duration_ns"), axis=0)
    return dict(zip(steps.ranks.tolist(), total.tolist(), strict=True))


def _present(ones: list[Traffic]) -> set[int]:
    return {rank for one in ones for rank in one.ranks}


def _members(ones: list[Traffic]) -> tuple[int, ...]:
    return ranks_of_text(ones[0].facts.ranks) or tuple(sorted(_present(ones)))


def _bandwidth_of_several(one: Traffic, ones: list[Traffic]) -> float:
    return one.bus_bytes_per_s or np.nan if len(ones) > 1 else np.nan


def _median(values: list[float | None]) -> float:
    known = [value for value in values if value is not None and not np.isnan(value)]
    return float(np.median(known)) if known else np.nan


def rank_text(ranks: tuple[int, ...]) -> str:
    """Ranks for people: neighbours put together, the first few runs of many."""
    runs: list[list[int]] = []
    for rank in ranks:
        if runs and rank == runs[-1][-1] + 1:
            runs[-1] = [runs[-1][0], rank]
        else:
            runs.append([rank])
    named = ["–".join(map(str, run)) for run in runs[:_NAMED]]
    return ", ".join(named) + (", …" if len(runs) > _NAMED else "")
