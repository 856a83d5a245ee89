"""Has PyTorch tell its operators. Runs inside the program (see boot.py).

The agent observes them itself where it knows its way about this PyTorch (torch/native/autograd.c), which is cheap and
in nobody's way. Elsewhere they come through ITT, whose collector the agent is: that is one of PyTorch's profilers, of
which one may run in a thread, so ours steps aside while the script's own does. In forked processes both are switched
off: a loader worker would complain of ITT on its way out, and there are few operators in them to see.
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

    # What boot.py puts among the globals of this file.
    from warpline.recording.hooks.inside.common_hooks import quietly
    from warpline.recording.hooks.inside.torch_shapes import Shapes

    def read(file: str, /) -> dict[str, Any]: ...

    def say(source: str, is_enabled: int, reason: str, remedy: str, /) -> None: ...
    def autograd(what: int, /) -> int: ...


SHAPES = "WARPLINE_TORCH_SHAPES"
"""Names the variable with the number of steps whose operators are told with shapes."""
THROUGH_ITT = "WARPLINE_TORCH_ITT"
"""Names a variable that is 1 where operators are to come through ITT all the same."""


LEARN, FOLLOW, TELL, BE_QUIET, GO_ON, END = range(1, 7)
"""What `autograd` can be asked for (torch/native/autograd.h)."""


def begun(shapes: Shapes) -> Shapes | None:
    """The same, when it has begun; None where it cannot, which is said."""
    if threading.current_thread() is not threading.main_thread():
        # PyTorch crashes at the end of a thread in which its profiler is on, and that can be at any time.
        say(
            "torch",
            1,
            "shapes are not recorded: PyTorch was imported in a thread that is not the main one",
            "",
        )
        return None
    try:
        shapes.begin()
    except Exception as error:  # PyTorch's private functions, which another version may have otherwise
        say("torch", 1, f"shapes are not recorded: {type(error).__name__}: {error}", "")
        return None
    return shapes


class Observed:
    """Operators of all threads, told by the agent's own callbacks."""

    def __init__(self) -> None:
        self.shapes: Shapes | None = None

    def on(self) -> None:
        """In this thread again."""
        autograd(GO_ON)

    def begin_shapes(self, shapes: Shapes) -> None:
        """PyTorch's profiler in their place, in this thread and until that ends."""
        autograd(BE_QUIET)
        self.shapes = begun(shapes)
        if self.shapes is None:
            self.on()

    def make_room(self) -> None:
        """For the script's own profiler, beside which there can be no other that tells shapes."""
        if self.shapes is not None:
            self.shapes.end()

    def end(self) -> None:
        """No more, and never again in this process."""
        self.make_room()
        autograd(END)


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
        self.shapes = begun(shapes)
        if self.shapes is None:
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


def has_learnt(torch: Any, outcome: int) -> bool:
    """Have the agent find out, from a few operators with gradients, where PyTorch keeps what it tells of them."""
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
    """Link what ITT tells of backward to forward."""
    if not has_learnt(torch, FOLLOW):
        say(
            "torch",
            1,
            "backward is not linked to forward: this PyTorch keeps its sequence numbers elsewhere",
            "",
        )


def make_way(observed: Observed, profiler: Any) -> None:
    """End the first steps with shapes where the script's own profiler begins."""

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
    """Operators through ITT; None where there is none."""
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
    """Operators as the agent sees them itself; None where it does not know this PyTorch."""
    try:
        if os.environ.get(THROUGH_ITT) == "1" or not has_learnt(torch, TELL):
            return None
    except Exception:  # of a PyTorch without what this multiplies anything; operators come through ITT then
        return None
    telling = Observed()
    make_way(telling, sys.modules["torch.autograd.profiler"])
    return telling


def begin(module: Any) -> None:
    """When ``import torch`` is done."""
    telling = observed(module) or switched(module)
    if telling is None:
        return
    os.register_at_fork(after_in_child=lambda: quietly(telling.end))
    atexit.register(quietly, telling.end)
    steps = os.environ.get(SHAPES, "0")
    if steps.isdigit() and int(steps):
        telling.begin_shapes(read("torch_shapes")["Shapes"](module, int(steps), telling.on))


HOOKS = {"torch": begin}
