"""What the time of a range went to: every nanosecond has one cause, and each cause names who had it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warpline.analysis.compare.host_work import HOST_PHASES, HostWork, LabelTexts
from warpline.analysis.compare.stretches import Stretches, first_come, layered, name_all, nobodys, unlabelled
from warpline.analysis.findings.categories import CATEGORIES, NUMBER
from warpline.analysis.findings.scope import main_thread
from warpline.analysis.findings.thread_time import BLOCKED, RUNNABLE, RUNNING
from warpline.analysis.framework.name_matches import matching_names
from warpline.analysis.framework.selection import GPU_KINDS, SelectedEvents, View, join_events
from warpline.analysis.structure.gpu_gaps import CAUSES as GAP_CAUSES
from warpline.analysis.structure.gpu_gaps import SYNCHRONIZATION, GapParts, gap_parts
from warpline.analysis.structure.gpus import Gpu, gpus
from warpline.analysis.structure.kernels import communication_ids
from warpline.i18n import english
from warpline.model.intervals import intersect_intervals, merge_intervals
from warpline.model.waits import WAIT_KINDS, WaitKind

Int64Array = npt.NDArray[np.int64]
TITLES = {
    "computation": english("computation"),
    "communication": english("exposed communication"),
    "copies": english("exposed copies"),
    "loader": english("waiting for the data loader"),
    "synchronization": english("the host waits for the GPU"),
    "launch": english("launch: from call to start"),
    "host_forward": english("host: forward"),
    "host_backward": english("host: backward"),
    "host_optimization": english("host: optimizer"),
    "host": english("host"),
    "runnable": english("waiting for a core"),
    "blocked": english("blocked, not known why"),
    "other": english("other"),
}
"""What people call the causes that are not kinds of waits."""
_OF_BUDGETS = ("lock", "gil")
"""Kinds of waits that a budget tells as such, and are called as there."""


def cause_title(cause: str) -> str:
    """What people call a cause."""
    if cause in TITLES:
        return TITLES[cause]
    if cause in _OF_BUDGETS:
        return CATEGORIES[NUMBER[cause]].title
    return english("waiting: {kind}", kind=WAIT_KINDS[WaitKind[cause.upper()]])


def is_wait(cause: str) -> bool:
    """Whether it is a state of a thread that did not run."""
    return cause in ("runnable", "blocked") or (is_cause(cause) and cause not in TITLES)


def causes() -> list[str]:
    """How parts can be called."""
    return [
        *TITLES,
        *(name for name in map(str.lower, WaitKind.__members__) if is_cause(name) and name not in TITLES),
    ]


def is_cause(name: str) -> bool:
    """Whether parts can be called so."""
    return name in TITLES or (name.upper() in WaitKind.__members__ and name not in ("unknown", "gpu"))


@dataclass(frozen=True, eq=False)
class TimeUse:
    """The causes of a range: disjoint stretches that, with what is ``other``, fill it. ``labels`` name stretches.

    ``subject`` is what is looked at: a GPU's time (``is_gpu``), or that of ``thread``.
    """

    subject: str
    causes: dict[str, Stretches]
    labels: LabelTexts
    is_gpu: bool
    thread: int | None = None

    def parts(self, starts: Int64Array, stops: Int64Array) -> dict[str, Int64Array]:
        """The time of each cause in each of some windows (int64 ns [windows]); they add up to a window's length."""
        found = {cause: its.in_windows(starts, stops) for cause, its in self.causes.items()}
        used = sum(found.values(), np.zeros(len(starts), np.int64))
        found["other"] = found.get("other", np.zeros(len(starts), np.int64)) + (stops - starts - used)
        return found

    def largest_stretch(
        self, cause: str, starts: Int64Array, stops: Int64Array, name: str | None = None
    ) -> tuple[int, int] | None:
        """The longest time without a break that a cause (or ``name`` of it) had in disjoint sorted windows; None where
        it had none.
        """
        first, last = self.stretches(cause, starts, stops, name)
        if not len(first):
            return None
        longest = int((last - first).argmax())
        return int(first[longest]), int(last[longest])

    def stretches(
        self, cause: str, starts: Int64Array, stops: Int64Array, name: str | None = None
    ) -> tuple[Int64Array, Int64Array]:
        """When a cause had time in disjoint sorted windows (of ``name`` alone, None: of all), as merged intervals."""
        its = self.causes.get(cause, nobodys())
        if name is not None:
            its = its.of_label({text: code for code, text in enumerate(self.labels.texts)}.get(name, -1))
        return intersect_intervals(*its.intervals, starts, stops)[:2]

    def contributors(self, cause: str, starts: Int64Array, stops: Int64Array) -> dict[str, int]:
        """Who had the time of a cause in disjoint sorted windows, by name, ns; what nobody is named for is left out."""
        found = self.causes.get(cause, nobodys()).by_label(starts, stops)
        return {self.labels.texts[label]: time for label, time in found.items() if label >= 0 and time}


def has_gpu_work(view: View) -> bool:
    """Whether time can be told as a GPU's."""
    return view.has(*GPU_KINDS)


def gpu_time_use(view: View, process: int, rank: int) -> TimeUse | None:
    """The time of the busiest GPU (of a rank, −1: of all); None where none has work in the range."""
    found = [gpu for gpu in gpus(view) if rank < 0 or gpu.rank in (rank, None)]
    if not found:
        return None
    busy = {gpu.title: _busy_ns(view, gpu) for gpu in found}
    gpu = max(found, key=lambda one: busy[one.title])
    labels = LabelTexts()
    host = HostWork(view, labels)
    causes = _gpu_work(view, gpu, labels)
    parts = gap_parts(view, gpu)
    causes["loader"] = _loader(host, parts)
    causes["synchronization"] = _named_calls(view, labels, parts)
    causes["launch"] = _followed(view, labels, parts, "launch_latency")
    causes |= _host_gaps(host, parts, process)
    causes["other"] = _followed(view, labels, parts, "other")
    return TimeUse(gpu.title, causes, labels, is_gpu=True)


def _busy_ns(view: View, gpu: Gpu) -> int:
    return sum(
        int(view.events(kind, gpu.tracks).inside.sum()) for kind in GPU_KINDS if kind in view.capture.kinds
    )


def _gpu_work(view: View, gpu: Gpu, labels: LabelTexts) -> dict[str, Stretches]:
    def events(*kinds: str) -> SelectedEvents:
        return join_events([view.events(kind, gpu.tracks) for kind in kinds if kind in view.capture.kinds])

    def stretches(chosen: SelectedEvents) -> Stretches:
        return first_come(chosen.start, chosen.stop, labels.of_names(view, chosen.name))

    kernels = events("kernel", "graph", "gpu_event")
    is_communication = communication_ids(view)[kernels.name]
    computation = stretches(kernels.take(~is_communication))
    communication = stretches(kernels.take(is_communication)).without(computation.intervals)
    busy = layered([computation, communication]).intervals
    copies = stretches(events("memcpy", "memset")).without(busy)
    return {"computation": computation, "communication": communication, "copies": copies}


def _gap(parts: GapParts, cause: str) -> npt.NDArray[np.bool_]:
    return np.equal(parts.cause, GAP_CAUSES.index(cause))


def _followed(view: View, labels: LabelTexts, parts: GapParts, cause: str) -> Stretches:
    """Gaps of a cause, named by the operation that ended them."""
    here = _gap(parts, cause)
    return Stretches(parts.start[here], parts.stop[here], labels.of_names(view, parts.name[here]))


def _loader(host: HostWork, parts: GapParts) -> Stretches:
    here = _gap(parts, "data_loading")
    found = []
    for thread in np.unique(parts.thread[here]).tolist():
        mine = here & (parts.thread == thread)
        gaps = unlabelled((parts.start[mine], parts.stop[mine]))
        found.append(name_all(gaps, [host.loading(thread)]))
    return layered(found)


def _named_calls(view: View, labels: LabelTexts, parts: GapParts) -> Stretches:
    here = _gap(parts, "synchronization")
    found = []
    for thread in np.unique(parts.thread[here]).tolist():
        mine = here & (parts.thread == thread)
        gaps = unlabelled((parts.start[mine], parts.stop[mine]))
        found.append(name_all(gaps, [sync_calls(view, labels, thread)]))
    return layered(found)


def sync_calls(view: View, labels: LabelTexts, thread: int) -> Stretches:
    """When a thread was in calls that wait for the GPU."""
    if "cuda_api" not in view.capture.kinds:
        return nobodys()
    tracks = frozenset(track.index for track in view.capture.tracks if track.thread == thread)
    calls = view.events("cuda_api", tracks)
    calls = calls.take(matching_names(view.capture, SYNCHRONIZATION)[calls.name])
    return first_come(calls.start, calls.stop, labels.of_names(view, calls.name))


def _host_gaps(host: HostWork, parts: GapParts, process: int) -> dict[str, Stretches]:
    """Time in which the GPU had nothing because the host was late, by phase, named by what the launching thread did."""
    here = _gap(parts, "host")
    found = []
    for thread in np.unique(parts.thread[here]).tolist():
        mine = here & (parts.thread == thread)
        gaps = unlabelled((parts.start[mine], parts.stop[mine]))
        found.append(name_all(gaps, [host.did(thread)]))
    return by_phase(host, layered(found), process)


def by_phase(host: HostWork, left: Stretches, process: int) -> dict[str, Stretches]:
    """Time of the host cut by the phases of its process; ``host`` is what lies in none."""
    found: dict[str, Stretches] = {}
    for phase in HOST_PHASES:
        when = host.phase(phase, process)
        found[f"host_{phase.lower()}"] = left.within(when)
        left = left.without(when)
    return {**found, "host": left}


def host_time_use(view: View, thread: int | None, process: int) -> TimeUse | None:
    """The time of a thread (None: the program's main one, or the one that did most); None where none did anything."""
    labels = LabelTexts()
    host = HostWork(view, labels)
    if thread is None:
        thread = main_thread(view) if view.has("thread_state") else host.busiest_thread()
    if thread is None:
        return None
    causes: dict[str, Stretches] = {"loader": host.loading(thread)}
    causes["synchronization"] = sync_calls(view, labels, thread).without(causes["loader"].intervals)
    taken = layered(causes.values()).intervals
    states = _states(host, thread)
    if not states:
        did = host.did(thread).without(taken)
        return TimeUse(
            host.threads.name(thread),
            causes | by_phase(host, did, process),
            labels,
            is_gpu=False,
            thread=thread,
        )
    running = states.pop("running").without(taken)
    causes |= {cause: its.without(taken) for cause, its in states.items()}
    running = name_all(running, [host.did(thread)])
    return TimeUse(
        host.threads.name(thread),
        causes | by_phase(host, running, process),
        labels,
        is_gpu=False,
        thread=thread,
    )


def _states(host: HostWork, thread: int) -> dict[str, Stretches]:
    """The states of a thread: running, waiting for a core, and what it was blocked by, named by where it waited."""
    view = host.view
    if not view.has("thread_state"):
        return {}
    activity = host.threads.during(thread, [(view.start_ns, view.stop_ns)])
    if not len(activity):
        return {}

    def stretches(chosen: npt.NDArray[np.bool_], *, is_named: bool = False) -> Stretches:
        part = activity.take(np.flatnonzero(chosen & (activity.stop > activity.start)))
        if not is_named:
            return unlabelled(merge_intervals(part.start, part.stop))
        stacks, place = np.unique(part.stack, return_inverse=True)
        codes = []
        for stack in stacks.tolist():
            where = host.threads.where(stack, thread)
            text = f"{where.function} ({where.file}:{where.line})" if where.file else where.function
            codes.append(host.labels.code(text))
        return first_come(part.start, part.stop, np.array(codes or [-1], np.int64)[place.reshape(-1)])

    blocked = activity.state >= BLOCKED
    found = {
        "running": stretches(activity.state == RUNNING),
        "runnable": stretches(activity.state == RUNNABLE),
    }
    for code in np.unique(activity.wait[blocked]).tolist():
        name = WaitKind(code).name.lower() if code in WAIT_KINDS and code else "blocked"
        # The one kind of wait that is called like what is left over.
        name = "blocked" if name == "other" else name
        its = stretches(blocked & (activity.wait == code), is_named=True)
        found[name] = layered([found[name], its]) if name in found else its
    return found
