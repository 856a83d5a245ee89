"""Table of one rank: its steps, and where their time went."""

from __future__ import annotations

from warpline.analysis.compare.causes import cause_title, gpu_time_use, has_gpu_work, host_time_use
from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.report import NotRecorded, Table, Values
from warpline.analysis.jobs.rank_case import RankCase
from warpline.analysis.structure.steps import missing_steps
from warpline.i18n import english

STEPS = "rank_steps"


def rank_steps(case: RankCase) -> Table | NotRecorded:
    """A row for each step, until the GPU finishes its work: start, duration, and the time of each cause.

    The causes are those of comparisons: of the busiest GPU, or of a thread without GPU work.
    """
    view, windows = case.view, case.windows
    if windows is None:
        return missing_steps(case.options)
    start, stop = windows.start, windows.stop
    length = stop - start
    # The causes of the last gaps lie after the last step.
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
