"""What there is to explain of a timeline's colours, heights and textures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from warpline.i18n import english, translated
from warpline.model import Flag
from warpline.model.communication import is_communication
from warpline.model.waits import WAIT_FAMILIES, WAIT_KINDS
from warpline_app.timeline.draw import codes
from warpline_app.timeline.model.name_rows import copy_family

if TYPE_CHECKING:
    from warpline.storage import Capture

_PIECE = 1 << 20
_EXPLAINED = frozenset(("thread_state", "cuda_api", "kernel", "memcpy", "memset"))


@dataclass(frozen=True)
class LegendEntry:
    """A colour family in one of its variants (`codes`) and what it means; ``column`` and ``text`` list its events
    (``text`` empty: not to be listed).
    """

    color: str
    title: str
    column: str = ""
    text: str = ""
    hint: str = ""
    variant: int = codes.SOLID


_STATES = (
    LegendEntry("running", english("running"), "name", "=running"),
    LegendEntry("runnable", english("waits for a core"), "name", "=runnable"),
)
_UNKNOWN = LegendEntry(
    "blocked",
    english("blocked, not known why"),
    hint=english("Blocked outside the calls that are measured, or shorter than the threshold"),
)
_BLOCKED = LegendEntry(
    "blocked",
    english("blocked"),
    "name",
    "=blocked",
    english("Waits for something; for what was not recorded"),
)
_GPU = (
    LegendEntry("kernel", english("kernel"), hint=english("Computes on a GPU")),
    LegendEntry("communication", english("communication"), hint=english("A kernel that talks to other GPUs")),
    LegendEntry("copy_to_device", english("copy to GPU"), hint=english("From the memory of the host")),
    LegendEntry("copy_to_host", english("copy to host"), hint=english("From the memory of a GPU")),
    LegendEntry("copy_on_device", english("copy on GPU"), hint=english("Inside a GPU or between two")),
    LegendEntry("set", english("memory set"), hint=english("Fills memory of a GPU with a value")),
    LegendEntry("api", english("call"), hint=english("A call of the GPU's API by a thread")),
    LegendEntry(
        "sync", english("waits for GPU"), hint=english("A call or a stream that waits for work on a GPU")
    ),
)
_FEATURES = (
    LegendEntry(
        "neutral",
        english("estimated"),
        hint=english("Striped: known from samples, not measured from beginning to end"),
        variant=codes.ESTIMATED,
    ),
    LegendEntry(
        "neutral",
        english("cut off"),
        hint=english("Torn: began before the recording or ended after it"),
        variant=codes.CUT,
    ),
)
_PAUSED = LegendEntry(
    "empty", english("paused"), hint=english("Nothing was recorded here"), variant=codes.PAUSE
)
_PARTLY = LegendEntry(
    "neutral",
    english("busy in part"),
    hint=english("Events too short to be drawn one by one: the height is the share of time they take"),
    variant=codes.DENSITY + codes.LEVELS // 2,
)
_DIMMED = LegendEntry(
    "kernel",
    english("not of the selection"),
    hint=english("What belongs to the selected event, passes the filter or was found keeps its full colour"),
    variant=codes.DIM,
)


def wait_kinds(capture: Capture) -> frozenset[int]:
    """Which kinds of waits the thread states of a capture name; looks at pieces until all were met."""
    table = capture.kinds.get("thread_state")
    found: set[int] = set()
    if table is None or "wait" not in table.attributes:
        return frozenset()
    values, valid = table.column("wait")
    for first in range(0, len(values), _PIECE):
        part = values[first : first + _PIECE][valid[first : first + _PIECE]]
        found.update(np.flatnonzero(np.bincount(part)).tolist())
        if len(found) >= len(WAIT_KINDS) - 1:
            break
    return frozenset(found - {0})


def might_explain(capture: Capture) -> bool:
    """Whether `legend_entries` will most likely have some: a look at kinds, none at events."""
    return not _EXPLAINED.isdisjoint(capture.kinds)


def legend_entries(capture: Capture, only: Sequence[str] = ()) -> tuple[LegendEntry, ...]:
    """What there is to explain: states and what they wait for, kinds of GPU work, what textures mean.

    ``only`` names the tracks that are shown, with those below them, by their URIs; without any all are.
    """
    shown = {
        track.role
        for track in capture.tracks
        if not only or any(track.uri == uri or track.uri.startswith(f"{uri}/") for uri in only)
    }
    states = _states(capture) if "state" in shown else ()
    entries = (*states, *(entry for entry in _gpu(capture) if "api" in shown or entry.color != "api"))
    return (*entries, *_textures(capture), _PARTLY, _DIMMED) if entries else ()


def _states(capture: Capture) -> tuple[LegendEntry, ...]:
    if "thread_state" not in capture.kinds:
        return ()
    kinds = wait_kinds(capture)
    waits = tuple(
        LegendEntry(
            family.color,
            family.title,
            "thread_state.wait",
            " | ".join(f"={translated(WAIT_KINDS[kind])}" for kind in family.kinds if kind in kinds),
        )
        for family in WAIT_FAMILIES
        if kinds.intersection(family.kinds)
    )
    return (*_STATES, *waits, _UNKNOWN if waits else _BLOCKED)


def _gpu(capture: Capture) -> tuple[LegendEntry, ...]:
    """Of the work on GPUs and the calls for it: what the first million events of each kind show."""
    found = {table.spec.color for table in capture.kinds.values() if len(table)} & {"api", "sync", "set"}
    if "cuda_api" in capture.kinds:
        names = capture.strings.get(_names(capture, "cuda_api"))
        found |= {"sync" for name in names if "synchronize" in name.casefold()}
    if "kernel" in capture.kinds:
        names = capture.strings.get(_names(capture, "kernel"))
        found |= {"communication" if is_communication(name) else "kernel" for name in names}
    copies = capture.kinds.get("memcpy")
    if copies is not None and "copy_kind" in copies.attributes:
        values, valid = copies.column("copy_kind")
        told = np.unique(values[:_PIECE][valid[:_PIECE]])
        found |= {copy_family(code) for code in told.tolist()}
    return tuple(entry for entry in _GPU if entry.color in found)


def _names(capture: Capture, kind: str) -> list[int]:
    rows = capture.kinds[kind].rows_at(slice(_PIECE))
    names_of = capture.events.name
    is_run = (
        len(rows) > 0 and rows[-1] - rows[0] == len(rows) - 1 and 0 <= rows[0] <= len(names_of) - len(rows)
    )
    found = names_of[int(rows[0]) : int(rows[0]) + len(rows)] if is_run else names_of[rows]
    # Ids of texts are small and dense: marking them costs a hundredth of sorting them.
    used = np.zeros(len(capture.strings), bool)
    used[np.minimum(found, len(capture.strings) - 1)] = True
    names: list[int] = np.flatnonzero(used).tolist()
    return names


def _textures(capture: Capture) -> tuple[LegendEntry, ...]:
    flags = 0
    for first in range(0, min(len(capture.events), 4 * _PIECE), _PIECE):
        flags |= int(np.bitwise_or.reduce(capture.events.flags[first : first + _PIECE]))
    wanted = (Flag.ESTIMATED, Flag.CUT_START | Flag.CUT_END)
    shown = tuple(entry for entry, flag in zip(_FEATURES, wanted, strict=True) if flags & flag)
    return (*shown, _PAUSED) if len(capture.pauses) else shown
