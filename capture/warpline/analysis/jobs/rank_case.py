"""What the tables of one rank are drawn from: its capture, and what several of them need of it, found once."""

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
    """The steps of a process, each until the GPU has finished its work: ``number``, ``start``/``stop`` capture ns."""

    process: int
    rank: int
    number: Int64Array
    start: Int64Array
    stop: Int64Array


class RankCase:
    """A rank's capture through a view, and which range is a step."""

    def __init__(self, view: View, options: Options) -> None:
        self.view = view
        self.options = options

    @cached_property
    def windows(self) -> StepWindows | None:
        """The steps of the process that has the most; None without steps."""
        return _windows(self.view, self.options)


def _windows(view: View, options: Options) -> StepWindows | None:
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
