"""Records training phases of Paddle as ranges: layers, ``backward`` and optimizers, as in Paddle's own profiler.

Methods are wrapped from a profiler's start to its stop, if the program has imported Paddle. Ranges may nest (a layer in
a layer): Paddle's tables count the outermost.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

from warpline import annotation
from warpline.profiling.categories import category_of
from warpline.profiling.states import TracerEventType

_wrapped: list[tuple[type, str, Any, Any]] = []
"""Class and name of each wrapped method, the original, and its wrapper."""


def hook() -> None:
    """Wrap the methods, unless they are already wrapped."""
    if not _wrapped:
        for owner, name, event_type in _methods():
            original = vars(owner).get(name)
            if callable(original):
                ours = _in_range(original, event_type, None if name == "__call__" else event_type.name)
                setattr(owner, name, ours)
                _wrapped.append((owner, name, original, ours))


def unhook() -> None:
    """Restore the originals; wrappers that others added on top of ours stay."""
    while _wrapped:
        owner, name, original, ours = _wrapped.pop()
        if vars(owner).get(name) is ours:
            setattr(owner, name, original)


def _methods() -> Iterator[tuple[type, str, TracerEventType]]:
    layers = sys.modules.get("paddle.nn.layer.layers")
    optimizers = sys.modules.get("paddle.optimizer.optimizer")
    methods = (
        (getattr(layers, "Layer", None), "__call__", TracerEventType.Forward),
        (getattr(sys.modules.get("paddle"), "Tensor", None), "backward", TracerEventType.Backward),
    )
    for owner, name, event_type in methods:
        if isinstance(owner, type):
            yield owner, name, event_type
    kinds = [getattr(optimizers, "Optimizer", None)]
    for kind in kinds:
        if isinstance(kind, type):
            kinds.extend(kind.__subclasses__())
            yield kind, "step", TracerEventType.Optimization


def _in_range(
    original: Callable[..., Any], event_type: TracerEventType, label: str | None
) -> Callable[..., Any]:
    """The method, wrapped in a range named ``label``, or after the class of its object."""

    @wraps(original)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        agent = annotation.connected_agent()
        if agent is None:
            return original(self, *args, **kwargs)
        name = label or type(self).__name__
        agent.warpline_push_of(name.encode("utf-8", "replace"), category_of(event_type, agent))
        try:
            return original(self, *args, **kwargs)
        finally:
            agent.warpline_pop()

    return wrapper
