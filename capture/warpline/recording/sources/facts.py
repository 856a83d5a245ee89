"""Facts that more than one source can tell: who provides one exactly says so, and others then need not estimate it."""

from __future__ import annotations

from dataclasses import dataclass

THREAD_STATES = "thread states"
"""When each thread ran, was runnable, was blocked."""


@dataclass(frozen=True)
class StepsOfProgram:
    """These processes (ids) said themselves where their steps begin and end: nobody need find them."""

    pids: frozenset[int]
