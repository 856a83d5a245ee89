"""Calls that blocked -> events of the kind ``osrt`` on a row of each thread, releases of locks, and links between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from warpline.i18n import english
from warpline.model import Flag, links
from warpline.model.waits import FUNCTION_NAMES, Function, WaitKind
from warpline.recording.agent.reported_sources import add_agent_source, closed_programs
from warpline.recording.agent.waits import NOBODY, Releases, Waits
from warpline.recording.sources.osrt.states import WaitReasons
from warpline.recording.spool.reader import SpoolFile
from warpline.recording.spool.spool_to_tracks import Translation
from warpline.storage import NO_STACK, CaptureBuilder

Int64Array = npt.NDArray[np.int64]

_WRITES = (Function.WRITE, Function.WRITEV, Function.SEND)
_READS = (Function.READ, Function.READV, Function.RECV, Function.POLL)
_ADDRESSES = (WaitKind.LOCK, WaitKind.CONDITION, WaitKind.GIL, WaitKind.BARRIER)


def translate(translation: Translation, spools: Sequence[SpoolFile], builder: CaptureBuilder) -> None:
    """Add what the agents measured of calls that block; nothing where there was no agent."""
    waits, releases = translation.given(WaitReasons)[0].found
    if not len(waits):
        never_used = english(
            "no recorded process let the agent in: statically linked and set-uid programs do not"
        )
        add_agent_source(translation, spools, builder, "osrt", closed_programs(spools) or never_used)
        return
    builder.add_source("osrt", True, closed_programs(spools))
    waits = _cut(waits, translation.stop_ns)
    inside = waits.stop_ns > waits.start_ns
    inside &= waits.start_ns >= translation.start_ns
    rows = np.flatnonzero(inside)
    builder.add_skipped(english("OS runtime calls"), len(waits) - len(rows), english("outside the recording"))
    read, write = _match_data(waits)
    by = np.full(len(waits), NOBODY, np.int64)
    by[read] = waits.thread[write]
    first_id = _add_calls(translation, builder, waits.take(rows), releases, by[rows])
    ids = np.full(len(waits), -1, np.int64)
    ids[rows] = first_id + np.arange(len(rows))
    _add_releases(translation, builder, releases, waits.release, ids)
    known = (ids[read] >= 0) & (ids[write] >= 0)
    if known.any():
        builder.add_links(links.DATA, ids[write[known]], ids[read[known]])


def _cut(waits: Waits, stop_ns: int) -> Waits:
    """The same, where calls that ended after the recording end with it."""
    late = waits.stop_ns > stop_ns
    return replace(waits, stop_ns=np.minimum(waits.stop_ns, stop_ns), is_open=waits.is_open | late)


def _add_calls(
    translation: Translation, builder: CaptureBuilder, waits: Waits, releases: Releases, by: Int64Array
) -> int:
    """Adds the calls; returns the event id of the first, the others count up. ``by`` are the threads that wrote
    what was read, [n].
    """
    track = _tracks(translation, waits.thread)
    names = builder.strings([FUNCTION_NAMES.get(code, f"call {code}") for code in range(256)])
    tids = np.array([life.tid for life in translation.threads.threads], np.int64)
    released = waits.release >= 0
    by[released] = releases.thread[waits.release[released]]
    is_lock = np.isin(waits.kind, _ADDRESSES)
    return builder.add_events(
        track[waits.thread],
        "osrt",
        translation.capture_time(waits.start_ns),
        waits.stop_ns - waits.start_ns,
        names[waits.function],
        flags=np.where(waits.is_open, np.uint8(Flag.CUT_END), np.uint8(0)),
        attributes={
            "return_value": np.ma.MaskedArray(waits.result, waits.is_open),
            "wait": waits.kind,
            "object": np.ma.MaskedArray(waits.text, waits.text == 0),
            "address": np.ma.MaskedArray(waits.object, ~is_lock),
            "holder": np.ma.MaskedArray(tids[waits.holder], waits.holder == NOBODY),
            "ended_by": np.ma.MaskedArray(tids[by], by == NOBODY),
            "holder_place": np.ma.MaskedArray(waits.holder_place, waits.holder_place == 0),
            "place": np.ma.MaskedArray(waits.place, waits.place == 0),
            "stack": np.ma.MaskedArray(waits.stack, waits.stack == NO_STACK),
            "caller": np.ma.MaskedArray(waits.caller, waits.caller == 0),
        },
    )


def _add_releases(
    translation: Translation,
    builder: CaptureBuilder,
    releases: Releases,
    matched: Int64Array,
    ids: Int64Array,
) -> None:
    """Adds the releases that ended a wait, as instants, each linked with the waits it ended."""
    waiting = np.flatnonzero((matched >= 0) & (ids >= 0))
    used, which = np.unique(matched[waiting], return_inverse=True)
    if not len(used):
        return
    track = _tracks(translation, releases.thread[used])
    first_id = builder.add_events(
        track[releases.thread[used]],
        "release",
        translation.capture_time(releases.time_ns[used]),
        np.zeros(len(used), np.int64),
        np.full(len(used), builder.string("release"), np.uint32),
        flags=np.full(len(used), Flag.INSTANT, np.uint8),
        attributes={
            "address": releases.object[used],
            "place": np.ma.MaskedArray(releases.place[used], releases.place[used] == 0),
            "stack": np.ma.MaskedArray(releases.stack[used], releases.stack[used] == NO_STACK),
        },
    )
    builder.add_links(links.RELEASE, first_id + which.reshape(-1), ids[waiting])


def _match_data(waits: Waits) -> tuple[Int64Array, Int64Array]:
    """Reads of pipes and the writes that ended them, indexes int64 [m] each: the last write that began before the read
    was done and after it began.
    """
    is_pipe = waits.kind == WaitKind.PIPE
    writes = np.flatnonzero(np.isin(waits.function, _WRITES) & is_pipe)
    reads = np.flatnonzero(np.isin(waits.function, _READS) & is_pipe)
    if not len(writes) or not len(reads):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    origin = int(waits.start_ns.min())
    keys = (waits.text[writes].astype(np.int64) << 48) + (waits.start_ns[writes] - origin)
    order = np.argsort(keys)
    pipe = waits.text[reads].astype(np.int64) << 48
    at = np.searchsorted(keys[order], pipe + (waits.stop_ns[reads] - origin), "right") - 1
    found = at >= 0
    found[found] = keys[order[at[found]]] >= pipe[found] + (waits.start_ns[reads[found]] - origin)
    return reads[found], writes[order[at[found]]]


def _tracks(translation: Translation, threads: Int64Array) -> Int64Array:
    """The track of OS runtime calls of each thread that has some, by index of thread."""
    present = np.unique(threads).tolist()
    track = np.zeros(present[-1] + 1, np.int64)
    for thread in present:
        track[thread] = translation.below_thread(thread, "osrt")
    return track
