"""What another source may add to the thread states that perf's switches tell of."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from warpline.recording.states.thread_states import NO_CPU, Mark, Marks, States
from warpline.storage import CaptureBuilder

Int64Array = npt.NDArray[np.int64]


class Refinement:
    """Handed over with `Translation.give` before perf is translated; asked once, in the order of the methods."""

    def read(self) -> Marks:
        """More moments of threads. Every thread is known by now; no marks when nothing was recorded."""
        return Marks.of([], [], NO_CPU, Mark.WAKING)

    def waits(self) -> tuple[Int64Array, Int64Array, Int64Array]:
        """Stretches in which threads are known to have waited: thread, start and stop (CLOCK_MONOTONIC ns), [n] each.

        Estimated states are cut where these begin and end. Asked after `read`.
        """
        none = np.empty(0, np.int64)
        return none, none, none

    @property
    def splits_blocked(self) -> bool:
        """Whether the wait for a core is told apart from being blocked."""
        return False

    def columns(self, states: States) -> Mapping[str, npt.ArrayLike]:  # noqa: ARG002
        """Attributes of ``thread_state`` for each state: [n], masked where not known; what is given later counts."""
        return {}

    def add_links(self, builder: CaptureBuilder, states: States, first_id: int) -> None:
        """Links between the states, whose events are numbered from ``first_id``."""


def over(below: npt.ArrayLike | None, above: npt.ArrayLike) -> npt.ArrayLike:
    """A column [n] where it is known, and another one where it is not."""
    if below is None:
        return above
    upper, lower = np.ma.MaskedArray(above), np.ma.MaskedArray(below)
    is_unknown = np.ma.getmaskarray(upper)
    values = np.where(is_unknown, lower.data, upper.data)
    return np.ma.MaskedArray(values, is_unknown & np.ma.getmaskarray(lower))
