"""Estimated states, cut by what is known of waits."""

from __future__ import annotations

import numpy as np

from warpline.recording.sources.procfs.estimates import cut_by_waits
from warpline.recording.states.state import State
from warpline.recording.states.thread_states import NO_CPU, States

MS = 1_000_000


def test_blocked_states_are_cut_at_the_borders_of_waits() -> None:
    states = States(
        thread=np.array([1, 1, 1, 4]),
        start_ns=np.array([0, 100, 110, 0]) * MS,
        stop_ns=np.array([100, 110, 120, 50]) * MS,
        state=np.array([State.BLOCKED, State.RUNNING, State.BLOCKED, State.BLOCKED], np.uint8),
        cpu=np.array([NO_CPU, 3, NO_CPU, NO_CPU], np.int32),
        flags=np.zeros(4, np.uint8),
    )
    # One that began before, two with a moment between them, one that is too short, one of another thread.
    thread = np.array([1, 1, 1, 1, 2])
    start = np.array([-5 * MS, 40 * MS, 70 * MS + MS // 2, 112 * MS, 10 * MS])
    stop = np.array([20 * MS, 70 * MS, 105 * MS, 112 * MS + 10_000, 20 * MS])
    cut = cut_by_waits(states, thread, start, stop)
    found = list(
        zip(cut.thread.tolist(), cut.start_ns.tolist(), cut.stop_ns.tolist(), cut.state.tolist(), strict=True)
    )
    assert found == [
        (1, 0, 20 * MS, State.BLOCKED),
        (1, 20 * MS, 40 * MS, State.BLOCKED),
        (1, 40 * MS, 70 * MS, State.BLOCKED),
        (1, 70 * MS, 70 * MS + MS // 2, State.RUNNING),
        (1, 70 * MS + MS // 2, 100 * MS, State.BLOCKED),
        (1, 100 * MS, 110 * MS, State.RUNNING),
        (1, 110 * MS, 120 * MS, State.BLOCKED),
        (4, 0, 50 * MS, State.BLOCKED),
    ]
    assert cut.cpu.tolist() == [NO_CPU] * 5 + [3] + [NO_CPU] * 2


def test_without_waits_states_stay_as_they_are() -> None:
    states = States(
        thread=np.array([0, 0]),
        start_ns=np.array([0, 5]),
        stop_ns=np.array([5, 9]),
        state=np.array([State.BLOCKED, State.RUNNING], np.uint8),
        cpu=np.array([NO_CPU, 0], np.int32),
        flags=np.zeros(2, np.uint8),
    )
    none = np.empty(0, np.int64)
    cut = cut_by_waits(states, none, none, none)
    for name in ("thread", "start_ns", "stop_ns", "state", "cpu"):
        assert getattr(cut, name).tolist() == getattr(states, name).tolist()
