"""What another source may add to the thread states that perf's switches tell of."""

from __future__ import annotations

from collections.abc import Mapping

import numpy.typing as npt

from warpline.recording.sources.perf.thread_states import NO_CPU, Mark, Marks, States
from warpline.storage import CaptureBuilder


class Refinement:
    """Handed over with `Translation.give` before perf is translated; asked once, in the order of the methods."""

    def read(self) -> Marks:
        """More moments of threads. Every thread is known by now; no marks when nothing was recorded."""
        return Marks.of([], [], NO_CPU, Mark.WAKING)

    @property
    def splits_blocked(self) -> bool:
        """Whether the wait for a core is told apart from being blocked."""
        return False

    def columns(self, states: States) -> Mapping[str, npt.ArrayLike]:  # noqa: ARG002
        """Attributes of ``thread_state`` for each state: [n], masked where not known; what is given later counts."""
        return {}

    def add_links(self, builder: CaptureBuilder, states: States, first_id: int) -> None:
        """Links between the states, whose events are numbered from ``first_id``."""
