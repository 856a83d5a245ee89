"""Kernels with their launching calls."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.report import NotRecorded
from warpline.analysis.framework.selected.selected_events import SelectedEvents
from warpline.analysis.framework.selection import View
from warpline.analysis.structure.kernels import full_names
from warpline.analysis.structure.launches import Launches, gpu_events, has_launches, launch_of_each

Int64Array = npt.NDArray[np.int64]


def executions(view: View) -> tuple[SelectedEvents, Launches, Int64Array] | None:
    """Kernels that have a launching call, ordered by it; their launches and names. None without any."""
    if not has_executions(view):
        return None
    events = gpu_events(view, "kernel")
    launches, place = launch_of_each(view, events)
    events, place = events.take(place >= 0), place[place >= 0]
    order = np.argsort(place, kind="stable")
    events = events.take(order)
    return events, launches.take(place[order]), full_names(view, events).astype(np.int64)


def has_executions(view: View) -> bool:
    """Whether kernels and launching calls were recorded."""
    return view.has("kernel") and has_launches(view)


def missing_executions(view: View) -> NotRecorded:
    """Why there are no `executions`."""
    return missing("launch") if view.has("kernel") else missing("kernel")


def total_ns(launches: Launches) -> Int64Array:
    """Time from the start of the call to the later of the two ends (ns)."""
    return np.maximum(launches.call_stop, launches.work_stop) - launches.call_start
