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

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    def say(source: str, is_enabled: int, reason: str, remedy: str, /) -> None: ...
    def autograd(step: int, /) -> int: ...


class Switch:
    """PyTorch's profiler in its ITT state, thread by thread."""

    def __init__(self, enable: Callable[..., Any], disable: Callable[..., Any], config: Any) -> None:
        self.enable = enable
        self.disable = disable
        self.config = config
        self.here = threading.local()
        self.is_allowed = True

    def on(self) -> None:
        """In this thread from here on."""
        if self.is_allowed and not getattr(self.here, "is_on", False):
            self.enable(self.config, set())
            self.here.is_on = True

    def off(self) -> None:
        """No more in this thread."""
        if getattr(self.here, "is_on", False):
            self.here.is_on = False
            self.disable()

    def end(self) -> None:
        """No more, and never again in this process."""
        self.is_allowed = False
        self.off()


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


HOOKS = {"torch": begin}
