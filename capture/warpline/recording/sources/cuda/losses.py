"""Counts the GPU records that were lost, and says what they were and why."""

from __future__ import annotations

from collections import Counter

from warpline.i18n import english_n
from warpline.recording.sources.cuda import records
from warpline.recording.spool.reader import SpoolFile

_MEMCPY, _MEMSET, _GRAPH = 1, 2, 51
"""CUPTI's activity kinds."""


class Losses:
    """Lost records of all processes."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[int, int]] = Counter()

    def add(self, spool: SpoolFile) -> None:
        """Count what one process lost."""
        for row in spool.records(records.CUPTI_DROPPED, records.cupti_dropped).values:
            self._counts[int(row["cause"]), int(row["kind"])] += int(row["count"])

    @property
    def total(self) -> int:
        """All lost records."""
        return self._counts.total()

    def reason(self) -> str:
        """What was lost and why; empty if nothing was."""
        return "; ".join(
            _sentence(cause, kind, count) for (cause, kind), count in sorted(self._counts.items())
        )


def _sentence(cause: int, kind: int, count: int) -> str:
    if cause == records.LOST_UNFINISHED:
        return _unfinished(kind, count)
    if cause == records.LOST_NO_MEMORY:
        return english_n(
            "{count:,} GPU record was lost because the program had no memory left",
            "{count:,} GPU records were lost because the program had no memory left",
            count,
        )
    return english_n("CUPTI dropped {count:,} record", "CUPTI dropped {count:,} records", count)


def _unfinished(kind: int, count: int) -> str:
    if kind == _MEMCPY:
        return english_n(
            "{count:,} copy had not ended when the recording ended, and is not in the file",
            "{count:,} copies had not ended when the recording ended, and are not in the file",
            count,
        )
    if kind == _MEMSET:
        return english_n(
            "{count:,} memset had not ended when the recording ended, and is not in the file",
            "{count:,} memsets had not ended when the recording ended, and are not in the file",
            count,
        )
    if kind == _GRAPH:
        return english_n(
            "{count:,} graph launch had not ended when the recording ended, and is not in the file",
            "{count:,} graph launches had not ended when the recording ended, and are not in the file",
            count,
        )
    return english_n(
        "{count:,} kernel had not ended when the recording ended, and is not in the file",
        "{count:,} kernels had not ended when the recording ended, and are not in the file",
        count,
    )
