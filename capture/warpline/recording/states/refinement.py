"""How other sources refine the thread states of context switches."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from warpline.recording.states.thread_states import NO_CPU, Mark, Marks, States
from warpline.storage import CaptureBuilder

Int64Array = npt.NDArray[np.int64]


class Refinement:
    """Refines thread states. Passed on with `Translation.give`; its methods are called once, in this order."""

    def read(self) -> Marks:
        """Additional marks; empty when nothing was recorded. All threads are known by now."""
        return Marks.of([], [], NO_CPU, Mark.WAKING)

    def waits(self) -> tuple[Int64Array, Int64Array, Int64Array]:
        """Known waits of threads: thread, start and stop (CLOCK_MONOTONIC ns), [n] each.

        Estimated states are cut where these begin and end. Called after `read`.
        """
        none = np.empty(0, np.int64)
        return none, none, none

    @property
    def splits_blocked(self) -> bool:
        """Whether blocked states exclude the wait for a core."""
        return False

    def columns(self, states: States) -> Mapping[str, npt.ArrayLike]:  # noqa: ARG002
        """Attributes of ``thread_state`` for each state: [n], masked where unknown; later refinements win."""
        return {}

    def add_links(self, builder: CaptureBuilder, states: States, first_id: int) -> None:
        """Add links between the states, whose event ids start at ``first_id``."""


def overlay(below: npt.ArrayLike | None, above: npt.ArrayLike) -> npt.ArrayLike:
    """The column ``above`` [n] where it is known, otherwise ``below``."""
    if below is None:
        return above
    upper, lower = np.ma.MaskedArray(above), np.ma.MaskedArray(below)
    is_unknown = np.ma.getmaskarray(upper)
    values = np.where(is_unknown, lower.data, upper.data)
    return np.ma.MaskedArray(values, is_unknown & np.ma.getmaskarray(lower))
