"""Groups of tracks, and the lanes from which the group's utilization is computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum

from warpline.model import Track


class Together(IntEnum):
    """How the busy lanes of a group are combined."""

    SUM = 0
    """The number of busy lanes."""
    UNION = 1
    """1 while any lane is busy."""


@dataclass(frozen=True)
class LaneGroup:
    """The lanes of a group track. Its utilization is their combined busy time divided by ``capacity``."""

    track: int
    lanes: tuple[int, ...]
    together: Together
    capacity: int


_MEMBERS: dict[str, tuple[tuple[str, ...], Together]] = {
    # Roles in order of preference: the first one that has lanes counts.
    "cores": (("core",), Together.SUM),
    "process": (("thread_cpu", "state"), Together.SUM),
    "gpu": (("stream",), Together.UNION),
    "context": (("stream",), Together.UNION),
    "streams": (("stream",), Together.UNION),
}


def find_groups(tracks: Sequence[Track], lanes_of: Callable[[int], Sequence[int]]) -> dict[int, LaneGroup]:
    """Groups by the index of their track: cores, processes, GPUs, contexts. Tracks come after their parents.

    Lanes whose track ticks in another clock than the group's leave the group without an entry.
    """
    members: dict[int, dict[str, list[int]]] = {}
    wanted = {role for roles, _ in _MEMBERS.values() for role in roles}
    for track in tracks:
        if track.role not in wanted:
            continue
        above = track.parent
        while above >= 0:
            if track.role in _MEMBERS.get(tracks[above].role, ((), None))[0]:
                members.setdefault(above, {}).setdefault(track.role, []).append(track.index)
            above = tracks[above].parent
    groups = {}
    for index, by_role in members.items():
        roles, together = _MEMBERS[tracks[index].role]
        for role in roles:
            member_tracks = by_role.get(role, [])
            lanes = tuple(lane for track in member_tracks for lane in lanes_of(track))
            if lanes:
                if all(tracks[track].clock == tracks[index].clock for track in member_tracks):
                    capacity = len(member_tracks) if tracks[index].role == "cores" else 1
                    groups[index] = LaneGroup(index, lanes, together, capacity)
                break
    return groups
