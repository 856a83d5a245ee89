"""Why each blocked stretch of a thread was one: the call that it lies in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from warpline.i18n import english
from warpline.model.waits import WaitKind
from warpline.recording.agent.waits import Releases, Waits, cover, read_waits, reasons
from warpline.recording.spool.reader import SpoolFile
from warpline.recording.spool.spool_to_tracks import AGENT_THREAD, Translation
from warpline.recording.states.refinement import Refinement
from warpline.recording.states.state import State
from warpline.recording.states.thread_states import Marks, States
from warpline.storage import NO_STACK

Int64Array = npt.NDArray[np.int64]

_REST = english("Warpline's agent rests until its next look")


class WaitReasons(Refinement):
    """Waits of the recording, read once when they are first wanted, and what they say of thread states."""

    def __init__(self, translation: Translation, spools: Sequence[SpoolFile]) -> None:
        self._translation = translation
        self._spools = spools
        self._found: tuple[Waits, Releases] | None = None

    @property
    def found(self) -> tuple[Waits, Releases]:
        """All calls and releases; every thread must be known by now."""
        if self._found is None:
            self._found = self._read()
        return self._found

    def _read(self) -> tuple[Waits, Releases]:
        translation = self._translation
        return read_waits(translation.threads, self._spools, translation.builder, translation.stop_ns)

    def read(self) -> Marks:
        """No moments of its own."""
        self.found  # noqa: B018  # threads that only the agent saw are made now, before states are counted
        return super().read()

    def waits(self) -> tuple[Int64Array, Int64Array, Int64Array]:
        """All calls."""
        waits = self.found[0]
        return waits.thread, waits.start_ns, waits.stop_ns

    def columns(self, states: States) -> Mapping[str, npt.ArrayLike]:
        """``wait``, ``reason``, ``place``, ``stack`` and ``task`` of blocked states that lie in a call."""
        waits = self.found[0]
        if not len(waits):
            return {}
        own = [
            index for index, life in enumerate(self._translation.threads.threads) if life.name == AGENT_THREAD
        ]
        is_own = np.isin(states.thread, own)
        blocked = np.flatnonzero((states.state == State.BLOCKED) & ~is_own)
        resting = np.flatnonzero((states.state == State.BLOCKED) & is_own)
        of = cover(waits, states.thread[blocked], states.start_ns[blocked], states.stop_ns[blocked])
        rows, of = blocked[of >= 0], of[of >= 0]
        count = len(states.thread)
        why = reasons(waits, self._translation.threads, self._translation.builder)
        rest = self._translation.builder.string(_REST)
        both = np.r_[rows, resting]
        return {
            "wait": _column(
                count, both, np.r_[waits.kind[of], np.full(len(resting), WaitKind.SLEEP, np.uint8)], 0
            ),
            "reason": _column(count, both, np.r_[why[of], np.full(len(resting), rest, np.uint32)], 0),
            "place": _column(count, rows, waits.place[of], 0),
            "stack": _column(count, rows, waits.stack[of], NO_STACK),
            "task": _column(count, rows, waits.task[of], 0),
        }


def _column(
    count: int, rows: npt.NDArray[np.int64], values: npt.NDArray[np.integer], none: int
) -> npt.ArrayLike:
    """``values`` at ``rows`` of a column of ``count``; masked elsewhere, and where a value is ``none``."""
    column = np.full(count, none, values.dtype)
    column[rows] = values
    return np.ma.MaskedArray(column, column == none)
