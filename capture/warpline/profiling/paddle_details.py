"""What Paddle marks beside its events, and records where a profiler asks for it."""

from __future__ import annotations

from enum import IntFlag

from warpline import annotation


class PaddleDetails(IntFlag):
    """Details of Paddle's operators; the agent knows their numbers (``details.c``)."""

    NONE = 0
    PARTS = 1
    """Parts of operators: infer_meta, kernel launches."""
    SHAPES = 2
    """Shapes of the inputs of operators."""
    MEMORY = 4
    """Allocations and releases of Paddle's allocator."""


def ask(details: PaddleDetails) -> None:
    """From now on record these details in the process; does nothing outside a recording."""
    agent = annotation.connected_agent()
    if agent is not None:
        agent.warpline_ask_paddle(int(details))
