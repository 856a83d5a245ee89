"""Chooses the range of a diagnosis and the actor whose time it explains."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.launchers import program_behind
from warpline.analysis.framework.nested_events import nested_events
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.selection import GPU_KINDS, View
from warpline.analysis.steps.step_breakdown import device_windows
from warpline.analysis.structure.gpus import Gpu, activity_combinations, gpus
from warpline.analysis.structure.steps import Steps, find_steps
from warpline.i18n import english, english_n, joined, tr
from warpline.model import Track, UsageError
from warpline.model.times import format_duration
from warpline.model.waits import OWN_THREAD
from warpline.storage.read.view_times import far_events

if TYPE_CHECKING:
    from warpline.storage import Capture

Int64Array = npt.NDArray[np.int64]
_FEWEST_STEPS = 3
"""With fewer steps, none counts as warm-up."""
_NSIGHT = re.compile(r"(?:.*/)?nsys-launcher")
_OF_SYSTEMS = frozenset(("ftrace", "perfetto", "perf", "perf-script"))
"""Importers of formats that record all programs of a machine."""
_NEXT, _PROGRAMS = 2, 3
"""How many other threads of a whole system are named, and how many active processes make a trace one of a system."""
_IDLE = 0.5
"""Share of the capture before a GPU's first operation and after its last from which only the rest is judged."""
_PAUSE = 0.05
"""Share of the capture from which the time between two steps is judged, too."""
_WARMER = 1.3
"""First steps longer than later ones by this factor are warm-up."""


@dataclass(frozen=True)
class WaitedFor:
    """The actor whose time is explained: a GPU, or a thread by its index in the capture; with its tracks.

    ``reason`` is a sentence that says why it was chosen, where that is not obvious.
    """

    title: str
    gpu: Gpu | None
    thread: int | None
    tracks: tuple[int, ...]
    reason: str = ""


@dataclass(frozen=True, eq=False)
class Scope:
    """The range as a view, its steps (maybe none), notices about what was left out, and the warm-up steps.

    ``around`` is the longer range whose idle beginning and end were left out; None when nothing was.
    """

    view: View
    steps: Steps
    notices: tuple[str, ...]
    first: Steps | None = None
    around: View | None = None


def find_target(view: View, uri: str | None = None) -> WaitedFor | None:
    """The busiest GPU, else the main thread, else the thread with most events; or the one with the track ``uri``.

    A launcher, which only starts a program and waits for it, is passed over for the program's main thread.

    None when nothing was recorded. Raises UsageError when the URI names no thread, GPU, stream or rank.
    """
    if uri is not None:
        return _target_of_uri(view, uri)
    if view.were_recorded(*GPU_KINDS):
        active = gpus(view)
        if len(active) == 1:
            return _gpu_target(active[0])
        if active:
            busy = [int(activity_combinations(view, gpu)[1:].sum()) for gpu in active]
            return _gpu_target(active[int(np.argmax(busy))])
    busiest = _busiest_of_a_system(view)
    if busiest is not None:
        thread, reason = busiest
        return replace(thread_target(view, thread), reason=reason)
    main = main_thread(view)
    return None if main is None else thread_target(view, program_behind(view, main))


def thread_target(view: View, thread: int) -> WaitedFor:
    """A thread as the target."""
    known = view.capture.threads[thread]
    title = known.label or f"Thread {known.tid}"
    tracks = tuple(t.index for t in view.tracks_of_thread(thread) if t.device is None)
    return WaitedFor(title, None, thread, tracks)


def _gpu_target(gpu: Gpu) -> WaitedFor:
    return WaitedFor(gpu.title, gpu, None, tuple(sorted(gpu.tracks)))


def _target_of_uri(view: View, uri: str) -> WaitedFor:
    try:
        track = view.capture.track(uri)
    except KeyError:
        raise UsageError(tr("no track {uri!r}; warpline info --json lists them", uri=uri)) from None
    if track.thread is not None and track.device is None:
        return thread_target(view, track.thread)
    if track.device is not None:
        matches = [gpu for gpu in gpus(view) if track.index in gpu.tracks]
        if track.stream is not None and matches:
            gpu = matches[0]
            title = f"{gpu.title} · {track.title or track.uri}"
            return _gpu_target(Gpu(gpu.device, gpu.rank, title, frozenset([track.index])))
        if matches:
            return _gpu_target(matches[0])
    inside = view.other(type(view.selection)(tracks=frozenset([track.index])))
    matches = gpus(inside)
    if matches:
        return _gpu_target(matches[0])
    thread = next((t.thread for t in _below(view, track) if t.thread is not None), None)
    if thread is None:
        raise UsageError(tr("{uri} is not a thread, GPU, stream or rank with recorded activity", uri=uri))
    return thread_target(view, thread)


def _below(view: View, track: Track) -> list[Track]:
    return [t for t in view.capture.tracks if t.uri.startswith(track.uri + "/")]


def main_thread(view: View) -> int | None:
    """The main thread of the first process, else the thread with most events; in a trace of a whole system the thread
    that runs most. The launcher of Nsight Systems counts only if nothing else ran. None without events.
    """
    capture = view.capture
    busiest = _busiest_of_a_system(view)
    if busiest is not None:
        return busiest[0]
    counts = np.zeros(len(capture.threads) + 1, np.int64)
    lanes = capture.lanes
    thread_of_track = np.array(
        [-1 if t.thread is None else t.thread for t in capture.tracks] or [-1], np.int64
    )
    own = [i for i, thread in enumerate(capture.threads) if thread.name == OWN_THREAD]
    thread = (
        thread_of_track[np.asarray(lanes.track).astype(np.int64)]
        if len(lanes.track)
        else np.empty(0, np.int64)
    )
    np.add.at(counts, thread, np.asarray(lanes.count).astype(np.int64))
    counts[-1] = 0
    counts[own] = 0
    launchers = {i for i, process in enumerate(capture.processes) if _NSIGHT.fullmatch(process.name)}
    programs = [index for index, thread in enumerate(capture.threads) if thread.process not in launchers]
    if counts[programs].any():
        counts[[index for index, thread in enumerate(capture.threads) if thread.process in launchers]] = 0
    first = min(set(range(len(capture.processes))) - launchers, default=0)
    for index, known in enumerate(capture.threads):
        if counts[index] and known.process == first and known.tid == capture.processes[first].pid:
            return index
    return int(np.argmax(counts)) if counts.any() else None


def _busiest_of_a_system(view: View) -> tuple[int, str] | None:
    """The thread that runs longest, or has most samples, in a trace of a whole system, and a sentence that says so."""
    capture = view.capture
    if not _is_of_a_system(capture):
        return None
    threads = len(capture.threads)
    busy, lasted = _running_ns(view, threads), True
    if not busy.any():
        busy, lasted = _samples_of_threads(view, threads), False
    busy[[i for i, t in enumerate(capture.threads) if t.tid == 0 or t.name == OWN_THREAD]] = 0
    order = np.argsort(-busy, kind="stable")
    order = order[busy[order] > 0]
    if not len(order):
        return None

    def named(index: int) -> str:
        amount = int(busy[index])
        length = (
            format_duration(amount) if lasted else english_n("{count:,} sample", "{count:,} samples", amount)
        )
        known = capture.threads[index]
        return f"{known.label or f'Thread {known.tid}'} ({length})"

    if len({capture.threads[index].process for index in order.tolist()}) < _PROGRAMS:
        return int(order[0]), ""
    others = joined(", ", [named(index) for index in order[1 : 1 + _NEXT].tolist()])
    text = english(
        "The trace shows a whole system. {thread} is judged because it runs most; next come {others}.",
        thread=named(int(order[0])), others=others,
    )  # fmt: skip
    return int(order[0]), text


def _samples_of_threads(view: View, threads: int) -> Int64Array:
    """How many samples of stacks each thread has."""
    total = np.zeros(threads, np.int64)
    for kind in ("sample", "cpu_sample"):
        if view.has(kind):
            thread = view.thread_of(view.events(kind).row)
            total += np.bincount(thread[thread >= 0], minlength=threads)
    return total


def _is_of_a_system(capture: Capture) -> bool:
    """Whether the capture shows a whole system: then no process is the program that was recorded."""
    files = capture.meta.get("imported_from")
    formats = (
        [file.get("format") for file in files if isinstance(file, dict)] if isinstance(files, list) else []
    )
    return bool(_OF_SYSTEMS & {str(name) for name in formats})


def _running_ns(view: View, threads: int) -> Int64Array:
    """How long each thread ran, ns."""
    total = np.zeros(threads, np.int64)
    running = view.capture.strings.id("running")
    if running is None or not view.were_recorded("thread_state"):
        return total
    wanted = np.arange(len(view.capture.strings)) == running
    thread_of_track = np.array([-1 if t.thread is None else t.thread for t in view.capture.tracks], np.int64)
    for part in view.batches("thread_state", named=wanted):
        thread = thread_of_track[view.track_of(part.row)]
        known = thread >= 0
        np.add.at(total, thread[known], part.inside[known])
    return total


def find_scope(view: View, target: WaitedFor, options: Options) -> Scope:
    """The selected range; without a selection the steady steps; without steps the whole capture."""
    steps = _own_steps(view, target, find_steps(view, options))
    if target.gpu is not None and len(steps):
        # A CPU that runs ahead finishes a step before the GPU does.
        begins, ends = device_windows(view, steps, np.arange(len(steps)))
        steps = replace(steps, start=begins, stop=ends)
    far = far_events(view.capture) if view.is_whole else []
    if far:
        view = view.restrict(*view.capture.activity.range_ns)
    if far or not view.is_whole:
        inside = (steps.start >= view.start_ns) & (steps.stop <= view.stop_ns)
        return Scope(view, steps.take(np.flatnonzero(inside)), tuple(far))
    if not len(steps):
        return _lifetime(view, target, steps) if target.gpu is None else _activity(view, target, steps)
    first = warm_up(steps.stop - steps.start)
    # A long pause after a slow step, such as validation, is no warm-up: the range begins with it.
    pauses = np.flatnonzero(steps.start[1 : first + 1] - steps.stop[:first] > _PAUSE * view.duration_ns)
    if len(pauses):
        first = int(pauses[0]) + 1
    notices = []
    if first:
        notices.append(
            english_n(
                "Left out as warm-up: the first step, which takes {length}; later ones take {usual} (median).",
                "Left out as warm-up: the first {count} steps, which take up to {length}; later ones take {usual} "
                "(median).",
                first,
                length=format_duration(int((steps.stop - steps.start)[:first].max())),
                usual=format_duration(int(np.median((steps.stop - steps.start)[first:]))),
            )
        )
    steady = steps.take(np.arange(first, len(steps)))
    start, stop = int(steps.stop[first - 1] if len(pauses) else steady.start[0]), int(steady.stop[-1])
    outside = int(steps.start[0]) - view.start_ns + view.stop_ns - stop
    if outside > (view.stop_ns - view.start_ns) // 100:
        notices.append(english("Left out: {time} before and after the steps.", time=format_duration(outside)))
    return Scope(view.restrict(start, stop), steady, tuple(notices), steps.take(np.arange(first)))


def _lifetime(view: View, target: WaitedFor, steps: Steps) -> Scope:
    """The part of the capture in which the target thread lived: before and after, it waited for nothing."""
    assert target.thread is not None
    thread = view.capture.threads[target.thread]
    start = view.start_ns if thread.start_ns is None else max(thread.start_ns, view.start_ns)
    stop = view.stop_ns if thread.stop_ns is None else min(thread.stop_ns, view.stop_ns)
    if not view.were_recorded("thread_state"):
        first, last = _first_and_last(view, target)
        start, stop = max(start, first), min(stop, last)
    outside = view.duration_ns - (stop - start)
    if start >= stop or outside <= view.duration_ns // 100:
        return Scope(view, steps, ())
    notice = english(
        "Left out: {time} before {thread} started and after it ended.",
        time=format_duration(outside), thread=target.title,
    )  # fmt: skip
    return Scope(view.restrict(start, stop), steps, (notice,))


def _activity(view: View, target: WaitedFor, steps: Steps) -> Scope:
    """From the GPU's first operation to its last, if that is at most half of the view; else the whole view."""
    ends = _ends_of_events(view, target, GPU_KINDS)
    if ends is None or not 0 < ends[1] - ends[0] <= (1 - _IDLE) * view.duration_ns:
        return Scope(view, steps, ())
    start, stop = ends
    notice = english(
        "Only the {length} from the first to the last operation of {gpu} is judged. Left out: {before} before it, "
        "{after} after it.",
        length=format_duration(stop - start), gpu=target.title, before=format_duration(start - view.start_ns),
        after=format_duration(view.stop_ns - stop),
    )  # fmt: skip
    return Scope(view.restrict(start, stop), steps, (notice,), around=view)


def _ends_of_events(
    view: View, target: WaitedFor, kinds: Sequence[str] | None = None
) -> tuple[int, int] | None:
    """The start of the first and the end of the last event of the target's tracks; None without events."""
    if kinds is None:
        # Events of a lane do not overlap: its last one also ends last.
        lanes = view.lane_spans(target.tracks)
        if not len(lanes):
            return None
        first, _ = view.times_of(lanes.first)
        _, last = view.times_of(lanes.stop - 1)
        return int(first.min()), int(last.max())
    events = nested_events(view, target.tracks, kinds)
    if not len(events):
        return None
    return int(events.start.min()), int(events.stop.max())


def _first_and_last(view: View, target: WaitedFor) -> tuple[int, int]:
    """`_ends_of_events`; the range without events, or with next to none."""
    ends = _ends_of_events(view, target)
    if ends is None:
        return view.start_ns, view.stop_ns
    first, last = ends
    # Too few events do not show when a thread lived.
    return (first, last) if (last - first) * 100 >= view.duration_ns else (view.start_ns, view.stop_ns)


def warm_up(duration: Int64Array) -> int:
    """How many of the first steps are warm-up, much longer than later ones; at most half of all."""
    if len(duration) < _FEWEST_STEPS:
        return 0
    usual = float(np.median(duration[len(duration) // 3 :]))
    longer = duration[: len(duration) // 2] > _WARMER * usual
    return int(np.argmin(np.append(longer, False)))


def _own_steps(view: View, target: WaitedFor, steps: Steps) -> Steps:
    """The steps of the target's process or rank; of the first one when several have steps."""
    capture = view.capture
    if target.thread is not None:
        own = steps.around(capture.threads[target.thread].process, None)
    else:
        own = steps.around(None, target.gpu.rank if target.gpu is not None else None)
    places = np.flatnonzero(own)
    if len(places):
        same = (steps.process[places] == steps.process[places[0]]) & (
            steps.rank[places] == steps.rank[places[0]]
        )
        places = places[same]
    places = places[np.argsort(steps.start[places], kind="stable")]
    return steps.take(places)
