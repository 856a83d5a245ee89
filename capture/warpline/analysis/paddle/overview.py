"""Paddle's device, overview, model and distributed summaries."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.nesting import outermost, window_sums, windows
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table
from warpline.analysis.framework.selection import GPU_KINDS, Events, View, join_events
from warpline.analysis.framework.tables import missing, ratio, scope_text
from warpline.analysis.paddle.cpu_gpu import SideRows, side_columns
from warpline.analysis.structure.event_types import HOST_KINDS, HOST_TYPES, PHASES, event_types, type_code
from warpline.analysis.structure.gpus import (
    COMMUNICATION,
    COMPUTATION,
    activity_combinations,
    gpus,
    windows_of,
)
from warpline.analysis.structure.kernels import communication_ids
from warpline.analysis.structure.launches import Launches, launches_from, threads_of_tracks
from warpline.analysis.structure.overlap import combination_times, time_of, time_of_all
from warpline.analysis.structure.steps import find_steps, missing_steps
from warpline.model.intervals import merge_intervals
from warpline.storage import Counter

Int64Array = npt.NDArray[np.int64]
_OF_STEPS = "the time of all steps"
_OF_RANGE = "the selected range"
_DEVICE_NOTE = (
    "CPU(Process) is the time of the processes on all cores / elapsed time: up to 100 % × cores. "
    "GPU is the time its kernels run / elapsed time."
)
_GPU_TYPES = (("Kernel", ("kernel",)), ("Memcpy", ("memcpy",)), ("Memset", ("memset",)))


def step_time(view: View, options: Options) -> int:
    """Length of the union of all steps in the selected range; 0 without steps."""
    found = find_steps(view, options)
    starts, stops = merge_intervals(
        np.maximum(found.start, view.start_ns), np.minimum(found.stop, view.stop_ns)
    )
    return int((stops - starts).sum())


def _host_unions(view: View) -> tuple[Int64Array, Int64Array]:
    """(calls, length of the union over all threads) of each host type; exact, in windows of bounded size."""
    calls = np.zeros(len(HOST_TYPES), np.int64)
    times = np.zeros(len(HOST_TYPES), np.int64)
    kinds = tuple(kind for kind in HOST_KINDS if kind in view.capture.kinds)
    tracks = frozenset(t.index for t in view.capture.tracks if t.device is None)
    for kind in kinds:
        for events in view.batches(kind, tracks):
            calls += np.bincount(event_types(view, kind, events), minlength=len(HOST_TYPES))
    for window in windows_of(view, tracks, kinds=kinds):
        parts = [(kind, window.events(kind, tracks)) for kind in kinds]
        types = np.concatenate(
            [np.empty(0, np.int64), *(event_types(view, kind, part) for kind, part in parts)]
        )
        events = join_events([part for _, part in parts])
        for code in np.unique(types).tolist():
            here = types == code
            busy = combination_times(
                [(events.start[here], events.stop[here])], window.start_ns, window.stop_ns
            )
            times[code] += int(busy[1])
    return calls, times


def overview(view: View, options: Options) -> Table | NotRecorded:
    """Calls and time by type of event; what overlaps within a type counts once."""
    if not view.has(*HOST_KINDS, *GPU_KINDS):
        return missing("operator")
    calls, times = _host_unions(view)
    for phase in PHASES:
        if calls[type_code(phase)]:
            calls[type_code(phase)] = len(_phase_events(view, phase, tracks_of_host(view)))
    if options.step:
        steps = find_steps(view, options)
        calls[0], times[0] = len(steps), step_time(view, options)
    whole = int(times[0]) or view.duration_ns
    rows: list[tuple[str, int, int, int, str]] = []
    if calls[0]:
        rows.append((HOST_TYPES[0], int(calls[0]), int(times[0]), 0, "cpu"))
    others = [code for code in range(1, len(HOST_TYPES)) if calls[code]]
    others.sort(key=lambda code: -int(times[code]))
    rows += [(HOST_TYPES[code], int(calls[code]), int(times[code]), 1, "cpu") for code in others]
    rows += _gpu_rows(view)
    total = np.array([row[2] for row in rows], np.int64)
    return Table(
        (
            Column("name", "Event Type", Role.NAME, key=True),
            Column("side", "Side", Role.TEXT, key=True),
            Column("count", "Calls", Role.COUNT),
            Column("total_ns", "Time", Role.DURATION),
            Column("ratio", "Ratio", Role.SHARE, _OF_STEPS if times[0] else _OF_RANGE, heat=True, lead=1),
        ),
        {
            "name": [row[0] for row in rows],
            "side": [row[4] for row in rows],
            "count": np.array([row[1] for row in rows], np.int64),
            "total_ns": total,
            "ratio": ratio(total, whole),
        },
        depth=np.array([row[3] for row in rows], np.int16),
        scope=scope_text(view, "Events by type"),
        notes=(
            "Types overlap and contain each other (an operator contains its parts): ratios do not add up to 100 %.",
        ),
    )


def _gpu_rows(view: View) -> list[tuple[str, int, int, int, str]]:
    """Rows of the GPU types over all GPUs and streams: the union of each type's intervals."""
    devices = frozenset(t.index for t in view.capture.tracks if t.device is not None)
    communication = communication_ids(view)
    counts: dict[str, int] = {}
    times: dict[str, int] = {}
    for name, kinds in _GPU_TYPES:
        counts[name] = sum(view.count(kind, devices) for kind in kinds)
    for window in windows_of(view, devices):
        for name, kinds in _GPU_TYPES:
            events = join_events(
                [window.events(kind, devices) for kind in kinds if kind in view.capture.kinds]
            )
            if not len(events):
                continue
            groups = [(name, np.ones(len(events), bool))]
            if name == "Kernel":
                groups.append(("Communication", communication[events.name]))
            for key, chosen in groups:
                part = (events.start[chosen], events.stop[chosen])
                busy = combination_times([part], window.start_ns, window.stop_ns)
                times[key] = times.get(key, 0) + int(busy[1])
    counts["Communication"] = sum(
        int(communication[events.name].sum())
        for kind in ("kernel",)
        if kind in view.capture.kinds
        for events in view.batches(kind, devices)
    )
    return [(key, n, times.get(key, 0), 1, "gpu") for key, n in counts.items() if n]


def model(view: View, options: Options) -> Table | NotRecorded:
    """The phases of a step: Dataloader, Forward, Backward, Optimization, and what is none of them."""
    steps = find_steps(view, options)
    if not len(steps):
        return missing_steps(options)
    tracks = frozenset(t.index for t in view.capture.tracks if t.device is None)
    launches = launches_from(view)
    first, last = windows(launches.call_start, steps.start, steps.stop)
    cpu = np.minimum(steps.stop, view.stop_ns) - np.maximum(steps.start, view.start_ns)
    gpu = window_sums(launches.work_ns, first, last)
    rows = SideRows()
    names: list[str | None] = ["ProfileStep"]
    cpu_whole, gpu_whole = int(cpu.sum()), int(gpu.sum())
    has_gpu = view.has(*GPU_KINDS)

    def side(values: Int64Array) -> tuple[float, ...]:
        if not len(values):
            return (0.0, float("nan"), float("nan"), float("nan"))
        return (float(values.sum()), float(values.mean()), float(values.max()), float(values.min()))

    rows.add(len(steps), side(cpu), side(gpu) if has_gpu else None, cpu_whole, gpu_whole)
    rest_cpu, rest_gpu = cpu_whole, gpu_whole
    for phase in PHASES:
        phase_cpu, phase_gpu = _phase_times(view, phase, tracks, launches)
        if not len(phase_cpu):
            continue
        names.append(phase)
        rows.add(len(phase_cpu), side(phase_cpu), side(phase_gpu) if has_gpu else None, cpu_whole, gpu_whole)
        rest_cpu -= int(phase_cpu.sum())
        rest_gpu -= int(phase_gpu.sum())
    nan = float("nan")
    names.append("Others")
    rows.add(
        nan, (rest_cpu, nan, nan, nan), (rest_gpu, nan, nan, nan) if has_gpu else None, cpu_whole, gpu_whole
    )
    notes = [
        "GPU time is the sum of what was launched inside a phase, on its thread; a step counts launches of all threads."
    ]
    absent = [phase for phase in PHASES if phase not in names]
    if absent:
        notes.append(
            f"{', '.join(absent)}: not recorded, because no event says so; mark them with ranges of these names."
        )
    return Table(
        (
            Column("name", "Name", Role.NAME, key=True),
            *side_columns("the CPU time of all steps", "the GPU time of all steps"),
        ),
        {"name": names, **rows.data()},
        depth=np.array([0] + [1] * (len(names) - 1), np.int16),
        scope=scope_text(view, "Steps and their phases"),
        notes=tuple(notes),
    )


def tracks_of_host(view: View) -> frozenset[int]:
    """All tracks that belong to no GPU."""
    return frozenset(t.index for t in view.capture.tracks if t.device is None)


def _phase_events(view: View, phase: str, tracks: frozenset[int]) -> Events:
    """The events of a phase; a layer's forward inside the model's is part of it and not counted again."""
    code = type_code(phase)
    parts = []
    for kind in ("phase", "range", "operator", "other"):
        if kind in view.capture.kinds:
            parts += [
                events.take(event_types(view, kind, events) == code) for events in view.batches(kind, tracks)
            ]
    events = join_events(parts)
    if not len(events):
        return events
    thread = threads_of_tracks(view)[view.track_of(events.row)]
    return events.take(outermost(thread, events.start, events.stop))


def _phase_times(
    view: View, phase: str, tracks: frozenset[int], launches: Launches
) -> tuple[Int64Array, Int64Array]:
    """CPU time in the range and launched GPU time of every event of a phase."""
    events = _phase_events(view, phase, tracks)
    gpu = np.zeros(len(events), np.int64)
    thread = threads_of_tracks(view)[view.track_of(events.row)] if len(events) else gpu
    for number in np.unique(thread).tolist():
        here = np.flatnonzero(thread == number)
        own = launches.of_thread(number)
        first, last = windows(own.call_start, events.start[here], events.stop[here])
        gpu[here] = window_sums(own.work_ns, first, last)
    return events.inside, gpu


def distributed(view: View, options: Options) -> Table | NotRecorded:
    """Communication, computation and their overlap, per GPU."""
    if not view.has("kernel"):
        return missing("kernel")
    whole = step_time(view, options)
    reference = whole or view.duration_ns
    names: list[str | None] = []
    depth: list[int] = []
    times: list[int] = []
    for gpu in gpus(view):
        combinations = activity_combinations(view, gpu)
        names += [gpu.title, "Communication", "Computation", "Overlap"]
        depth += [0, 1, 1, 1]
        times += [
            time_of(combinations, COMMUNICATION | COMPUTATION),
            time_of(combinations, COMMUNICATION),
            time_of(combinations, COMPUTATION),
            time_of_all(combinations, COMMUNICATION | COMPUTATION),
        ]
    total = np.array(times, np.int64)
    return Table(
        (
            Column("name", "Name", Role.NAME, key=True),
            Column("total_ns", "Total Time", Role.DURATION),
            Column("ratio", "Ratio", Role.SHARE, _OF_STEPS if whole else _OF_RANGE, heat=True, lead=1),
        ),
        {"name": names, "total_ns": total, "ratio": ratio(total, reference)},
        depth=np.array(depth, np.int16),
        scope=scope_text(view, "Kernels of each GPU"),
        notes=("Communication is told by the kernel's name (nccl, rccl, hccl …); copies count as neither.",),
    )


def device(view: View, _options: Options) -> Table | NotRecorded:
    """Utilization of the CPU by the process and by the system, and of each GPU."""
    names: list[str | None] = []
    shares: list[float] = []
    absent: list[str | None] = []

    def add(name: str, value: float | None, reason: str = "") -> None:
        names.append(name)
        shares.append(float("nan") if value is None else value)
        absent.append(reason if value is None else None)

    add("CPU(Process)", *_process_utilization(view))
    add("CPU(System)", *_system_utilization(view))
    for gpu in gpus(view) if view.has(*GPU_KINDS) else []:
        combinations = activity_combinations(view, gpu)
        busy = time_of(combinations, COMMUNICATION | COMPUTATION)
        add(gpu.title, busy / view.duration_ns if view.duration_ns else None, "the range is empty")
    return Table(
        (
            Column("name", "Device", Role.NAME, key=True),
            Column(
                "utilization_ratio",
                "Utilization",
                Role.RATIO,
                "the elapsed time; CPU(System): of all cores",
                heat=True,
            ),
            Column("reason", "Not recorded because", Role.REASON),
        ),
        {"name": names, "utilization_ratio": np.array(shares, np.float64), "reason": absent},
        scope=scope_text(view, "Utilization"),
        notes=(_DEVICE_NOTE,),
    )


def _process_utilization(view: View) -> tuple[float | None, str]:
    """CPU time of the recorded processes over elapsed time, from thread states, else as the recorder printed it."""
    tracks = view.tracks_of_role("thread_cpu")
    if tracks and view.duration_ns and view.has("cpu_slice"):
        chosen = frozenset(t.index for t in tracks)
        busy = sum(int(events.inside.sum()) for events in view.batches("cpu_slice", chosen))
        return busy / view.duration_ns, ""
    if view.has("thread_state") and view.duration_ns:
        from warpline.model import NOT_BUSY

        busy = 0
        for events in view.batches("thread_state"):
            running = (view.capture.events.flags[events.row] & NOT_BUSY) == 0
            busy += int(events.inside[running].sum())
        return busy / view.duration_ns, ""
    return _recorded(
        view,
        "cpu_process_utilization",
        "Process Cpu Utilization",
        "when threads ran was not recorded; record with --trace cpu",
    )


def _system_utilization(view: View) -> tuple[float | None, str]:
    counters = [
        counter
        for counter in view.capture.counters
        if view.capture.tracks[counter.track].role == "counter"
        and "cpu" in counter.name.casefold()
        and "util" in counter.name.casefold()
        and view.capture.tracks[counter.track].uri.startswith("system")
    ]
    for counter in counters:
        found = _mean_ratio(view, counter)
        if found is not None:
            return found, ""
    # The recorder counts each core's load on the core's own track.
    cores = {track.index for track in view.tracks_of_role("core")}
    loads = [
        _mean_ratio(view, counter)
        for counter in view.capture.counters
        if counter.track in cores and counter.name == "Utilization"
    ]
    known = [load for load in loads if load is not None]
    if known:
        return sum(known) / len(known), ""
    return _recorded(
        view,
        "cpu_system_utilization",
        "System Cpu Utilization",
        "the load of all cores was not recorded; record with --trace cpu",
    )


def _mean_ratio(view: View, counter: Counter) -> float | None:
    """Mean of a load's samples in the range, 0 to 1; None without any."""
    low = int(np.searchsorted(counter.times, view.start_ns))
    high = int(np.searchsorted(counter.times, view.stop_ns, "right"))
    values = counter.values[low:high]
    values = values[np.isfinite(values)]
    if not len(values):
        return None
    return float(values.mean()) / (100 if counter.unit in {"%", "percent"} else 1)


def _recorded(view: View, key: str, paddle_key: str, reason: str) -> tuple[float | None, str]:
    """What the importer found in the file, for the whole capture only."""
    if view.is_whole:
        for place in (
            view.capture.meta,
            view.capture.meta.get("extra_info"),
            view.capture.meta.get("paddle"),
        ):
            if not isinstance(place, Mapping):
                continue
            value = place.get(key, place.get(paddle_key))
            try:
                return float(str(value).rstrip("%")) / 100, ""
            except ValueError:
                continue
    return None, reason
