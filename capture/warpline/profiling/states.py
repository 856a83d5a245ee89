"""Options of a profiler: states and schedules of steps, targets, and orders and views of its tables.

Names and meanings are those of ``paddle.profiler``, so that scripts need no change.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any

from warpline.i18n import tr
from warpline.model.errors import UsageError


class ProfilerWarning(UserWarning):
    """A failure of a profiler; the program continues without it."""


class ProfilerState(IntEnum):
    """What happens in a step: nothing, preparation, recording, or recording of the last step."""

    CLOSED = 0
    READY = 1
    RECORD = 2
    RECORD_AND_RETURN = 3


class ProfilerTarget(IntEnum):
    """Devices whose work is recorded."""

    CPU = 0
    GPU = 1
    XPU = 2
    CUSTOM_DEVICE = 3
    MLU = 4
    """Of earlier versions of Paddle."""


class TracerEventType(IntEnum):
    """The event type of a range in Paddle's tables."""

    Operator = 0
    Dataloader = 1
    ProfileStep = 2
    CudaRuntime = 3
    UserDefined = 7
    OperatorInner = 8
    Forward = 9
    Backward = 10
    Optimization = 11
    Communication = 12
    PythonOp = 13
    PythonUserDefined = 14


class SortedKeys(IntEnum):
    """The sort key of table rows, largest first."""

    CPUTotal = 0
    CPUAvg = 1
    CPUMax = 2
    CPUMin = 3
    GPUTotal = 4
    GPUAvg = 5
    GPUMax = 6
    GPUMin = 7


class SummaryView(IntEnum):
    """One table of a summary."""

    DeviceView = 0
    OverView = 1
    ModelView = 2
    DistView = 3
    KernelView = 4
    OperatorView = 5
    MemView = 6
    MemManipulationView = 7
    UDFView = 8


Schedule = Callable[[int], ProfilerState]
"""The state of each step, counted from 0."""

_TORCH_NAMES = {
    "NONE": ProfilerState.CLOSED,
    "WARMUP": ProfilerState.READY,
    "RECORD_AND_SAVE": ProfilerState.RECORD_AND_RETURN,
}
"""States that have another name in ``torch.profiler.ProfilerAction``."""
_OURS = ("warpline.", "contextlib", "functools")


def make_scheduler(*, closed: int, ready: int, record: int, repeat: int = 0, skip_first: int = 0) -> Schedule:
    """A schedule of ``closed``, ``ready`` and ``record`` steps, repeated forever or ``repeat`` times.

    The first ``skip_first`` steps are closed as well. Raises UsageError for negative numbers or ``record`` < 1.
    """
    if min(closed, ready, repeat, skip_first) < 0 or record < 1:
        raise UsageError(
            tr(
                "a schedule needs record >= 1 and no negative numbers, not closed={closed}, ready={ready},"
                " record={record}, repeat={repeat}, skip_first={skip_first}",
                closed=closed,
                ready=ready,
                record=record,
                repeat=repeat,
                skip_first=skip_first,
            )
        )
    period = closed + ready + record

    def state_of(step: int) -> ProfilerState:
        cycle, place = divmod(step - skip_first, period)
        if step < skip_first or (repeat and cycle >= repeat) or place < closed:
            return ProfilerState.CLOSED
        if place < closed + ready:
            return ProfilerState.READY
        return ProfilerState.RECORD if place < period - 1 else ProfilerState.RECORD_AND_RETURN

    return state_of


def always(_step: int) -> ProfilerState:
    """The schedule that records every step."""
    return ProfilerState.RECORD


def schedule_of(scheduler: Callable[[int], Any] | Sequence[int] | None) -> Schedule:
    """The schedule for a profiler's ``scheduler``: None for every step, (first, stop) for these steps, or a callable
    such as that of ``torch.profiler.schedule``.

    Raises UsageError for anything else.
    """
    if scheduler is None:
        return always
    if callable(scheduler):
        return _of_callable(scheduler)
    if isinstance(scheduler, Sequence) and len(scheduler) == 2:
        first, stop = scheduler
        if isinstance(first, int) and isinstance(stop, int) and 0 <= first < stop:
            ready = 1 if first else 0
            return make_scheduler(closed=first - ready, ready=ready, record=stop - first, repeat=1)
    raise UsageError(
        tr(
            "scheduler must be a function of the step, None, or (first, stop) with 0 <= first < stop: {scheduler!r}",
            scheduler=scheduler,
        )
    )


def _of_callable(scheduler: Callable[[int], Any]) -> Schedule:
    has_warned = False

    def state_of(step: int) -> ProfilerState:
        nonlocal has_warned
        answer: object = None
        why = ""
        try:
            answer = scheduler(step)
            return _state(answer)
        except (KeyError, ValueError, TypeError):
            why = tr("it returned {answer!r}, which is not a state", answer=answer)
        except Exception as error:  # a schedule may raise anything; the program must continue
            why = tr("it raised {error!r}", error=error)
        if not has_warned:
            has_warned = True
            warn(tr("the scheduler failed at step {step}: {why}; not recorded", step=step, why=why))
        return ProfilerState.CLOSED

    return state_of


def _state(answer: object) -> ProfilerState:
    """Convert a state of this or another profiler to `ProfilerState`, by its name or its number."""
    name = getattr(answer, "name", None)
    if isinstance(name, str):
        state = _TORCH_NAMES.get(name)
        return state if state is not None else ProfilerState[name]
    return ProfilerState(answer)  # type: ignore[arg-type]  # anything but a number raises


def warn(text: str) -> None:
    """Issue a `ProfilerWarning` at the caller's place."""
    warnings.warn(text, ProfilerWarning, stacklevel=_depth_of_caller())


def _depth_of_caller() -> int:
    """The stack level of the first caller outside Warpline."""
    import sys

    frame, depth = sys._getframe(2), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_OURS):
        frame, depth = frame.f_back, depth + 1
    return depth
