"""Records operators with shapes in the first steps of a PyTorch program. Runs inside the program (see boot.py)."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    # Globals set by boot.py.
    from warpline.recording.hooks.inside.common_hooks import (
        after_calls,
        hook_calls,
        is_compiling,
        leave_to_dynamo,
        now,
        quietly,
        text,
    )

    def say(source: str, is_enabled: int, reason: str, remedy: str, /) -> None: ...
    def after_operators(function: Callable[[], None], count: int, /) -> None: ...
    def operator(
        start: int,
        end: int,
        sequence: int,
        flops: int,
        name: int,
        thread: int,
        tid: int,
        shapes: int,
        types: int,
        /,
    ) -> None: ...


MOST_CALLS = 1000
"""Most calls of models per recorded step, even if no optimiser steps."""
MOST_OPERATORS = 10_000
"""Most outermost operators per recorded step when neither a model nor an optimiser is called."""
LOG_LEVEL = "KINETO_LOG_LEVEL"


def shapes_text(shapes: list[Any]) -> str:
    """``[8, 16], [16], []``"""
    return ", ".join(map(str, shapes))


@contextlib.contextmanager
def quiet_profiler() -> Iterator[None]:
    """Keep PyTorch's profiler from printing to stderr; restores the environment afterwards."""
    if LOG_LEVEL in os.environ:
        yield
        return
    os.environ[LOG_LEVEL] = "99"
    try:
        yield
    finally:
        os.environ.pop(LOG_LEVEL, None)


class Shapes:
    """Runs PyTorch's own profiler in one thread for the first steps: it records shapes, which ITT does not."""

    def __init__(self, torch: Any, steps: int, after: Callable[[], None]) -> None:
        """``after`` is called when it has ended and ITT may resume."""
        self.torch = torch
        self.native = torch._C._autograd
        self.steps = steps
        self.calls_left = steps * MOST_CALLS
        self.has_optimizer = False
        self.seen = 0
        self.after = after
        self.offset = 0
        self.is_on = False
        self.owner = os.getpid(), threading.get_ident()

    def begin(self) -> None:
        """Start. A step ends with the step of an optimiser, or without one with each call of a model."""
        profiler = sys.modules["torch.autograd.profiler"]
        experimental = profiler._ExperimentalConfig()
        state = profiler.ProfilerState.KINETO
        config = profiler.ProfilerConfig(state, True, False, False, True, False, experimental)
        activities = {self.torch._C._profiler.ProfilerActivity.CPU}
        self.hook_optimizers(sys.modules["torch.optim.optimizer"].Optimizer)
        self.hook_models(self.torch.nn.Module)
        try:
            with quiet_profiler():
                self.native._prepare_profiler(config, activities)
                self.offset = time.time_ns() - now()
                self.native._enable_profiler(config, activities)
            self.is_on = True
        finally:
            if not self.is_on:  # it may be on anyway, and PyTorch crashes when a thread ends while it is
                quietly(self.native._disable_profiler)
        quietly(self.count_operators)

    def hook_optimizers(self, optimizer: Any) -> None:
        """Count steps of optimisers, outside PyTorch's own range around ``step``."""
        wrap = optimizer.profile_hook_step

        @functools.wraps(wrap)
        def profile_hook_step(func: Any) -> Any:
            self.has_optimizer = True
            step = wrap(func)

            @functools.wraps(step)
            def wrapper(*args: Any, **kwargs: Any) -> Any:
                try:
                    return step(*args, **kwargs)
                finally:
                    if self.is_on and not is_compiling():
                        quietly(self.stepped)

            leave_to_dynamo(wrapper)
            return wrapper

        optimizer.profile_hook_step = staticmethod(profile_hook_step)

    def hook_models(self, kind: Any) -> None:
        """Count calls of models; they are hooked already if steps are recorded."""
        if kind.__call__.__globals__.get("__name__") != hook_calls.__module__:
            hook_calls(kind, self.torch.is_grad_enabled)
        after_calls.append(functools.partial(quietly, self.called))

    def count_operators(self) -> None:
        """Check after many operators whether any model or optimiser marked a step."""
        after_operators(functools.partial(quietly, self.passed), self.steps * MOST_OPERATORS)

    def passed(self) -> None:
        """Continue if a step was seen since the last check, otherwise end."""
        if not self.is_on:
            return
        if self.seen:
            self.seen = 0
            self.count_operators()
        else:
            self.end()

    def called(self) -> None:
        """Count a call of a model; end after too many calls if an optimiser exists that never steps."""
        if self.is_on and not is_compiling():
            self.seen += 1
            self.calls_left -= 1
            if not self.has_optimizer:
                self.stepped()
            elif self.calls_left <= 0:
                self.end()

    def stepped(self) -> None:
        """Count the end of a step."""
        self.seen += 1
        self.steps -= 1
        if self.steps <= 0:
            self.end()

    def end(self) -> None:
        """Stop and write the recorded operators."""
        if not self.is_on or self.owner != (os.getpid(), threading.get_ident()):
            return
        self.is_on = False
        until = time.time_ns()
        with quiet_profiler():
            events = self.native._disable_profiler().events()
        for event in events:
            quietly(functools.partial(self.write, event))
        # An open range would end in ITT with the state of this profiler.
        if any(event.end_ns() >= until for event in events):
            say(
                "torch",
                1,
                "operators after the steps with shapes are not recorded: a range was open when those steps ended",
                "",
            )
        else:
            self.after()

    def write(self, event: Any) -> None:
        """Write one operator or range."""
        name, number, made_by = event.name(), event.sequence_nr(), event.fwd_thread_id()
        if number >= 0 and made_by:
            # The engine's range around a node has the same number as the node.
            number = -1 if name.startswith("autograd::engine::") else -2 - number
        start = event.start_ns() - self.offset
        operator(
            start,
            start + event.duration_ns(),
            number,
            event.flops(),
            text(name),
            made_by or event.start_thread_id(),
            event.device_resource_id(),
            text(shapes_text(event.shapes())),
            text(", ".join(event.dtypes())),
        )
