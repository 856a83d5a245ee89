"""Columns that identify threads: rank, process id, thread id, title."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.report import Texts, Values
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.tables import masked_below_zero

Int64Array = npt.NDArray[np.int64]


def thread_titles(view: View) -> Callable[[int], str]:
    """Titles of thread indices (−2 − track for tracks without a thread): "name (tid)", after the rank if any."""
    capture = view.capture
    ranks = _ranks_of_threads(view)

    def text(thread: int) -> str:
        rank: int | None
        if thread >= 0:
            entry = capture.threads[thread]
            title = entry.label or str(entry.tid)
            rank = ranks.get(thread)
        else:
            track = -2 - thread
            if not 0 <= track < len(capture.tracks):
                return ""
            title, rank = capture.tracks[track].title, capture.tracks[track].rank
        return title if rank is None else f"Rank {rank} · {title}"

    return text


def _ranks_of_threads(view: View) -> dict[int, int]:
    """The rank of each thread index that has one: the rank of its tracks."""
    return {t.thread: t.rank for t in view.capture.tracks if t.thread is not None and t.rank is not None}


def pid_tid(view: View, threads: Sequence[int] | Int64Array) -> tuple[Int64Array, Int64Array]:
    """Process and thread ids of thread indices; −1 for tracks without a thread (mask it)."""
    capture = view.capture
    tids = np.array([t.tid for t in capture.threads] + [-1], np.int64)
    pids = np.array(
        [
            capture.processes[t.process].pid if 0 <= t.process < len(capture.processes) else -1
            for t in capture.threads
        ]
        + [-1],
        np.int64,
    )
    index = np.asarray(threads, np.int64)
    index = np.where(index < 0, len(capture.threads), index)
    return pids[index], tids[index]


PID_TID = (Column("pid", "PID", Role.ID, key=True), Column("tid", "TID", Role.ID, key=True))
"""Key columns with the data of `pid_tid_data`."""


def pid_tid_data(view: View, threads: Sequence[int] | Int64Array) -> dict[str, Values]:
    """The data of `PID_TID` for thread indices, masked for tracks without a thread."""
    pids, tids = pid_tid(view, threads)
    return {"pid": masked_below_zero(pids), "tid": masked_below_zero(tids)}


def thread_texts(view: View, threads: Int64Array) -> Texts:
    """`thread_titles` of thread indices as a column."""
    # Codes of texts are at least 0.
    shift = len(view.capture.tracks) + 2
    title = thread_titles(view)
    return Texts(threads + shift, lambda code: title(code - shift))


def rank_columns(view: View, threads: Int64Array) -> tuple[tuple[Column, ...], dict[str, Values]]:
    """A key column with the rank of each thread index, and its data; nothing if the capture has no ranks.

    Ranks distinguish equal process and thread ids of several machines.
    """
    ranks = _ranks_of_threads(view)
    if not ranks:
        return (), {}
    count = len(view.capture.threads)
    by_thread = np.array([ranks.get(thread, -1) for thread in range(count + 1)], np.int64)
    data: dict[str, Values] = {"rank": masked_below_zero(by_thread[np.where(threads < 0, count, threads)])}
    return (Column("rank", "Rank", Role.ID, key=True),), data
