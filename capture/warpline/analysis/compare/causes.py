"""Where the time of a range went: every nanosecond has one cause, and each cause has named contributors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warpline.analysis.compare.host_work import HOST_PHASES, HostWork, LabelTexts
from warpline.analysis.compare.names import stable_name
from warpline.analysis.compare.stretches import (
    Stretches,
    first_come,
    layered,
    name_all,
    no_stretches,
    unlabelled,
)
from warpline.analysis.findings.categories import CATEGORIES, NUMBER
from warpline.analysis.findings.scope import main_thread
from warpline.analysis.findings.thread_time import BLOCKED, RUNNABLE, RUNNING
from warpline.analysis.framework.name_matches import matching_names
from warpline.analysis.framework.selected.selected_events import SelectedEvents, join_events
from warpline.analysis.framework.selection import GPU_KINDS, View
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
    "synchronization": english("CPU waits for the GPU"),
    "launch": english("launch latency"),
    "host_forward": english("CPU: forward"),
    "host_backward": english("CPU: backward"),
    "host_optimization": english("CPU: optimizer"),
    "host": english("CPU"),
    "runnable": english("waiting for a core"),
    "blocked": english("blocked for an unknown reason"),
    "other": english("other"),
}
"""Titles of the causes that are not kinds of waits."""


def cause_title(cause: str) -> str:
    """The title of a cause; kinds of waits are called as in the budget of findings."""
    if cause in TITLES:
        return TITLES[cause]
    if cause in NUMBER:
        return CATEGORIES[NUMBER[cause]].title
    return english("waiting: {kind}", kind=WAIT_KINDS[WaitKind[cause.upper()]])


def is_wait(cause: str) -> bool:
    """Whether a cause is a state of a thread that does not run."""
    return cause in ("runnable", "blocked") or (is_cause(cause) and cause not in TITLES)


def causes() -> list[str]:
    """The names of all causes."""
    return [
        *TITLES,
        *(name for name in map(str.lower, WaitKind.__members__) if is_cause(name) and name not in TITLES),
    ]


def is_cause(name: str) -> bool:
    """Whether a cause has this name."""
    return name in TITLES or (name.upper() in WaitKind.__members__ and name not in ("unknown", "gpu"))


@dataclass(frozen=True, eq=False)
class TimeUse:
    """The causes of a range as disjoint stretches, which fill it together with ``other``; ``labels`` name them.

    ``subject`` is the title of the GPU (``is_gpu``) or the thread whose time it is.
    """

    subject: str
    causes: dict[str, Stretches]
    labels: LabelTexts
    is_gpu: bool
    thread: int | None = None

    def parts(self, starts: Int64Array, stops: Int64Array) -> dict[str, Int64Array]:
        """The time of each cause in each window (int64 ns [windows]); the causes add up to the window's length."""
        times = {cause: stretches.in_windows(starts, stops) for cause, stretches in self.causes.items()}
        used = sum(times.values(), np.zeros(len(starts), np.int64))
        times["other"] = times.get("other", np.zeros(len(starts), np.int64)) + (stops - starts - used)
        return times

    def largest_stretch(
        self, cause: str, starts: Int64Array, stops: Int64Array, name: str | None = None
    ) -> tuple[int, int] | None:
        """The longest stretch of a cause (or of its contributor ``name``) in disjoint sorted windows, if any."""
        first, last = self.stretches(cause, starts, stops, name)
        if not len(first):
            return None
        longest = int((last - first).argmax())
        return int(first[longest]), int(last[longest])

    def stretches(
        self, cause: str, starts: Int64Array, stops: Int64Array, name: str | None = None
    ) -> tuple[Int64Array, Int64Array]:
        """The merged intervals of a cause (or of its contributor ``name``) in disjoint sorted windows."""
        stretches = self.causes.get(cause, no_stretches())
        if name is not None:
            stretches = stretches.of_labels(self._labels_of(name))
        return intersect_intervals(*stretches.intervals, starts, stops)[:2]

    def _labels_of(self, name: str) -> list[int]:
        """The codes of a name; of what rules matched, those of all names behind it."""
        texts = self.labels.texts
        if name in texts:
            return [texts.index(name)]
        stable = stable_name(name)
        return [code for code, text in enumerate(texts) if stable_name(text) == stable]

    def contributors(self, cause: str, starts: Int64Array, stops: Int64Array) -> dict[str, int]:
        """The time of each named contributor to a cause in disjoint sorted windows, ns."""
        times = self.causes.get(cause, no_stretches()).by_label(starts, stops)
        return {self.labels.texts[label]: time for label, time in times.items() if label >= 0 and time}


def has_gpu_work(view: View) -> bool:
    """Whether the capture has GPU work."""
    return view.has(*GPU_KINDS)


def gpu_time_use(view: View, process: int, rank: int) -> TimeUse | None:
    """The time of the busiest GPU (of a rank, −1: of all); None without GPU work in the range."""
    active = [gpu for gpu in gpus(view) if rank < 0 or gpu.rank in (rank, None)]
    if not active:
        return None
    gpu = max(active, key=lambda gpu: _busy_ns(view, gpu))
    labels = LabelTexts()
    host = HostWork(view, labels)
    causes = _gpu_work(view, gpu, labels)
    parts = gap_parts(view, gpu)
    causes["loader"] = _labelled_gaps(parts, "data_loading", host.loading)
    causes["synchronization"] = _labelled_gaps(
        parts, "synchronization", lambda thread: sync_calls(view, labels, thread)
    )
    causes["launch"] = _ending_gaps(view, labels, parts, "launch_latency")
    causes |= by_phase(host, _labelled_gaps(parts, "host", host.activity), process)
    causes["other"] = _ending_gaps(view, labels, parts, "other")
    return TimeUse(gpu.title, causes, labels, is_gpu=True)


def _busy_ns(view: View, gpu: Gpu) -> int:
    return sum(
        int(view.events(kind, gpu.tracks).inside.sum()) for kind in GPU_KINDS if kind in view.capture.kinds
    )


def _gpu_work(view: View, gpu: Gpu, labels: LabelTexts) -> dict[str, Stretches]:
    def events(*kinds: str) -> SelectedEvents:
        return join_events([view.events(kind, gpu.tracks) for kind in kinds if kind in view.capture.kinds])

    def stretches(chosen: SelectedEvents) -> Stretches:
        return first_come(chosen.start, chosen.stop, labels.codes(view, chosen.name))

    kernels = events("kernel", "graph", "gpu_event")
    is_communication = communication_ids(view)[kernels.name]
    computation = stretches(kernels.take(~is_communication))
    communication = stretches(kernels.take(is_communication)).without(computation.intervals)
    busy = layered([computation, communication]).intervals
    copies = stretches(events("memcpy", "memset")).without(busy)
    return {"computation": computation, "communication": communication, "copies": copies}


def _gap(parts: GapParts, cause: str) -> npt.NDArray[np.bool_]:
    return np.equal(parts.cause, GAP_CAUSES.index(cause))


def _ending_gaps(view: View, labels: LabelTexts, parts: GapParts, cause: str) -> Stretches:
    """The gaps of a cause, labelled by the operation that ended them."""
    here = _gap(parts, cause)
    return Stretches(parts.start[here], parts.stop[here], labels.codes(view, parts.name[here]))


def _labelled_gaps(parts: GapParts, cause: str, activity: Callable[[int], Stretches]) -> Stretches:
    """The gaps of a cause, labelled by the activity of the thread that the GPU waited for."""
    here = _gap(parts, cause)
    labelled = []
    for thread in np.unique(parts.thread[here]).tolist():
        mine = here & (parts.thread == thread)
        gaps = unlabelled((parts.start[mine], parts.stop[mine]))
        labelled.append(name_all(gaps, [activity(thread)]))
    return layered(labelled)


def sync_calls(view: View, labels: LabelTexts, thread: int) -> Stretches:
    """When a thread was in calls that wait for the GPU."""
    if "cuda_api" not in view.capture.kinds:
        return no_stretches()
    tracks = frozenset(track.index for track in view.tracks_of_thread(thread))
    calls = view.events("cuda_api", tracks)
    calls = calls.take(matching_names(view.capture, SYNCHRONIZATION)[calls.name])
    return first_come(calls.start, calls.stop, labels.codes(view, calls.name))


def by_phase(host: HostWork, cpu_time: Stretches, process: int) -> dict[str, Stretches]:
    """CPU time split by the phases of its process; ``host`` is the rest."""
    parts: dict[str, Stretches] = {}
    for phase in HOST_PHASES:
        when = host.phase(phase, process)
        parts[f"host_{phase.lower()}"] = cpu_time.within(when)
        cpu_time = cpu_time.without(when)
    return {**parts, "host": cpu_time}


def host_time_use(view: View, thread: int | None, process: int) -> TimeUse | None:
    """The time of a thread (None: the main or busiest one); None without any activity."""
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
    activity = host.activity(thread)
    if states:
        activity = name_all(states.pop("running").without(taken), [activity])
        causes |= {cause: stretches.without(taken) for cause, stretches in states.items()}
    else:
        activity = activity.without(taken)
    return TimeUse(
        host.threads.name(thread),
        causes | by_phase(host, activity, process),
        labels,
        is_gpu=False,
        thread=thread,
    )


def _states(host: HostWork, thread: int) -> dict[str, Stretches]:
    """The states of a thread: running, waiting for a core, and each kind of wait, labelled by its place."""
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
        codes = [host.stack_label(stack, thread) for stack in stacks.tolist()]
        return first_come(part.start, part.stop, np.array(codes or [-1], np.int64)[place.reshape(-1)])

    blocked = activity.state >= BLOCKED
    states = {
        "running": stretches(activity.state == RUNNING),
        "runnable": stretches(activity.state == RUNNABLE),
    }
    for code in np.unique(activity.wait[blocked]).tolist():
        name = WaitKind(code).name.lower() if code in WAIT_KINDS and code else "blocked"
        # The kind of wait whose name is taken by the rest.
        name = "blocked" if name == "other" else name
        waits = stretches(blocked & (activity.wait == code), is_named=True)
        states[name] = layered([states[name], waits]) if name in states else waits
    return states
