"""Three ranks that meet two by two, each late for one meeting because it waited in another: nobody waits for ever."""

from __future__ import annotations

import numpy as np

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.report import Table, Texts, Values
from warpline.analysis.jobs.communication_facts import CommunicationFacts
from warpline.analysis.jobs.meetings import Meetings, last_ones

MS = 1_000_000


def communications(rows: list[tuple[str, int, int]]) -> Table:
    """The columns that meetings read of a rank's table of communication."""
    zeros = np.zeros(len(rows), np.int64)
    texts = [facts for facts, _start, _stop in rows]
    data: dict[str, Values] = {
        "facts": Texts(np.arange(len(rows)), texts.__getitem__),
        "step": zeros,
        "place": zeros,
        "start_ns": np.array([start for _facts, start, _stop in rows]),
        "stop_ns": np.array([stop for _facts, _start, stop in rows]),
        "exposed_ns": zeros,
    }
    return Table(tuple(Column(name, name, Role.COUNT) for name in data), data)


def test_a_circle_of_blame_ends() -> None:
    def of(name: str, ranks: str) -> str:
        return CommunicationFacts(operation="all_reduce", group=name, ranks=ranks, size=2).text()

    a, b, c = of("A", "[0, 2]"), of("B", "[0, 1]"), of("C", "[1, 2]")
    found = Meetings()
    for rank, (begun, joined) in enumerate(((a, b), (b, c), (c, a))):
        found.add(rank, communications([(begun, 0, 2 * MS), (joined, MS, 2 * MS)]))
    assert sorted(last_ones(found).blamed.tolist()) == [0, 1, 2]
