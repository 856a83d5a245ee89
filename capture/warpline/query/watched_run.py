"""Runs a query for a job, so that cancelling the job ends the query."""

from __future__ import annotations

import threading

from warpline.memory_room import require_memory
from warpline.model.progress import IsCancelled, check_cancelled
from warpline.query.session import QueryResult, QuerySession

_LOOK_S = 0.05


def run_query(
    session: QuerySession, sql: str, limit: int, is_cancelled: IsCancelled, seconds: float | None = None
) -> QueryResult:
    """The first ``limit`` rows of a query; ends it when ``is_cancelled`` becomes true. ``seconds`` as `run` has it.

    Raises Cancelled, and what `QuerySession.run` raises.
    """
    check_cancelled(is_cancelled)
    require_memory()
    is_done = threading.Event()

    def watch() -> None:
        while not is_done.wait(_LOOK_S):
            if is_cancelled():
                # Again until it has ended: a run that was about to begin forgets the first.
                session.cancel()

    watcher = threading.Thread(target=watch, name="query watcher", daemon=True)
    watcher.start()
    try:
        return session.run(sql, limit=limit, seconds=seconds)
    finally:
        is_done.set()
        watcher.join()
        check_cancelled(is_cancelled)
