"""Maps event types to NVTX categories, which the agent records."""

from __future__ import annotations

from warpline.annotation import Agent
from warpline.profiling.states import TracerEventType

_FIRST_CATEGORY = 0x57410000
"""NVTX categories are chosen by programs; these numbers are unlikely to be used."""
_has_names: Agent | None = None


def category_of(event_type: TracerEventType, agent: Agent) -> int:
    """The NVTX category of a type; its name is passed to the agent once."""
    global _has_names
    if _has_names is not agent:
        _has_names = agent
        for known in TracerEventType:
            agent.warpline_name_category(_FIRST_CATEGORY + known, known.name.encode())
    return _FIRST_CATEGORY + event_type
