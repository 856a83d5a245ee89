"""The recorder comes before others while it watches, and leaves no trace of that."""

from __future__ import annotations

import os
import sys

import pytest

from warpline.recording.spool.precedence import EMPTIED_EVERY_S, Pace, before_others

MS = 1_000_000


@pytest.mark.skipif(sys.platform != "linux", reason="recording works on Linux only")
def test_the_niceness_of_a_thread_is_restored() -> None:
    before = os.getpriority(os.PRIO_PROCESS, 0)
    with before_others():
        assert os.getpriority(os.PRIO_PROCESS, 0) <= before
    assert os.getpriority(os.PRIO_PROCESS, 0) == before


@pytest.mark.skipif(sys.platform != "linux", reason="recording works on Linux only")
def test_a_chosen_scheduling_policy_stays() -> None:
    child = os.fork()
    if not child:
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        with before_others():
            os._exit(os.sched_getscheduler(0) != os.SCHED_IDLE)
    assert os.waitpid(child, 0)[1] == 0


def test_rings_are_emptied_sooner_after_the_recorder_was_late() -> None:
    pace, now = Pace(), 1000 * MS
    for _turn in range(3):
        patience_s = pace.patience_s(now)
        assert patience_s == EMPTIED_EVERY_S
        now += int(patience_s * 1e9) + 5 * MS
    now += 100 * MS
    late, found = now, []
    while now < late + 3000 * MS:
        found.append(pace.patience_s(now))
        now += int(found[-1] * 1e9)
    assert found[0] < EMPTIED_EVERY_S
    assert found == sorted(found)
    assert found[-1] == EMPTIED_EVERY_S
