"""Turns blocking calls into events of the kind ``osrt`` below each thread, with releases of locks and links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from warpline.i18n import english
from warpline.model import Flag, links
from warpline.model.waits import FUNCTION_NAMES, WaitKind
from warpline.recording.agent.reported_sources import add_agent_source, closed_programs
from warpline.recording.agent.waits import NOBODY, Releases, Waits
from warpline.recording.sources.osrt.counts import add_counts
from warpline.recording.sources.osrt.endings import (
    CHILD,
    LAST_RELEASE,
    ONLY_RELEASE,
    WRITTEN,
    match_children,
    match_data,
    only_releases,
)
from warpline.recording.sources.osrt.states import WaitReasons
from warpline.recording.spool.columns import take
from warpline.recording.spool.reader import SpoolFile
from warpline.recording.spool.spool_to_tracks import Translation
from warpline.storage import NO_STACK, CaptureBuilder

Int64Array = npt.NDArray[np.int64]

_ADDRESSES = (WaitKind.LOCK, WaitKind.CONDITION, WaitKind.GIL, WaitKind.BARRIER)


def translate(translation: Translation, spools: Sequence[SpoolFile], builder: CaptureBuilder) -> None:
    """Add the blocking calls and releases that the agents recorded."""
    waits, releases = translation.given(WaitReasons)[0].waits_and_releases
    add_counts(translation, spools, builder)
    if not len(waits):
        never_used = english(
            "no recorded process waited longer than the threshold, or the agent could not enter it "
            "(statically linked and set-uid programs)"
        )
        add_agent_source(
            translation, spools, builder, name="osrt", never_used=closed_programs(spools) or never_used
        )
        return
    builder.add_source("osrt", True, closed_programs(spools))
    waits = _cut(waits, translation.stop_ns)
    inside = waits.stop_ns > waits.start_ns
    inside &= waits.start_ns >= translation.start_ns
    rows = np.flatnonzero(inside)
    builder.add_skipped(english("OS runtime calls"), len(waits) - len(rows), english("outside the recording"))
    read, write = match_data(waits, builder)
    parent, child = match_children(waits, translation.threads)
    by, how = np.full(len(waits), NOBODY, np.int64), np.zeros(len(waits), np.uint32)
    by[read], how[read] = waits.thread[write], builder.string(WRITTEN)
    by[parent], how[parent] = child, builder.string(CHILD)
    given = np.flatnonzero(waits.release >= 0)
    by[given] = releases.thread[waits.release[given]]
    words = builder.strings([LAST_RELEASE, ONLY_RELEASE])
    how[given] = words[only_releases(waits, releases)[given].astype(np.int64)]
    first_id = _add_calls(translation, builder, take(waits, rows), by[rows], how[rows])
    ids = np.full(len(waits), -1, np.int64)
    ids[rows] = first_id + np.arange(len(rows))
    _add_releases(translation, builder, releases, waits.release, ids)
    _add_exits(translation, builder, child[ids[parent] >= 0], ids[parent[ids[parent] >= 0]])
    known = (ids[read] >= 0) & (ids[write] >= 0)
    if known.any():
        builder.add_links(links.DATA, ids[write[known]], ids[read[known]])


def _cut(waits: Waits, stop_ns: int) -> Waits:
    """The waits, where calls that ended after the recording end with it."""
    late = waits.stop_ns > stop_ns
    return replace(waits, stop_ns=np.minimum(waits.stop_ns, stop_ns), is_open=waits.is_open | late)


def _add_calls(
    translation: Translation,
    builder: CaptureBuilder,
    waits: Waits,
    by: Int64Array,
    how: npt.NDArray[np.uint32],
) -> int:
    """Add the calls; returns the first of their consecutive event ids. ``by`` are the threads that ended them, ``how``
    string ids of how certain that is, [n] each.
    """
    track = _tracks(translation, waits.thread)
    names = builder.strings([FUNCTION_NAMES.get(code, f"call {code}") for code in range(256)])
    tids = np.array([life.tid for life in translation.threads.threads], np.int64)
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
            "ended_how": np.ma.MaskedArray(how, how == 0),
            "holder_place": np.ma.MaskedArray(waits.holder_place, waits.holder_place == 0),
            "place": np.ma.MaskedArray(waits.place, waits.place == 0),
            "stack": np.ma.MaskedArray(waits.stack, waits.stack == NO_STACK),
            "caller": np.ma.MaskedArray(waits.caller, waits.caller == 0),
            "task": np.ma.MaskedArray(waits.task, waits.task == 0),
        },
    )


def _add_releases(
    translation: Translation,
    builder: CaptureBuilder,
    releases: Releases,
    matched: Int64Array,
    ids: Int64Array,
) -> None:
    """Add the releases that ended a wait as instants, with links to the waits."""
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


def _add_exits(
    translation: Translation, builder: CaptureBuilder, threads: Int64Array, waits: Int64Array
) -> None:
    """Add the end of each process as an instant of its last thread, with a link to the wait for it, [m] each."""
    if not len(threads):
        return
    lives = [translation.threads.threads[thread] for thread in threads.tolist()]
    deaths = [life.exit_ns or life.death_ns or 0 for life in lives]
    first_id = builder.add_events(
        _tracks(translation, threads)[threads],
        "release",
        translation.capture_time(np.array(deaths, np.int64)),
        np.zeros(len(threads), np.int64),
        np.full(len(threads), builder.string("exit"), np.uint32),
        flags=np.full(len(threads), Flag.INSTANT, np.uint8),
    )
    builder.add_links(links.EXIT, first_id + np.arange(len(threads)), waits)


def _tracks(translation: Translation, threads: Int64Array) -> Int64Array:
    """The track of OS runtime calls of each of ``threads``, by index of thread."""
    present = np.unique(threads).tolist()
    track = np.zeros(present[-1] + 1, np.int64)
    for thread in present:
        track[thread] = translation.below_thread(thread, "osrt")
    return track
