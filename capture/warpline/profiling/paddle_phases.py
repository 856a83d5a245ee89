"""Phases of a training with Paddle as ranges: what Paddle's own profiler tells of layers, ``backward`` and optimizers.

Methods are wrapped from a profiler's start to its stop, if the program has imported Paddle, and call what they stand
for. Ranges may nest (a layer in a layer): Paddle's tables count the outermost.
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
"""Class and name of a method, what it was, and what stands in its place now."""


def hook() -> None:
    """Wrap what there is to wrap, unless it is already."""
    if not _wrapped:
        for owner, name, event_type in _methods():
            original = vars(owner).get(name)
            if callable(original):
                ours = _told(original, event_type, None if name == "__call__" else event_type.name)
                setattr(owner, name, ours)
                _wrapped.append((owner, name, original, ours))


def unhook() -> None:
    """Put everything back; what somebody wrapped after us stays, with ours below it."""
    while _wrapped:
        owner, name, original, ours = _wrapped.pop()
        if vars(owner).get(name) is ours:
            setattr(owner, name, original)


def _methods() -> Iterator[tuple[type, str, TracerEventType]]:
    layers = sys.modules.get("paddle.nn.layer.layers")
    optimizers = sys.modules.get("paddle.optimizer.optimizer")
    found = (
        (getattr(layers, "Layer", None), "__call__", TracerEventType.Forward),
        (getattr(sys.modules.get("paddle"), "Tensor", None), "backward", TracerEventType.Backward),
    )
    for owner, name, event_type in found:
        if isinstance(owner, type):
            yield owner, name, event_type
    kinds = [getattr(optimizers, "Optimizer", None)]
    for kind in kinds:
        if isinstance(kind, type):
            kinds.extend(kind.__subclasses__())
            yield kind, "step", TracerEventType.Optimization


def _told(original: Callable[..., Any], event_type: TracerEventType, label: str | None) -> Callable[..., Any]:
    """The method in a range called ``label``, or like the class of its object."""

    @wraps(original)
    def told(self: Any, *args: Any, **kwargs: Any) -> Any:
        agent = annotation.connected_agent()
        if agent is None:
            return original(self, *args, **kwargs)
        name = label or type(self).__name__
        agent.warpline_push_of(name.encode("utf-8", "replace"), category_of(event_type, agent))
        try:
            return original(self, *args, **kwargs)
        finally:
            agent.warpline_pop()

    return told
