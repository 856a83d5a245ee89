"""Lifetimes of memory by address: each allocation with its release, who allocated, and whether it is in the peak."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table, Targets, Values
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.tables import name_texts, scope_text
from warpline.analysis.structure.attribution import enclosing_of_calls
from warpline.analysis.structure.event_types import HOST_KINDS
from warpline.analysis.structure.launches import threads_of_tracks
from warpline.analysis.structure.memory_events import memory_events
from warpline.i18n import english
from warpline.model import Flag

Int64Array = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
_Answer = tuple["Lifetimes", Mapping[int, str], int]
"""Lifetimes, the title of each device code, and the number of releases without an allocation."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Lifetimes:
    """Allocations as columns of equal length, int64 unless said.

    ``row`` event row, ``owner`` string id of who allocated, ``device`` a code, ``address``, ``bytes``, ``start``
    and ``stop`` (capture ns; ``stop`` is the end of the range if ``is_alive``).
    """

    row: Int64Array
    owner: Int64Array
    device: Int64Array
    address: npt.NDArray[np.uint64]
    bytes: Int64Array
    start: Int64Array
    stop: Int64Array
    is_alive: BoolArray

    def take(self, index: Int64Array | BoolArray) -> Lifetimes:
        """The allocations at an index or mask."""
        return Lifetimes(**{item.name: getattr(self, item.name)[index] for item in fields(self)})


def memory_lifetimes(view: View, _options: Options) -> Table | NotRecorded:
    """Each allocation with its release, those in the peak of their device first, the largest first."""
    answer = _recorded(view) if view.has("allocation") else _paired(view)
    if isinstance(answer, NotRecorded):
        return answer
    lives, titles, lone_releases = answer
    in_peak, notes = _peaks(view, lives, titles)
    order = np.lexsort((lives.start, -lives.bytes, ~in_peak))
    lives, in_peak = lives.take(order), in_peak[order]
    if lone_releases:
        notes.append(
            english(
                "{count} releases of memory allocated before this range are left out.",
                count=f"{lone_releases:,}",
            )
        )
    origin = view.capture.span[0]
    data: dict[str, Values] = {
        "name": name_texts(view, lives.owner),
        "device": [titles.get(code) for code in lives.device.tolist()],
        "address": [f"{address:#x}" for address in lives.address.tolist()],
        "size_bytes": lives.bytes,
        "start_ns": lives.start - origin,
        "age_ns": lives.stop - lives.start,
        "released": ~lives.is_alive,
        "in_peak": in_peak,
    }
    return Table(
        (
            Column("name", "Allocated by", Role.NAME),
            Column("size_bytes", "Size", Role.SIZE, lead=1),
            Column("age_ns", "Age", Role.DURATION, lead=2),
            Column("in_peak", "In the peak", Role.FLAG, lead=3),
            Column("released", "Released", Role.FLAG),
            Column("start_ns", "Allocated at", Role.TIME),
            Column("device", "Device", Role.TEXT),
            Column("address", "Address", Role.TEXT),
        ),
        data,
        targets=Targets(rows=lives.row),
        scope=scope_text(view, english("Lifetimes of memory")),
        notes=(
            *notes,
            english("The age of memory that was not released is counted until the end of the range."),
        ),
    )


def _recorded(view: View) -> _Answer:
    """Lifetimes that were recorded as events of their own (memory snapshots of PyTorch)."""
    events = view.events("allocation")
    column = {name: view.column("allocation", name, events.index) for name in ("address", "bytes")}
    # Segments are what the allocator reserved; their blocks stand beside them.
    tracks, track = view.capture.tracks, view.track_of(events.row)
    is_block = np.array([not track.uri.endswith("/segments") for track in tracks] or [True], bool)
    devices = np.array([-1 if track.device is None else track.device for track in tracks] or [-1], np.int64)
    lives = Lifetimes(
        row=events.row,
        owner=events.name.astype(np.int64),
        device=devices[track],
        address=np.ma.filled(column["address"], 0).astype(np.uint64),
        bytes=np.ma.filled(column["bytes"], 0).astype(np.int64),
        start=events.start,
        stop=events.stop,
        is_alive=(view.capture.events.flags[events.row] & int(Flag.CUT_END)) != 0,
    )
    titles = {code: f"GPU {code}" for code in np.unique(devices).tolist() if code >= 0}
    return lives.take(is_block[track]), titles, 0


def _paired(view: View) -> _Answer | NotRecorded:
    """Lifetimes of allocations and releases that were recorded apart."""
    if not view.has("memory"):
        return missing("memory")
    events = memory_events(view)
    address = view.column("memory", "address", events.index)
    known = ~np.ma.getmaskarray(address) & ~events.reserved
    if not known.any():
        return NotRecorded(
            english("addresses of memory were not recorded"),
            english("import a trace of PyTorch's or Paddle's profiler taken with profile_memory"),
        )
    here = np.flatnonzero(known)
    addresses = np.ma.getdata(address)[here].astype(np.uint64)
    release, device = events.is_release[here], events.device[here]
    order = np.lexsort((np.arange(len(here)), addresses, device))
    same = (addresses[order][1:] == addresses[order][:-1]) & (device[order][1:] == device[order][:-1])
    pairs = np.flatnonzero(same & ~release[order][:-1] & release[order][1:])
    stop = np.full(len(here), view.stop_ns, np.int64)
    stop[order[pairs]] = events.time[here[order[pairs + 1]]]
    is_alive = np.ones(len(here), bool)
    is_alive[order[pairs]] = False
    # An address that is allocated again was released in between, though that was not recorded.
    again = np.flatnonzero(same & ~release[order][:-1] & ~release[order][1:])
    stop[order[again]] = events.time[here[order[again + 1]]]
    row = events.row[here]
    allocated = ~release
    thread = threads_of_tracks(view)[view.track_of(row)]
    kinds = [kind for kind in HOST_KINDS if kind != "cuda_api"]
    owner = enclosing_of_calls(view, thread[allocated], events.time[here][allocated], kinds)
    lives = Lifetimes(
        row=row[allocated],
        owner=np.where(owner >= 0, view.names(np.maximum(owner, 0)), view.names(row[allocated])).astype(
            np.int64
        ),
        device=device[allocated],
        address=addresses[allocated],
        bytes=events.bytes[here][allocated],
        start=events.time[here][allocated],
        stop=stop[allocated],
        is_alive=is_alive[allocated],
    )
    titles = {code: view.capture.strings[code] for code in np.unique(device).tolist() if code}
    return lives, titles, int(release.sum()) - len(pairs)


def _peaks(view: View, lives: Lifetimes, titles: Mapping[int, str]) -> tuple[BoolArray, list[str]]:
    """Which allocations are alive at the peak of their device, and a sentence for each device."""
    in_peak = np.zeros(len(lives.row), bool)
    notes = []
    for device in np.unique(lives.device).tolist():
        here = np.flatnonzero(lives.device == device)
        own = lives.take(here)
        times = np.concatenate([own.start, own.stop])
        change = np.concatenate([own.bytes, -own.bytes])
        # At one moment, releases come first: memory that is passed on is not there twice.
        order = np.lexsort((change, times))
        total = np.cumsum(change[order])
        place = int(np.argmax(total))
        moment = int(times[order[place]])
        alive = (own.start <= moment) & (own.stop > moment)
        in_peak[here] = alive
        notes.append(
            english(
                "Peak on {where} at {time} ms: {size} bytes in {count} allocations of this range.",
                where=titles.get(device) or english("the recorded device"),
                time=f"{(moment - view.capture.span[0]) / 1e6:,.3f}",
                size=f"{int(own.bytes[alive].sum()):,}",
                count=f"{int(alive.sum()):,}",
            )
        )
    return in_peak, notes


report = ReportSpec(
    "memory_lifetimes",
    "Memory lifetimes",
    "framework",
    memory_lifetimes,
    needs=("memory", "allocation"),
    place=219,
)
