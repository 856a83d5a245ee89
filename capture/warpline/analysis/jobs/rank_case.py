"""The capture of one rank, with data that several tables share, computed once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.options import Options
from warpline.analysis.framework.selection import View
from warpline.analysis.steps.step_breakdown import device_windows
from warpline.analysis.steps.step_groups import step_groups
from warpline.analysis.structure.steps import find_steps

Int64Array = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class StepWindows:
    """The steps of a process, each until the GPU finishes its work: ``number``, ``start``/``stop`` capture ns."""

    process: int
    rank: int
    number: Int64Array
    start: Int64Array
    stop: Int64Array


class RankCase:
    """A view of a rank's capture, and the options that name its steps."""

    def __init__(self, view: View, options: Options) -> None:
        self.view = view
        self.options = options

    @cached_property
    def windows(self) -> StepWindows | None:
        """The steps of the process with the most; None without steps."""
        return _windows(self.view, self.options)


def _windows(view: View, options: Options) -> StepWindows | None:
    steps = find_steps(view, options)
    if not len(steps):
        return None
    process, rank, places = max(step_groups(steps), key=lambda group: (len(group[2]), -group[1], -group[0]))
    start, stop = device_windows(view, steps, places)
    number = steps.number[places]
    if len(np.unique(number)) < len(number):
        # Repeated numbers cannot identify steps.
        number = np.arange(len(number))
    return StepWindows(process, rank, number, start, stop)
