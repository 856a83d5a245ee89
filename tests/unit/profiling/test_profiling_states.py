"""Schedules: Paddle's, those of other profilers, and what is none."""

from __future__ import annotations

import subprocess
import sys
from enum import Enum
from typing import Any

import pytest

import warpline
from warpline.profiling.states import ProfilerWarning, schedule_of

CLOSED, READY, RECORD, LAST = warpline.ProfilerState


def states(schedule: Any, count: int) -> list[warpline.ProfilerState]:
    return [schedule(step) for step in range(count)]


def test_the_cycle_of_paddles_documentation() -> None:
    # "closed=1, ready=1, record=4, repeat=1, skip_first=0": the states that the documentation of make_scheduler lists
    schedule = warpline.make_scheduler(closed=1, ready=1, record=4, repeat=1)
    assert states(schedule, 8) == [CLOSED, READY, RECORD, RECORD, RECORD, LAST, CLOSED, CLOSED]


def test_a_schedule_repeats_forever_or_a_number_of_times() -> None:
    for_ever = warpline.make_scheduler(closed=1, ready=0, record=1)
    assert states(for_ever, 6) == [CLOSED, LAST] * 3
    twice = warpline.make_scheduler(closed=1, ready=0, record=1, repeat=2, skip_first=3)
    assert states(twice, 9) == [CLOSED] * 3 + [CLOSED, LAST] * 2 + [CLOSED] * 2


def test_two_numbers_select_the_steps_from_first_to_stop() -> None:
    assert states(schedule_of((2, 5)), 7) == [CLOSED, READY, RECORD, RECORD, LAST, CLOSED, CLOSED]
    assert states(schedule_of([0, 2]), 4) == [RECORD, LAST, CLOSED, CLOSED]
    assert states(schedule_of((1, 2)), 3) == [READY, LAST, CLOSED]


def test_no_schedule_records_every_step() -> None:
    assert states(schedule_of(None), 3) == [RECORD] * 3


class TorchAction(Enum):
    """As ``torch.profiler.ProfilerAction``: other names, the same numbers."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def test_a_torch_schedule_is_accepted() -> None:
    actions = [TorchAction.NONE, TorchAction.WARMUP, TorchAction.RECORD, TorchAction.RECORD_AND_SAVE]
    assert states(schedule_of(actions.__getitem__), 4) == [CLOSED, READY, RECORD, LAST]
    assert states(schedule_of(lambda step: step), 4) == [CLOSED, READY, RECORD, LAST]


@pytest.mark.parametrize("scheduler", [(5, 2), (-1, 2), (1, 2, 3), "all", 7, (1.0, 2.0)])
def test_an_invalid_schedule_is_reported(scheduler: Any) -> None:
    with pytest.raises(warpline.UsageError, match="scheduler must be a function of the step"):
        warpline.Profiler(scheduler=scheduler)


def test_invalid_numbers_of_a_schedule_are_reported() -> None:
    with pytest.raises(warpline.UsageError, match="record >= 1"):
        warpline.make_scheduler(closed=1, ready=1, record=0)
    with pytest.raises(warpline.UsageError, match="closed=-1"):
        warpline.make_scheduler(closed=-1, ready=1, record=1)


def test_a_failing_schedule_records_nothing_and_warns_once() -> None:
    def broken(step: int) -> Any:
        if step == 1:
            raise RuntimeError("out of steps")
        return "perhaps"

    schedule = schedule_of(broken)
    with pytest.warns(ProfilerWarning, match=r"step 0: it returned 'perhaps', which is not a state"):
        assert schedule(0) is CLOSED
    assert schedule(1) is CLOSED
    with pytest.warns(ProfilerWarning, match="it raised RuntimeError"):
        assert schedule_of(broken)(1) is CLOSED


def test_targets_are_known_by_name() -> None:
    paddles = Enum("paddles", {"CPU": 0, "GPU": 1})
    profiler = warpline.Profiler(targets=[paddles.CPU], timer_only=True)
    assert profiler.targets == {warpline.ProfilerTarget.CPU}
    with pytest.raises(warpline.UsageError, match="unknown target"):
        warpline.Profiler(targets=["TPU"])


@pytest.mark.parametrize("name", ["XPU", "MLU", "CUSTOM_DEVICE"])
def test_targets_that_are_not_recorded_are_accepted_and_say_so(name: str) -> None:
    target = warpline.ProfilerTarget[name]
    with pytest.warns(warpline.ProfilerWarning, match=f"{name} is not recorded, because"):
        profiler = warpline.Profiler(targets=[warpline.ProfilerTarget.CPU, target])
    assert profiler.targets == {warpline.ProfilerTarget.CPU, target}


def test_nothing_heavy_is_imported() -> None:
    program = """
import sys
import warpline
before = set(sys.modules)
warpline.Profiler(scheduler=(2, 5)); warpline.RecordEvent("range"); warpline.export_chrome_tracing("folder")
print(*sorted(set(sys.modules) - before))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    imported = set(done.stdout.split())
    assert "warpline.profiling.profiler" in imported
    heavy = {
        "numpy",
        "h5py",
        "ctypes",
        "asyncio",
        "PySide6",
        "warpline.storage",
        "warpline.analysis",
        "torch",
    }
    assert not imported & heavy
