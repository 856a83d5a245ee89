"""Explains blocked thread states by the calls that contain them."""

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

_SLEEP = english("Warpline's agent sleeps until its next check")


class WaitReasons(Refinement):
    """The waits of the recording, read at first use, and the thread states that they explain."""

    def __init__(self, translation: Translation, spools: Sequence[SpoolFile]) -> None:
        self._translation = translation
        self._spools = spools
        self._waits_and_releases: tuple[Waits, Releases] | None = None

    @property
    def waits_and_releases(self) -> tuple[Waits, Releases]:
        """All calls and releases; all threads must be known by now."""
        if self._waits_and_releases is None:
            self._waits_and_releases = self._read()
        return self._waits_and_releases

    def _read(self) -> tuple[Waits, Releases]:
        translation = self._translation
        return read_waits(translation.threads, self._spools, translation.builder, translation.stop_ns)

    def read(self) -> Marks:
        """Returns no marks of its own."""
        self.waits_and_releases  # noqa: B018  # adds threads that only the agent saw, before states are computed
        return super().read()

    def waits(self) -> tuple[Int64Array, Int64Array, Int64Array]:
        """The thread, start and stop of all calls."""
        waits = self.waits_and_releases[0]
        return waits.thread, waits.start_ns, waits.stop_ns

    def columns(self, states: States) -> Mapping[str, npt.ArrayLike]:
        """``wait``, ``reason``, ``place``, ``stack`` and ``task`` of blocked states inside a call."""
        waits = self.waits_and_releases[0]
        if not len(waits):
            return {}
        own = [
            index for index, life in enumerate(self._translation.threads.threads) if life.name == AGENT_THREAD
        ]
        is_own = np.isin(states.thread, own)
        blocked = np.flatnonzero((states.state == State.BLOCKED) & ~is_own)
        resting = np.flatnonzero((states.state == State.BLOCKED) & is_own)
        call = cover(waits, states.thread[blocked], states.start_ns[blocked], states.stop_ns[blocked])
        rows, call = blocked[call >= 0], call[call >= 0]
        count = len(states.thread)
        texts = reasons(waits, self._translation.threads, self._translation.builder)
        rest = self._translation.builder.string(_SLEEP)
        both = np.r_[rows, resting]
        return {
            "wait": _column(
                count, both, np.r_[waits.kind[call], np.full(len(resting), WaitKind.SLEEP, np.uint8)], 0
            ),
            "reason": _column(count, both, np.r_[texts[call], np.full(len(resting), rest, np.uint32)], 0),
            "place": _column(count, rows, waits.place[call], 0),
            "stack": _column(count, rows, waits.stack[call], NO_STACK),
            "task": _column(count, rows, waits.task[call], 0),
        }


def _column(
    count: int, rows: npt.NDArray[np.int64], values: npt.NDArray[np.integer], none: int
) -> npt.ArrayLike:
    """A column of ``count`` entries with ``values`` at ``rows``; masked elsewhere and where a value is ``none``."""
    column = np.full(count, none, values.dtype)
    column[rows] = values
    return np.ma.MaskedArray(column, column == none)
