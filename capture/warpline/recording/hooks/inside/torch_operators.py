"""Records PyTorch's operators. Runs inside the program (see boot.py).

If the agent knows this PyTorch (torch/native/autograd.c), it observes operators itself: cheaply and without
interference. Otherwise they come through ITT, with the agent as collector. ITT is one of PyTorch's profilers, and a
thread runs only one, so ours is off while the script's own is on. Both are off in forked processes: loader workers
run few operators and would print ITT errors when they end.
"""

from __future__ import annotations

import atexit
import functools
import os
import sys
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    # Globals set by boot.py.
    from warpline.recording.hooks.inside.common_hooks import quietly
    from warpline.recording.hooks.inside.torch_shapes import Shapes

    def read(file: str, /) -> dict[str, Any]: ...

    def say(source: str, is_enabled: int, reason: str, remedy: str, /) -> None: ...
    def autograd(what: int, /) -> int: ...


SHAPES = "WARPLINE_TORCH_SHAPES"
"""The variable with the number of steps whose operators are recorded with shapes."""
THROUGH_ITT = "WARPLINE_TORCH_ITT"
"""The variable that forces recording through ITT when it is 1."""


LEARN, FOLLOW, TELL, BE_QUIET, GO_ON, END = range(1, 7)
"""Requests to `autograd` (torch/native/autograd.h)."""


def try_begin(shapes: Shapes) -> Shapes | None:
    """Begin recording shapes; returns None, and reports why, when that fails."""
    if threading.current_thread() is not threading.main_thread():
        # PyTorch crashes when a thread ends while its profiler is on.
        say(
            "torch",
            1,
            "shapes are not recorded: PyTorch was imported in a thread that is not the main one",
            "",
        )
        return None
    try:
        shapes.begin()
    except Exception as error:  # private functions of another PyTorch may raise anything
        say("torch", 1, f"shapes are not recorded: {type(error).__name__}: {error}", "")
        return None
    return shapes


class Observed:
    """Records operators of all threads through the agent's own callbacks."""

    def __init__(self) -> None:
        self.shapes: Shapes | None = None

    def on(self) -> None:
        """Record again in this thread."""
        autograd(GO_ON)

    def begin_shapes(self, shapes: Shapes) -> None:
        """Use PyTorch's profiler instead in this thread, until it has recorded the shapes."""
        autograd(BE_QUIET)
        self.shapes = try_begin(shapes)
        if self.shapes is None:
            self.on()

    def make_room(self) -> None:
        """Stop recording shapes: the script's own profiler cannot run beside ours."""
        if self.shapes is not None:
            self.shapes.end()

    def end(self) -> None:
        """Stop recording for the rest of this process."""
        self.make_room()
        autograd(END)


class Switch:
    """Switches PyTorch's ITT profiler on and off in each thread."""

    def __init__(self, enable: Callable[..., Any], disable: Callable[..., Any], config: Any) -> None:
        self.enable = enable
        self.disable = disable
        self.config = config
        self.here = threading.local()
        self.is_allowed = True
        self.shapes: Shapes | None = None

    def on(self) -> None:
        """Record in this thread from now on."""
        if self.is_allowed and not getattr(self.here, "is_on", False):
            self.enable(self.config, set())
            self.here.is_on = True

    def begin_shapes(self, shapes: Shapes) -> None:
        """Use the profiler that records shapes instead in this thread, until it ends."""
        self.off()
        self.shapes = try_begin(shapes)
        if self.shapes is None:
            self.on()

    def off(self) -> None:
        """Stop recording in this thread."""
        if self.shapes is not None:
            self.shapes.end()
        if getattr(self.here, "is_on", False):
            self.here.is_on = False
            self.disable()

    def end(self) -> None:
        """Stop recording for the rest of this process."""
        self.is_allowed = False
        self.off()


def step_aside(switch: Switch, profiler: Any) -> None:
    """Switch ours off while a profiler of the script is on."""

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
    """Switch the profiler on in every thread that Python starts."""
    run = threading.Thread.run

    @functools.wraps(run)
    def wrapper(self: threading.Thread) -> None:
        quietly(switch.on)
        try:
            run(self)
        finally:
            quietly(switch.off)

    threading.Thread.run = wrapper  # type: ignore[method-assign]


def has_learnt(torch: Any, outcome: int) -> bool:
    """Have the agent learn PyTorch's data layout from a few operators with gradients; returns whether it did."""
    value = torch.ones(1, requires_grad=True)
    is_found = False
    if autograd(LEARN):
        try:
            with torch.enable_grad():
                for _ in range(4):
                    value = value * value
        finally:
            is_found = bool(autograd(outcome))
    return is_found


def follow_nodes(torch: Any) -> None:
    """Link backward operators from ITT to forward operators."""
    if not has_learnt(torch, FOLLOW):
        say(
            "torch",
            1,
            "backward is not linked to forward: the sequence numbers of this PyTorch were not found",
            "",
        )


def make_way(observed: Observed, profiler: Any) -> None:
    """Stop recording shapes when the script's own profiler begins."""

    def beginning(begin: Any) -> Any:
        @functools.wraps(begin)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            quietly(observed.make_room)
            return begin(*args, **kwargs)

        return wrapper

    for name in ("_prepare_profiler", "_enable_profiler"):
        if hasattr(profiler, name):
            setattr(profiler, name, beginning(getattr(profiler, name)))


def switched(torch: Any) -> Switch | None:
    """Record operators through ITT; None if this PyTorch has no ITT."""
    itt = getattr(torch._C, "_itt", None)
    if itt is None or not itt.is_available():
        say("torch", 0, "this PyTorch is built without ITT", "use a build of PyTorch for x86-64 Linux")
        return None
    profiler = sys.modules["torch.autograd.profiler"]
    state = profiler.ProfilerState.ITT
    experimental = profiler._ExperimentalConfig()
    config = profiler.ProfilerConfig(state, False, False, False, False, False, experimental)
    switch = Switch(profiler._enable_profiler, profiler._disable_profiler, config)
    step_aside(switch, profiler)
    follow_threads(switch)
    switch.on()
    quietly(lambda: follow_nodes(torch))
    return switch


def observed(torch: Any) -> Observed | None:
    """Record operators through the agent's callbacks; None if it does not know this PyTorch."""
    try:
        if os.environ.get(THROUGH_ITT) == "1" or not has_learnt(torch, TELL):
            return None
    except Exception:  # another PyTorch may raise anything; use ITT then
        return None
    recorder = Observed()
    make_way(recorder, sys.modules["torch.autograd.profiler"])
    return recorder


def begin(module: Any) -> None:
    """Start recording after ``import torch``."""
    recorder = observed(module) or switched(module)
    if recorder is None:
        return
    os.register_at_fork(after_in_child=lambda: quietly(recorder.end))
    atexit.register(quietly, recorder.end)
    steps = os.environ.get(SHAPES, "0")
    if steps.isdigit() and int(steps):
        recorder.begin_shapes(read("torch_shapes")["Shapes"](module, int(steps), recorder.on))


HOOKS = {"torch": begin}
