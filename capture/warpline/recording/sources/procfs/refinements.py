"""Refines blocked thread states with samples of /proc: what they wait for, and how long for a core."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from warpline.i18n import english
from warpline.model.flags import Flag
from warpline.model.waits import WAIT_KINDS, WaitKind
from warpline.recording.agent.waits import descriptor_kind
from warpline.recording.sources.procfs import records
from warpline.recording.sources.procfs.system_calls import CALLS, kind_of_place
from warpline.recording.spool.reader import SpoolFile, rows_of
from warpline.recording.spool.spool_to_tracks import Translation
from warpline.recording.states.refinement import Refinement
from warpline.recording.states.state import State
from warpline.recording.states.thread_states import States

Int64Array = npt.NDArray[np.int64]
_TIME_BITS = 48  # nanoseconds of three days


class StandstillReasons(Refinement):
    """Explains waits that the agent did not see, by looking at /proc."""

    def __init__(self, translation: Translation, spools: Sequence[SpoolFile]) -> None:
        self._translation = translation
        self._spools = spools

    def columns(self, states: States) -> Mapping[str, npt.ArrayLike]:
        """``wait`` and ``reason`` of blocked states during which the thread was sampled."""
        count = len(states.thread)
        wait, reason = np.zeros(count, np.uint8), np.zeros(count, np.uint32)
        threads, string = self._translation.threads, self._translation.builder.string
        for spool in self._spools:
            rows = spool.records(records.STANDSTILL, records.standstill).values
            if not len(rows) or not count:
                continue
            time_ns = rows["time_ns"].astype(np.int64)
            at = _state_at(states, threads.lookup(rows["pid"], rows["tid"], time_ns), time_ns)
            same, which = np.unique(rows[["system_call", "where", "text"]], return_inverse=True)
            waits = [
                describe_wait(number, spool.text(where), spool.text(text))
                for number, where, text in same.tolist()
            ]
            kinds = np.array([kind for kind, _text in waits], np.uint8)[which.reshape(-1)]
            texts = np.array([string(text) for _kind, text in waits], np.uint32)[which.reshape(-1)]
            is_known = at >= 0
            wait[at[is_known]], reason[at[is_known]] = kinds[is_known], texts[is_known]
        return {"wait": np.ma.MaskedArray(wait, wait == 0), "reason": np.ma.MaskedArray(reason, reason == 0)}


def describe_wait(number: int, where: str, text: str) -> tuple[WaitKind, str]:
    """The kind and text of a wait, from the system call, the kernel's function, and the target of the descriptor."""
    call = CALLS.get(platform.machine(), {}).get(number)
    kind = call.kind if call is not None else WaitKind.UNKNOWN
    if call is not None and kind == WaitKind.UNKNOWN and text:
        kind = descriptor_kind(text)
    if kind in (WaitKind.UNKNOWN, WaitKind.OTHER):
        kind = kind_of_place(where) or kind
    name = call.name if call is not None else where
    if kind == WaitKind.UNKNOWN:
        return kind, english("in the kernel function {function}, sampled", function=name) if name else ""
    words = WAIT_KINDS[kind]
    if kind in (WaitKind.FILE, WaitKind.TERMINAL) and text.startswith("/"):
        words = f"{words} {text}"
    if call is not None and call.name != words:
        words = f"{words} ({call.name})"
    return kind, english("{reason}, sampled", reason=words)


class CoreWaits(Refinement):
    """Estimates from the kernel's totals how much of each blocked state was a wait for a core."""

    def __init__(self, translation: Translation, spools: Sequence[SpoolFile]) -> None:
        self._translation = translation
        self._spools = spools

    def columns(self, states: States) -> Mapping[str, npt.ArrayLike]:
        """``core_wait_ns`` of blocked states that ended between two samples of their thread."""
        samples = rows_of(self._spools, records.THREAD_SAMPLE, records.thread_sample)
        if not len(samples) or not len(states.thread):
            return {}
        threads = self._translation.threads
        time_ns = samples["time_ns"].astype(np.int64)
        thread = threads.lookup(samples["pid"], samples["tid"], time_ns)
        order = np.lexsort((time_ns, thread))
        births = np.array([life.birth_ns for life in threads.threads], np.int64)
        is_whole = births >= self._translation.start_ns
        waited = core_waits(
            states, thread[order], time_ns[order], samples["wait_ns"][order].astype(np.int64), is_whole
        )
        return {"core_wait_ns": np.ma.MaskedArray(waited, waited < 0)}


def core_waits(
    states: States,
    thread: Int64Array,
    time_ns: Int64Array,
    wait_ns: Int64Array,
    is_whole: npt.NDArray[np.bool_],
) -> Int64Array:
    """Time in each blocked state in which the thread could have run, int64 [n], −1 if unknown.

    ``thread``, ``time_ns`` and the kernel's total ``wait_ns`` are samples [m] sorted by thread, then time;
    ``is_whole`` [threads]: the total counts from 0 during the recording. The kernel adds a wait when the thread gets
    its core. So the growth of the total between two samples, minus known runnable states, was spent at the ends of the
    blocked states that ended there. It is divided among them as equally as their lengths allow.
    """
    result = np.full(len(states.thread), -1, np.int64)
    grown = np.diff(wait_ns, prepend=0)
    first = np.r_[True, thread[1:] != thread[:-1]]
    grown[first] = np.where(is_whole[thread[first]], wait_ns[first], -1)
    # The group of a state is the sample after it.
    origin = int(min(time_ns.min(), states.stop_ns.min()))
    keys = (thread << _TIME_BITS) + (time_ns - origin)
    group = np.searchsorted(keys, (states.thread << _TIME_BITS) + (states.stop_ns - origin), "left")
    known = group < len(thread)
    known[known] = (thread[group[known]] == states.thread[known]) & (grown[group[known]] >= 0)
    duration = states.stop_ns - states.start_ns
    runnable = np.flatnonzero(known & (states.state == State.RUNNABLE))
    left = grown - np.bincount(group[runnable], duration[runnable], len(thread)).astype(np.int64)
    ended = known & (states.state == State.BLOCKED) & (states.flags & Flag.CUT_END == 0)
    rows = np.flatnonzero(ended)
    result[rows] = divide_equally(group[rows], duration[rows], np.maximum(left, 0))
    return result


def divide_equally(group: Int64Array, most: Int64Array, amount: Int64Array) -> Int64Array:
    """Equal shares [n] of each group's amount, where no share exceeds its ``most`` [n].

    ``group`` int64 [n] indexes ``amount``; what does not fit is left over.
    """
    order = np.lexsort((most, group))
    groups, limit = group[order], most[order]
    heads = np.flatnonzero(np.r_[True, groups[1:] != groups[:-1]][: len(groups)])
    sizes = np.diff(np.r_[heads, len(groups)])
    place = np.arange(len(groups)) - np.repeat(heads, sizes)
    before = np.cumsum(limit) - limit
    before -= np.repeat(before[heads], sizes)
    level = (amount[groups] - before) // (np.repeat(sizes, sizes) - place)
    # All shares from the first one with a higher limit on get this level.
    enough = np.flatnonzero(limit >= level)
    group_of = np.repeat(np.arange(len(heads)), sizes)
    full, at = np.unique(group_of[enough], return_index=True)
    common = np.full(len(heads), np.iinfo(np.int64).max)
    common[full] = level[enough[at]]
    result = np.empty(len(groups), np.int64)
    result[order] = np.minimum(limit, np.maximum(common[group_of], 0))
    return result


def _state_at(states: States, thread: Int64Array, time_ns: Int64Array) -> Int64Array:
    """The index of the blocked state of each thread [n] at a time [n], −1 for none."""
    origin = int(min(states.start_ns.min(), time_ns.min()))
    keys = (states.thread << _TIME_BITS) + (states.start_ns - origin)
    at = np.searchsorted(keys, (thread << _TIME_BITS) + (time_ns - origin), "right") - 1
    inside = at >= 0
    inside[inside] = (
        (states.thread[at[inside]] == thread[inside])
        & (states.stop_ns[at[inside]] >= time_ns[inside])
        & (states.state[at[inside]] == State.BLOCKED)
    )
    return np.where(inside, at, -1)
