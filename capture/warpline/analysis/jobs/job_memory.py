"""How much memory each rank held."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.report import NotRecorded, Table, Values, python_values
from warpline.analysis.jobs.distribution import recorded
from warpline.i18n import english

_NAMES = ("host", "gpu")
_SIZES = ("allocated_bytes", "reserved_bytes", "used_bytes")


def memory_table(facts: Mapping[int, Table]) -> Table | NotRecorded:
    """A row for each rank: host, GPU, and peak bytes allocated, reserved, and in use on the GPU."""
    ranks = sorted(facts)
    columns = [Column("rank", english("Rank"), Role.ID, key=True)]
    data: dict[str, Values] = {"rank": np.array(ranks, np.int64)}
    if ranks:
        for column in facts[ranks[0]].columns:
            if column.name not in (*_NAMES, *_SIZES):
                continue
            values = [facts[rank].value(0, column.name) for rank in ranks]
            if column.name in _SIZES:
                data[column.name] = recorded(
                    np.array([np.nan if value is None else value for value in values])
                )
            else:
                data[column.name] = [None if value is None else str(value) for value in values]
            columns.append(column)
    if not any(
        name in data and any(value is not None for value in python_values(data[name])) for name in _SIZES
    ):
        return NotRecorded(
            english("no rank recorded memory"),
            english("record with profile_memory=True, or with warpline record --trace nvml"),
        )
    return Table(tuple(columns), data)
