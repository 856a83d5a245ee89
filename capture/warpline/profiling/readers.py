"""Times how long a program waits for data in the loaders of torch and paddle, while a profiler is running.

A loader's class is wrapped only between a profiler's start and stop, and only if the program has imported it. Nested
loaders count once, in the outermost.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

from warpline import annotation
from warpline.profiling import hooks
from warpline.profiling.categories import category_of
from warpline.profiling.states import TracerEventType

_LOADERS = (
    ("torch.utils.data.dataloader", "_BaseDataLoaderIter"),
    ("paddle.io.dataloader.dataloader_iter", "_DataLoaderIterSingleProcess"),
    ("paddle.io.dataloader.dataloader_iter", "_DataLoaderIterMultiProcess"),
)
_METHOD = "__next__"

_listeners: list[Callable[[int], None]] = []
_wrapped: dict[type, tuple[Any, Any]] = {}
"""Wrapped classes, with the original method and ours."""


def add_wait(time_ns: int) -> None:
    """Report a wait for data in the calling thread."""
    for listener in tuple(_listeners):
        listener(time_ns)


def listen(listener: Callable[[int], None]) -> None:
    """Call a function for every wait from now on; also wraps loaders imported since the last call."""
    if listener not in _listeners:
        _listeners.append(listener)
    for module, name in _LOADERS:
        loader = getattr(sys.modules.get(module), name, None)
        if isinstance(loader, type) and loader not in _wrapped and _METHOD in vars(loader):
            original = vars(loader)[_METHOD]
            ours = _timed(original, module)
            setattr(loader, _METHOD, ours)
            _wrapped[loader] = original, ours


def forget(listener: Callable[[int], None]) -> None:
    """Stop calling a function; without listeners the loaders are restored."""
    if listener in _listeners:
        _listeners.remove(listener)
    if _listeners:
        return
    for loader, (original, ours) in list(_wrapped.items()):
        del _wrapped[loader]
        # Another wrapper on top calls ours, which then costs one comparison.
        if vars(loader).get(_METHOD) is ours:
            setattr(loader, _METHOD, original)


def _timed(original: Callable[[Any], Any], module: str) -> Callable[[Any], Any]:
    from functools import wraps
    from threading import local

    inside = local()
    is_hooked = module.startswith(hooks.HOOKED)

    @wraps(original)
    def wrapper(self: Any) -> Any:
        if not _listeners or getattr(inside, "is_on", False):
            return original(self)
        inside.is_on = True
        # Hooks record the wait already; another range would count twice.
        agent = None if is_hooked and hooks.are_installed() else annotation.connected_agent()
        began = perf_counter_ns()
        if agent is not None:
            agent.warpline_push_of(b"DataLoader", category_of(TracerEventType.Dataloader, agent))
        try:
            return original(self)
        finally:
            if agent is not None:
                agent.warpline_pop()
            inside.is_on = False
            add_wait(perf_counter_ns() - began)

    return wrapper
