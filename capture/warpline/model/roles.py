"""What the role of a track means for a view: its colour family, its place, what is folded and what counts as busy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, kw_only=True)
class TrackRole:
    """One role. A role that is not listed in `ROLES` gets these defaults.

    ``top_place`` and ``gpu_place`` order rows at the top and below a GPU or a context; None where a row of this
    kind has no place of its own. ``idle_share`` folds a row among many of its role that has no more events than
    this share of the busiest one; 0 for never. ``work_place`` says how well a track below a thread shows when the
    thread was at work, best first; None for a track that does not show it as such.
    """

    name: str
    family: str = "range"
    """The colour family of its rows."""
    top_place: int | None = None
    gpu_place: int = 5
    idle_share: float = 0
    is_group: bool = False
    work_place: int | None = None
    shows_work: bool = True
    """Whether its events show what was done, not only when."""
    is_nested: bool = False
    """Whether its first lane alone shows how long it was busy."""
    has_busy_share: bool = True
    """Whether a busy share of its events is meaningful; for samples and allocations it is not."""


_IDLE_SHARE = 0.002
_IDLE_PROCESS_SHARE = 0.05  # a shell that starts the program runs dozens of helpers, each for milliseconds

ROLES: Mapping[str, TrackRole] = MappingProxyType(
    {
        role.name: role
        for role in (
            TrackRole(name="rank", top_place=0, is_group=True),
            TrackRole(name="group", is_group=True),
            TrackRole(name="cores", family="core", top_place=2, is_group=True),
            TrackRole(name="core", family="core", idle_share=_IDLE_SHARE),
            TrackRole(
                name="process", family="running", top_place=3, idle_share=_IDLE_PROCESS_SHARE, is_group=True
            ),
            TrackRole(name="thread", family="running", idle_share=_IDLE_SHARE),
            TrackRole(name="state", family="running", work_place=0, shows_work=False),
            TrackRole(name="thread_cpu", family="core", shows_work=False),
            TrackRole(name="operators", family="operator", work_place=1, is_nested=True),
            TrackRole(name="api", family="api", work_place=2),
            TrackRole(name="ranges", family="range", work_place=3, is_nested=True),
            TrackRole(name="phases", family="phase", work_place=4),
            TrackRole(name="osrt", family="os", work_place=5),
            TrackRole(name="other", work_place=6),
            TrackRole(name="samples", family="python", work_place=7, has_busy_share=False),
            TrackRole(name="cpu_samples", family="python", work_place=8, has_busy_share=False),
            TrackRole(name="python", family="python", work_place=9, is_nested=True),
            TrackRole(name="memory", family="memory", has_busy_share=False),
            TrackRole(name="overhead", family="overhead"),
            TrackRole(name="gpu", family="kernel", top_place=1, is_group=True),
            TrackRole(name="streams", family="kernel", gpu_place=1),
            TrackRole(name="stream", family="kernel", gpu_place=1, idle_share=_IDLE_SHARE),
            TrackRole(name="projection", gpu_place=2),
            TrackRole(name="context", family="kernel", gpu_place=3),
            TrackRole(name="sync", family="sync", gpu_place=4),
            TrackRole(name="counter", family="kernel", gpu_place=0, shows_work=False),
            TrackRole(name="more", shows_work=False),
        )
    }
)
"""The roles that Warpline's own sources and importers give to tracks."""


def role_of(name: str) -> TrackRole:
    """The role of this name; a role with default values for an unknown name."""
    return ROLES.get(name) or TrackRole(name=name)
