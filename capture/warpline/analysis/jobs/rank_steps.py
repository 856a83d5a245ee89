"""What one rank of a job tells of its steps: when, how long, and what their time went to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warpline.analysis.compare.causes import cause_title, gpu_time_use, has_gpu_work, host_time_use
from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table, Values
from warpline.analysis.framework.selection import View
from warpline.analysis.steps.step_breakdown import device_windows
from warpline.analysis.steps.step_groups import step_groups
from warpline.analysis.structure.steps import find_steps, missing_steps
from warpline.i18n import english

Int64Array = npt.NDArray[np.int64]
STEPS = "rank_steps"


@dataclass(frozen=True, eq=False)
class StepWindows:
    """The steps of a process, each until the GPU has finished its work: ``number``, ``start``/``stop`` capture ns."""

    process: int
    rank: int
    number: Int64Array
    start: Int64Array
    stop: Int64Array


def step_windows(view: View, options: Options) -> StepWindows | None:
    """The steps of the process that has the most; None without steps."""
    found = find_steps(view, options)
    if not len(found):
        return None
    process, rank, places = max(step_groups(found), key=lambda group: (len(group[2]), -group[1], -group[0]))
    start, stop = device_windows(view, found, places)
    number = found.number[places]
    if len(np.unique(number)) < len(number):
        # Numbers that begin anew cannot tell steps apart.
        number = np.arange(len(number))
    return StepWindows(process, rank, number, start, stop)


def rank_steps(view: View, options: Options) -> Table | NotRecorded:
    """Each step until the GPU has finished its work: when, how long, and the causes that its time is cut into.

    The causes are those of comparisons: the time of the busiest GPU, or of a thread where there is no GPU work.
    """
    windows = step_windows(view, options)
    if windows is None:
        return missing_steps(options)
    start, stop = windows.start, windows.stop
    length = stop - start
    # Gaps at the end have their cause behind it.
    around = view.restrict(int(start.min()), int(stop.max() + length.max()))
    if has_gpu_work(view):
        use = gpu_time_use(around, windows.process, windows.rank)
    else:
        use = host_time_use(around, None, windows.process)
    columns = [
        Column("step", english("Step"), Role.ORDINAL, key=True),
        Column("start_ns", english("Start"), Role.TIME),
        Column("duration_ns", english("Duration"), Role.DURATION),
    ]
    data: dict[str, Values] = {
        "step": windows.number,
        "start_ns": start - view.capture.span[0],
        "duration_ns": length,
    }
    for cause, times in use.parts(start, stop).items() if use is not None else ():
        columns.append(Column(f"{cause}_ns", cause_title(cause), Role.DURATION))
        data[f"{cause}_ns"] = times
    return Table(tuple(columns), data)
