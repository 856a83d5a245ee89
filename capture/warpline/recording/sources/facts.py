"""Facts that several sources can record. If one records a fact exactly, the others need not estimate it."""

from __future__ import annotations

from dataclasses import dataclass

THREAD_STATES = "thread states"
"""When each thread was running, runnable or blocked."""


@dataclass(frozen=True)
class StepsOfProgram:
    """Ids of processes that mark their own training steps, so that steps need not be detected."""

    pids: frozenset[int]
