"""Aligns ranks by the pings that their recordings were timed with (``warpline record --on A,B``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from warpline.analysis.framework.report import Table
from warpline.analysis.jobs.clocks import RankClock

_LATEST_NS = 1 << 61
REFERENCE, ORIGIN, BOUND = "clock_reference", "clock_origin_ns", "clock_bound_ns"


@dataclass(frozen=True)
class PingedClock:
    """When a capture begins on the clock ``reference``, in ns, give or take ``bound_ns``."""

    reference: str
    origin_ns: int
    bound_ns: int


def pinged_clock(meta: Mapping[str, Any]) -> PingedClock | None:
    """The clock in a capture's metadata: ``host.clock`` (docs/format.md); None when it was not compared."""
    host = meta.get("host")
    clock = host.get("clock") if isinstance(host, dict) else None
    if not isinstance(clock, dict) or not isinstance(clock.get("reference"), str):
        return None
    values = [meta.get("start_monotonic_ns"), clock.get("offset_ns"), clock.get("bound_ns")]
    numbers = [value for value in values if isinstance(value, int) and -_LATEST_NS < value < _LATEST_NS]
    if len(numbers) < len(values):
        return None
    start, offset, bound = numbers
    return PingedClock(clock["reference"], start - offset, bound)


def pinged_clocks(facts: Mapping[int, Table], known: Mapping[int, RankClock]) -> dict[int, RankClock]:
    """The clocks of ranks that are not ``known`` and were timed with the same clock as others, from their `rank_facts`.

    ``residual_ns`` is the bound of the offset to the reference. That is a reference of the known clocks where one was
    timed too, so that its offsets and these can be compared.
    """
    groups: dict[str, dict[int, PingedClock]] = {}
    for rank in sorted(facts):
        clock = _of_facts(facts[rank])
        if clock is not None:
            groups.setdefault(clock.reference, {})[rank] = clock
    clocks: dict[int, RankClock] = {}
    for group in groups.values():
        missing = [rank for rank in group if rank not in known]
        if len(group) < 2 or not missing:
            continue
        reference = next(
            (rank for rank in group if rank in known and known[rank].reference == rank), missing[0]
        )
        base = group[reference]
        for rank in missing:
            clocks[rank] = RankClock(
                rank=rank,
                reference=reference,
                offset_ns=base.origin_ns - group[rank].origin_ns,
                residual_ns=0 if rank == reference else base.bound_ns + group[rank].bound_ns,
                collectives=0,
                agreeing=1.0,
            )
    return clocks


def _of_facts(table: Table) -> PingedClock | None:
    if REFERENCE not in table.data or table.value(0, REFERENCE) is None:
        return None
    return PingedClock(*(table.value(0, name) for name in (REFERENCE, ORIGIN, BOUND)))
