"""Paddle's device summary: utilization of CPU and GPUs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import GPU_KINDS, View
from warpline.analysis.framework.tables import scope_text
from warpline.analysis.structure.gpus import COMMUNICATION, COMPUTATION, activity_combinations, gpus
from warpline.analysis.structure.overlap import time_of
from warpline.i18n import english
from warpline.model import NOT_BUSY
from warpline.model.track_titles import CORE_LOAD

if TYPE_CHECKING:
    from warpline.storage import Counter

_DEVICE_NOTE = english(
    "CPU(Process) is the CPU time of the processes / elapsed time: up to 100 % × cores. "
    "GPU is the time with a kernel running / elapsed time."
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
                of=english("the elapsed time; for CPU(System), of all cores"),
                heat=True,
            ),
            Column("reason", "Not recorded because", Role.REASON),
        ),
        {"name": names, "utilization_ratio": np.array(shares, np.float64), "reason": absent},
        scope=scope_text(view, english("Utilization")),
        notes=(_DEVICE_NOTE,),
    )


def _process_utilization(view: View) -> tuple[float | None, str]:
    """CPU time of the recorded processes / elapsed time, from thread states or as the profiler printed it."""
    tracks = view.tracks_of_role("thread_cpu")
    if tracks and view.duration_ns and view.has("cpu_slice"):
        chosen = frozenset(t.index for t in tracks)
        busy = sum(int(events.inside.sum()) for events in view.batches("cpu_slice", chosen))
        return busy / view.duration_ns, ""
    if view.has("thread_state") and view.duration_ns:
        busy = 0
        for events in view.batches("thread_state"):
            running = (view.capture.events.flags[events.row] & NOT_BUSY) == 0
            busy += int(events.inside[running].sum())
        return busy / view.duration_ns, ""
    return _recorded(
        view,
        "cpu_process_utilization",
        "Process Cpu Utilization",
        english("thread states were not recorded; record with --trace cpu"),
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
        mean = _mean_ratio(view, counter)
        if mean is not None:
            return mean, ""
    # Warpline records the load of each core on the core's track.
    cores = {track.index for track in view.tracks_of_role("core")}
    loads = [
        _mean_ratio(view, counter)
        for counter in view.capture.counters
        if counter.track in cores and counter.name == CORE_LOAD
    ]
    known = [load for load in loads if load is not None]
    if known:
        return sum(known) / len(known), ""
    return _recorded(
        view,
        "cpu_system_utilization",
        "System Cpu Utilization",
        english("the load of all cores was not recorded; record with --trace cpu"),
    )


def _mean_ratio(view: View, counter: Counter) -> float | None:
    """Mean of a load's samples in the range, 0–1; None without any."""
    low = int(np.searchsorted(counter.times, view.start_ns))
    high = int(np.searchsorted(counter.times, view.stop_ns, "right"))
    values = counter.values[low:high]
    values = values[np.isfinite(values)]
    if not len(values):
        return None
    return float(values.mean()) / (100 if counter.unit in {"%", "percent"} else 1)


def _recorded(view: View, key: str, paddle_key: str, reason: str) -> tuple[float | None, str]:
    """The value that the importer found in the file, for the whole capture only."""
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


report = ReportSpec("device", "Devices", "framework", device, place=201)
