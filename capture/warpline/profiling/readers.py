"""How long a program waits for its data: times the loaders of torch and paddle while a profiler asks for it.

A loader's class is wrapped only between the start and the stop of a profiler, and only if the program has imported
it. Nested loaders count once, in the outermost.
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
"""Classes that are wrapped now, with their own method and ours."""


def waited(time_ns: int) -> None:
    """The calling thread waited so long for data."""
    for listener in tuple(_listeners):
        listener(time_ns)


def listen(listener: Callable[[int], None]) -> None:
    """Have a function told of every wait from now on; loaders imported since are looked after, too."""
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
    """Tell a function no more; without listeners the loaders are as they were."""
    if listener in _listeners:
        _listeners.remove(listener)
    if _listeners:
        return
    for loader, (original, ours) in list(_wrapped.items()):
        del _wrapped[loader]
        # Who wrapped it after us calls ours, which then only costs a comparison.
        if vars(loader).get(_METHOD) is ours:
            setattr(loader, _METHOD, original)


def _timed(original: Callable[[Any], Any], module: str) -> Callable[[Any], Any]:
    from functools import wraps
    from threading import local

    inside = local()
    is_hooked = module.startswith(hooks.HOOKED)

    @wraps(original)
    def following(self: Any) -> Any:
        if not _listeners or getattr(inside, "one", False):
            return original(self)
        inside.one = True
        # Where hooks tell of it, a range more would count twice.
        agent = None if is_hooked and hooks.are_in() else annotation.connected_agent()
        began = perf_counter_ns()
        if agent is not None:
            agent.warpline_push_of(b"DataLoader", category_of(TracerEventType.Dataloader, agent))
        try:
            return original(self)
        finally:
            if agent is not None:
                agent.warpline_pop()
            inside.one = False
            waited(perf_counter_ns() - began)

    return following
