"""``warpline.Profiler``: records the steps that a schedule selects, or only times them."""

from __future__ import annotations

import atexit
import os
import sys
import weakref
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from warpline import annotation
from warpline.i18n import tr
from warpline.model.errors import UsageError, WarplineError
from warpline.platform.systems import call_in_forks
from warpline.profiling import paddle_details, paddle_phases, readers
from warpline.profiling.categories import category_of
from warpline.profiling.paddle_details import PaddleDetails
from warpline.profiling.recordings import CycleRecording, DrivenRecording, OwnRecording, recording_for
from warpline.profiling.results import Handler, ProfilerResult, export_capture, file_name, writable_folder
from warpline.profiling.states import (
    ProfilerState,
    ProfilerTarget,
    SortedKeys,
    SummaryView,
    TracerEventType,
    schedule_of,
    warn,
)
from warpline.profiling.timing import StepTimer

Function = TypeVar("Function", bound=Callable[..., Any])

_RECORDING = {ProfilerState.RECORD, ProfilerState.RECORD_AND_RETURN}
_active: weakref.ReferenceType[Profiler] | None = None
"""The profiler that records in this process; only one can at a time."""
_generation = 0
"""Number of forks since the first process. A profiler works only in the process that started it, not in forks."""
_FIRST_STEPS = 2
_RECORDED = {ProfilerTarget.CPU, ProfilerTarget.GPU}


def _after_fork() -> None:
    global _generation
    _generation += 1


call_in_forks(_after_fork)


class Profiler:
    """Records the steps that ``scheduler`` selects, with the names and meanings of ``paddle.profiler.Profiler``.

    Use ``with Profiler(scheduler=(2, 5)) as profiler:`` and call ``profiler.step()`` after each step; or call ``start``
    and ``stop``. ``on_trace_ready`` is called with the profiler for each complete recording; by default captures go to
    ``./profiler_log``. ``timer_only`` records nothing and times readers and steps. Under ``warpline record`` the
    schedule pauses and resumes that recording; otherwise a recorder attaches to this process. ``record_shapes`` and
    ``profile_memory`` record input shapes of Paddle's operators, and its allocations and releases; ``with_flops``
    records the shapes, from which reports compute FLOPs. ``emit_nvtx`` does not change the recording.

    Failures cause a `ProfilerWarning`, and the program continues.
    """

    def __init__(
        self,
        *,
        targets: Iterable[Any] | None = None,
        scheduler: Callable[[int], Any] | Sequence[int] | None = None,
        on_trace_ready: Handler | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        timer_only: bool = False,
        emit_nvtx: bool = False,
        custom_device_types: Sequence[str] = (),
        with_flops: bool = False,
    ) -> None:
        """Raises UsageError for an invalid scheduler or target."""
        self.targets = _targets(targets)
        self.timer_only = timer_only
        for target in sorted(self.targets - _RECORDED):
            warn(tr("{target} is not recorded, because Warpline has no source for it", target=target.name))
        self.on_trace_ready: Handler = on_trace_ready or export_capture("./profiler_log")
        self.record_shapes = record_shapes
        self.profile_memory = profile_memory
        self.with_flops = with_flops
        self.emit_nvtx = emit_nvtx
        self.custom_device_types = tuple(custom_device_types)
        self.step_num = 0
        self.current_state = ProfilerState.CLOSED
        self.profiler_result: ProfilerResult | None = None
        """The last complete recording."""
        self._has_schedule = scheduler is not None
        self._schedule = schedule_of(scheduler)
        self._timer: StepTimer | None = None
        self._recording: CycleRecording | None = None
        self._step_range: tuple[annotation.Agent, int] | None = None
        self._generation = -1
        self._is_recording = False
        self._stepped_early = False

    # Start, step, stop

    def start(self) -> None:
        """Start profiling; the first step begins."""
        global _active
        if self._timer is not None:
            warn(tr("this profiler has been started already"))
            return
        self._generation = _generation
        self.step_num = 0
        self._timer = StepTimer()
        readers.listen(self._timer.add_reading)
        self._timer.begin()
        if self.timer_only:
            return
        other = _active() if _active is not None else None
        if other is not None and other._is_on():
            warn(tr("another profiler is recording this process; this one only times its steps"))
            return
        handler = self.on_trace_ready
        self._recording = recording_for(self.targets, lambda: writable_folder(handler), file_name(handler))
        _active = weakref.ref(self)
        paddle_phases.hook()
        atexit.register(self._at_exit)
        self.current_state = ProfilerState.CLOSED
        self._enter(self._schedule(0))
        if isinstance(self._recording, DrivenRecording) and self.current_state is ProfilerState.CLOSED:
            self._try(self._recording.prepare)
        self._begin_step()

    def step(self, num_samples: float | None = None) -> None:
        """End a step and begin the next; ``num_samples`` is the number of samples of the step that ends."""
        timer = self._timer
        if timer is None or self._generation != _generation:
            self._out_of_place()
            return
        timer.step(num_samples)
        if self._recording is None:
            self.step_num += 1
            if self.step_num <= _FIRST_STEPS:
                readers.listen(timer.add_reading)  # the loader may have been imported since
            return
        self._end_step()
        self.step_num += 1
        self._enter(self._schedule(self.step_num))
        self._begin_step()

    def stop(self) -> None:
        """Stop profiling; the current recording is complete."""
        timer, self._timer = self._timer, None
        if timer is None or self._generation != _generation:
            return
        readers.forget(timer.add_reading)
        if self.timer_only:
            print(timer.summary())
        if self._recording is None:
            return
        self._end_step()
        paddle_phases.unhook()
        atexit.unregister(self._at_exit)
        was = self.current_state
        is_complete = False
        if was in _RECORDING:
            # Without a schedule an outer recording continues after the profiler.
            continues = isinstance(self._recording, DrivenRecording) and not self._has_schedule
            is_complete = self._finish()
            if continues:
                self._try(self._recording.resume)
        elif was is ProfilerState.READY:
            self._try(self._recording.discard)
        self.current_state = ProfilerState.CLOSED
        if is_complete:
            self._hand_over()
        if self.profiler_result is not None and isinstance(self._recording, OwnRecording):
            self._try(self.profiler_result.wait)
        self._recording = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def __call__(self, function: Function) -> Function:
        """The function, with each call recorded: ``@Profiler(…)``."""

        @wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return wrapper  # type: ignore[return-value]  # wraps() keeps the function's signature

    # Results

    def step_info(self, unit: str | None = None) -> str:
        """Reader cost, batch cost and ips since the last call, in Paddle's format; ``unit`` is the unit of samples."""
        return self._timer.step_info(unit) if self._timer is not None else ""

    def export(self, path: str | os.PathLike[str] = "", format: str = "json") -> None:  # noqa: A002  # Paddle's name
        """Write the last recording as ``json`` (Chrome), ``pb`` (Paddle's protobuf) or ``h5`` (a capture).

        Raises UsageError if there is none.
        """
        result = self._complete()
        target = Path(path)
        ending = {"json": ".json", "pb": ".pb", "h5": ".h5"}.get(format)
        if ending is None:
            raise UsageError(tr("unknown format {format!r}; choose json, pb or h5", format=format))
        result.export(target if target.suffix == ending else target.with_name(target.name + ending))

    def summary(
        self,
        sorted_by: SortedKeys = SortedKeys.CPUTotal,
        op_detail: bool = True,
        thread_sep: bool = False,
        time_unit: str = "ms",
        views: SummaryView | Sequence[SummaryView] | None = None,
    ) -> None:
        """Print Paddle's tables of the last recording; nothing if there is none."""
        if self.profiler_result is None:
            return
        from warpline.profiling.tables import summary_text

        print(summary_text(self.profiler_result, sorted_by, op_detail, thread_sep, time_unit, views))

    def _complete(self) -> ProfilerResult:
        if self.profiler_result is None:
            raise UsageError(tr("nothing is recorded yet: no cycle is complete"))
        return self.profiler_result

    # Changes of state

    def _enter(self, state: ProfilerState) -> None:
        was, self.current_state = self.current_state, state
        recording = self._recording
        assert recording is not None
        is_complete = False
        if was is ProfilerState.RECORD_AND_RETURN:
            is_complete = self._finish()
        elif was is ProfilerState.RECORD and state not in _RECORDING:
            warn(
                tr(
                    "recording discarded: the schedule ended it after step {step} without RECORD_AND_RETURN",
                    step=self.step_num - 1,
                )
            )
            paddle_details.ask(PaddleDetails.NONE)
            self._try(recording.discard)
        elif was is ProfilerState.READY and state is ProfilerState.CLOSED:
            self._try(recording.discard)
        if state is ProfilerState.READY and was is not ProfilerState.READY:
            self._try(recording.prepare)
        elif state in _RECORDING and was is not ProfilerState.RECORD:
            self._is_recording = self._try(recording.resume)
            paddle_details.ask(self._details())
        if is_complete:
            self._hand_over()

    def _details(self) -> PaddleDetails:
        details = PaddleDetails.PARTS
        if self.record_shapes or self.with_flops:
            details |= PaddleDetails.SHAPES
        if self.profile_memory:
            details |= PaddleDetails.MEMORY
        return details

    def _finish(self) -> bool:
        assert self._recording is not None
        if not self._is_recording:
            return False  # it could not begin, and a warning was given
        self._is_recording = False
        paddle_details.ask(PaddleDetails.NONE)
        try:
            self.profiler_result = self._recording.finish()
        except (WarplineError, OSError) as error:
            self._failed(error)
            return False
        return True

    def _hand_over(self) -> None:
        """Call ``on_trace_ready``. Our own errors there become warnings; others pass through."""
        try:
            self.on_trace_ready(self)
        except WarplineError as error:
            self._failed(error)

    def _try(self, act: Callable[[], None]) -> bool:
        try:
            act()
        except (WarplineError, OSError) as error:
            self._failed(error)
            return False
        return True

    def _failed(self, error: Exception) -> None:
        warn(tr("profiling failed, the program continues: {error}", error=error))

    # Steps

    def _begin_step(self) -> None:
        agent = annotation.connected_agent()
        if agent is not None and self.current_state in _RECORDING:
            name = f"ProfileStep#{self.step_num}".encode()
            category = category_of(TracerEventType.ProfileStep, agent)
            self._step_range = agent, agent.warpline_start_of(name, category)

    def _end_step(self) -> None:
        if self._step_range is not None:
            agent, number = self._step_range
            self._step_range = None
            agent.warpline_end(number)

    # Special cases

    def _is_on(self) -> bool:
        return self._timer is not None and self._recording is not None and self._generation == _generation

    def _out_of_place(self) -> None:
        # The profiler of a forked child is a copy; the recording belongs to the parent.
        if self._timer is None and not self._stepped_early:
            self._stepped_early = True
            warn(tr("step() before start() or after stop(): nothing is profiled"))

    def _at_exit(self) -> None:
        if self._is_on():
            sys.stderr.write(
                tr("warpline: the profiler was not stopped before the program ended; stopping it now") + "\n"
            )
            knew_hdf5 = "h5py" in sys.modules
            try:
                self.stop()
            finally:
                if not knew_hdf5:
                    _let_hdf5_end()


def _let_hdf5_end() -> None:
    """Unregister h5py's converters, if h5py was imported too late for its own exit handler.

    Otherwise HDF5 would call the converters, which are Python, after Python has ended.
    """
    conversions = sys.modules.get("h5py._conv")
    if conversions is not None:
        conversions.unregister_converters()


def _targets(targets: Iterable[Any] | None) -> frozenset[ProfilerTarget]:
    if targets is None:
        return frozenset({ProfilerTarget.CPU, ProfilerTarget.GPU})
    result = set()
    for target in targets:
        name = getattr(target, "name", None)
        try:
            result.add(ProfilerTarget[name] if isinstance(name, str) else ProfilerTarget(target))
        except (KeyError, ValueError):
            known = ", ".join(known.name for known in ProfilerTarget)
            raise UsageError(
                tr("unknown target {target!r}; choose from {known}", target=target, known=known)
            ) from None
    return frozenset(result)
