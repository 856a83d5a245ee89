"""Has PyTorch tell its operators through ITT, whose collector the agent is. Runs inside the program (see boot.py).

PyTorch lets one profiler run in a thread: ours steps aside while the script's own does. In forked processes it is
switched off: a loader worker would complain of it on its way out, and there are few operators in them to see.
"""

from __future__ import annotations

import atexit
import functools
import os
import sys
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    # What boot.py puts among the globals of this file.
    from warpline.recording.sources.steps.inside.common_hooks import is_compiling, leave_to_dynamo

    def say(source: str, is_enabled: int, reason: str, remedy: str, /) -> None: ...
    def autograd(step: int, /) -> int: ...
    def now() -> int: ...
    def text(text: str, /) -> int: ...
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


SHAPES = "WARPLINE_TORCH_SHAPES"
"""Names the variable with the number of steps whose operators are told with shapes."""


class Shapes:
    """PyTorch's own profiler, in one thread and for the first steps: it tells shapes, which ITT does not."""

    def __init__(self, torch: Any, steps: int, after: Callable[[], None]) -> None:
        """``after`` is called when it has ended and ITT may go on."""
        self.torch = torch
        self.native = torch._C._autograd
        self.steps = steps
        self.after = after
        self.offset = 0
        self.is_on = False
        self.owner = os.getpid(), threading.get_ident()

    def begin(self) -> None:
        """From here on; a step ends when an optimiser has stepped."""
        # Its library would tell on stderr that it begins, that it ends, and that there is no GPU.
        os.environ.setdefault("KINETO_LOG_LEVEL", "99")
        profiler = sys.modules["torch.autograd.profiler"]
        experimental = profiler._ExperimentalConfig()
        state = profiler.ProfilerState.KINETO
        config = profiler.ProfilerConfig(state, True, False, False, True, False, experimental)
        activities = {self.torch._C._profiler.ProfilerActivity.CPU}
        self.hook_optimizers(sys.modules["torch.optim.optimizer"].Optimizer)
        self.native._prepare_profiler(config, activities)
        self.offset = time.time_ns() - now()
        self.native._enable_profiler(config, activities)
        self.is_on = True

    def hook_optimizers(self, optimizer: Any) -> None:
        """Have ``step`` counted, outside of the range that PyTorch has around it."""
        wrap = optimizer.profile_hook_step

        @functools.wraps(wrap)
        def profile_hook_step(func: Any) -> Any:
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

    def stepped(self) -> None:
        """An optimiser has stepped."""
        self.steps -= 1
        if self.steps <= 0:
            self.end()

    def end(self) -> None:
        """No more; what was seen is written."""
        if not self.is_on or self.owner != (os.getpid(), threading.get_ident()):
            return
        self.is_on = False
        until = time.time_ns()
        events = self.native._disable_profiler().events()
        for event in events:
            quietly(functools.partial(self.write, event))
        # A range that is open now would end, in this profiler, with the state of another one.
        if any(event.end_ns() >= until for event in events):
            say(
                "torch",
                1,
                "operators after the steps with shapes are not recorded: a range was open around them",
                "",
            )
        else:
            self.after()

    def write(self, event: Any) -> None:
        """One operator or range."""
        name, number, made_by = event.name(), event.sequence_nr(), event.fwd_thread_id()
        if number >= 0 and made_by:
            # The engine's own range around a node has the node's number as well.
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
            text(written(event.shapes())),
            text(", ".join(event.dtypes())),
        )


class Switch:
    """PyTorch's profiler in its ITT state, thread by thread."""

    def __init__(self, enable: Callable[..., Any], disable: Callable[..., Any], config: Any) -> None:
        self.enable = enable
        self.disable = disable
        self.config = config
        self.here = threading.local()
        self.is_allowed = True
        self.shapes: Shapes | None = None

    def on(self) -> None:
        """In this thread from here on."""
        if self.is_allowed and not getattr(self.here, "is_on", False):
            self.enable(self.config, set())
            self.here.is_on = True

    def begin_shapes(self, shapes: Shapes) -> None:
        """Another in its place, in this thread and until that ends."""
        self.off()
        try:
            shapes.begin()
            self.shapes = shapes
        except Exception as error:
            say("torch", 1, f"shapes are not recorded: {type(error).__name__}: {error}", "")
            self.on()

    def off(self) -> None:
        """No more in this thread."""
        if self.shapes is not None:
            self.shapes.end()
        if getattr(self.here, "is_on", False):
            self.here.is_on = False
            self.disable()

    def end(self) -> None:
        """No more, and never again in this process."""
        self.is_allowed = False
        self.off()


def written(shapes: list[Any]) -> str:
    """``[8, 16], [16], []``"""
    return ", ".join(map(str, shapes))


def quietly(function: Callable[[], Any]) -> None:
    """Call it; what goes wrong is no business of the program."""
    try:
        function()
    except Exception:
        pass


def step_aside(switch: Switch, profiler: Any) -> None:
    """Off while a profiler of the script's own is on."""

    def beginning(begin: Any) -> Any:
        @functools.wraps(begin)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            quietly(switch.off)
            try:
                return begin(*args, **kwargs)
            except BaseException:
                quietly(switch.on)
                raise

        return wrapper

    def ending(end: Any) -> Any:
        @functools.wraps(end)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            try:
                return end(*args, **kwargs)
            finally:
                quietly(switch.on)

        return wrapper

    for name, change in (
        ("_prepare_profiler", beginning),
        ("_enable_profiler", beginning),
        ("_disable_profiler", ending),
    ):
        if hasattr(profiler, name):
            setattr(profiler, name, change(getattr(profiler, name)))


def follow_threads(switch: Switch) -> None:
    """On in every thread that Python starts."""
    run = threading.Thread.run

    @functools.wraps(run)
    def wrapper(self: threading.Thread) -> None:
        quietly(switch.on)
        try:
            run(self)
        finally:
            quietly(switch.off)

    threading.Thread.run = wrapper  # type: ignore[method-assign]


def follow_nodes(torch: Any) -> None:
    """Have the agent find out, from a few operators with gradients, where PyTorch keeps the numbers of its nodes."""
    value = torch.ones(1, requires_grad=True)
    is_found = False
    if autograd(1):
        try:
            with torch.enable_grad():
                for _ in range(4):
                    value = value * value
        finally:
            is_found = bool(autograd(2))
    if not is_found:
        say(
            "torch",
            1,
            "backward is not linked to forward: this PyTorch keeps its sequence numbers elsewhere",
            "",
        )


def begin(module: Any) -> None:
    """When ``import torch`` is done."""
    itt = getattr(module._C, "_itt", None)
    if itt is None or not itt.is_available():
        say("torch", 0, "this PyTorch is built without ITT", "use a build of PyTorch for x86-64 Linux")
        return
    profiler = sys.modules["torch.autograd.profiler"]
    state = profiler.ProfilerState.ITT
    experimental = profiler._ExperimentalConfig()
    config = profiler.ProfilerConfig(state, False, False, False, False, False, experimental)
    switch = Switch(profiler._enable_profiler, profiler._disable_profiler, config)
    step_aside(switch, profiler)
    follow_threads(switch)
    os.register_at_fork(after_in_child=lambda: quietly(switch.end))
    atexit.register(quietly, switch.end)
    switch.on()
    quietly(lambda: follow_nodes(module))
    steps = os.environ.get(SHAPES, "0")
    if steps.isdigit() and int(steps):
        switch.begin_shapes(Shapes(module, int(steps), switch.on))


HOOKS = {"torch": begin}
