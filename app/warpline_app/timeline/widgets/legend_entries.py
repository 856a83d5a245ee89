"""Entries of the legend: colours, heights and textures of a timeline."""

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


@dataclass(frozen=True, kw_only=True)
class LegendEntry:
    """A colour family, its variant (`codes`) and its meaning; ``column`` and ``text`` select its events (``text``
    empty: none).
    """

    color: str
    title: str
    column: str = ""
    text: str = ""
    hint: str = ""
    variant: int = codes.SOLID


_STATES = (
    LegendEntry(color="running", title=english("running"), column="name", text="=running"),
    LegendEntry(color="runnable", title=english("waiting for a core"), column="name", text="=runnable"),
)
_UNKNOWN = LegendEntry(
    color="blocked",
    title=english("blocked, reason unknown"),
    hint=english("Blocked outside the recorded calls, or for less than the threshold"),
)
_BLOCKED = LegendEntry(
    color="blocked",
    title=english("blocked"),
    column="name",
    text="=blocked",
    hint=english("Waiting; the reason was not recorded"),
)
_GPU = (
    LegendEntry(color="kernel", title=english("kernel"), hint=english("Computation on a GPU")),
    LegendEntry(
        color="communication",
        title=english("communication"),
        hint=english("A kernel that exchanges data with other GPUs"),
    ),
    LegendEntry(
        color="copy_to_device", title=english("copy to GPU"), hint=english("From host memory to the GPU")
    ),
    LegendEntry(
        color="copy_to_host", title=english("copy to host"), hint=english("From GPU memory to the host")
    ),
    LegendEntry(
        color="copy_on_device", title=english("copy on GPU"), hint=english("Within a GPU or between two")
    ),
    LegendEntry(color="set", title=english("memory set"), hint=english("Fills GPU memory with a value")),
    LegendEntry(color="api", title=english("call"), hint=english("A GPU API call by a thread")),
    LegendEntry(
        color="sync",
        title=english("waiting for GPU"),
        hint=english("A call or a stream waiting for GPU work"),
    ),
)
_FEATURES = (
    LegendEntry(
        color="neutral",
        title=english("estimated"),
        hint=english("Striped: estimated from samples, not measured"),
        variant=codes.ESTIMATED,
    ),
    LegendEntry(
        color="neutral",
        title=english("cut off"),
        hint=english("Torn edge: starts before the recording or ends after it"),
        variant=codes.CUT,
    ),
)
_PAUSED = LegendEntry(
    color="empty", title=english("paused"), hint=english("Recording was paused here"), variant=codes.PAUSE
)
_PARTLY = LegendEntry(
    color="neutral",
    title=english("partly busy"),
    hint=english("Events too short to draw one by one; the height is their share of the time"),
    variant=codes.DENSITY + codes.LEVELS // 2,
)
_DIMMED = LegendEntry(
    color="kernel",
    title=english("not selected"),
    hint=english("Dimmed: not related to the selection, filter or search results"),
    variant=codes.DIM,
)


def wait_kinds(capture: Capture) -> frozenset[int]:
    """The kinds of waits in a capture's thread states; reads in pieces until all are found."""
    table = capture.kinds.get("thread_state")
    kinds: set[int] = set()
    if table is None or "wait" not in table.attributes:
        return frozenset()
    values, valid = table.column("wait")
    for first in range(0, len(values), _PIECE):
        part = values[first : first + _PIECE][valid[first : first + _PIECE]]
        kinds.update(np.flatnonzero(np.bincount(part)).tolist())
        if len(kinds) >= len(WAIT_KINDS) - 1:
            break
    return frozenset(kinds - {0})


def might_explain(capture: Capture) -> bool:
    """Whether `legend_entries` probably returns any; looks at kinds only, not at events."""
    return not _EXPLAINED.isdisjoint(capture.kinds)


def legend_entries(capture: Capture, only: Sequence[str] = ()) -> tuple[LegendEntry, ...]:
    """Entries for thread states and waits, kinds of GPU work, and textures.

    ``only`` lists URIs of shown tracks, which include those below them; empty means all tracks.
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
            color=family.color,
            title=family.title,
            column="thread_state.wait",
            text=" | ".join(f"={translated(WAIT_KINDS[kind])}" for kind in family.kinds if kind in kinds),
        )
        for family in WAIT_FAMILIES
        if kinds.intersection(family.kinds)
    )
    return (*_STATES, *waits, _UNKNOWN if waits else _BLOCKED)


def _gpu(capture: Capture) -> tuple[LegendEntry, ...]:
    """Entries of GPU work and API calls, from the first million events of each kind."""
    families = {table.spec.color for table in capture.kinds.values() if len(table)} & {"api", "sync", "set"}
    if "cuda_api" in capture.kinds:
        names = capture.strings.get(_names(capture, "cuda_api"))
        families |= {"sync" for name in names if "synchronize" in name.casefold()}
    if "kernel" in capture.kinds:
        names = capture.strings.get(_names(capture, "kernel"))
        families |= {"communication" if is_communication(name) else "kernel" for name in names}
    copies = capture.kinds.get("memcpy")
    if copies is not None and "copy_kind" in copies.attributes:
        values, valid = copies.column("copy_kind")
        codes_present = np.unique(values[:_PIECE][valid[:_PIECE]])
        families |= {copy_family(code) for code in codes_present.tolist()}
    return tuple(entry for entry in _GPU if entry.color in families)


def _names(capture: Capture, kind: str) -> list[int]:
    rows = capture.kinds[kind].rows_at(slice(_PIECE))
    names_of = capture.events.name
    is_run = (
        len(rows) > 0 and rows[-1] - rows[0] == len(rows) - 1 and 0 <= rows[0] <= len(names_of) - len(rows)
    )
    ids = names_of[int(rows[0]) : int(rows[0]) + len(rows)] if is_run else names_of[rows]
    # Name ids are small and dense: marking them costs a hundredth of sorting them.
    used = np.zeros(len(capture.strings), bool)
    used[np.minimum(ids, len(capture.strings) - 1)] = True
    names: list[int] = np.flatnonzero(used).tolist()
    return names


def _textures(capture: Capture) -> tuple[LegendEntry, ...]:
    flags = 0
    for first in range(0, min(len(capture.events), 4 * _PIECE), _PIECE):
        flags |= int(np.bitwise_or.reduce(capture.events.flags[first : first + _PIECE]))
    wanted = (Flag.ESTIMATED, Flag.CUT_START | Flag.CUT_END)
    shown = tuple(entry for entry, flag in zip(_FEATURES, wanted, strict=True) if flags & flag)
    return (*shown, _PAUSED) if len(capture.pauses) else shown
