"""``warpline.RecordEvent``: a range with its event type in Paddle's tables."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from time import perf_counter_ns
from types import TracebackType
from typing import Any, Self, TypeVar

from warpline import annotation
from warpline.annotation import Agent
from warpline.i18n import tr
from warpline.model.errors import UsageError
from warpline.profiling import readers
from warpline.profiling.categories import category_of
from warpline.profiling.states import TracerEventType

Function = TypeVar("Function", bound=Callable[..., Any])


class RecordEvent:
    """A named range of the calling thread: a ``with`` block, ``begin`` to ``end``, or calls of a decorated function.

    ``event_type`` is a `TracerEventType` or any object with the same name. Nothing is written unless a recording is
    running; data loading is always timed for a profiler. Ranges of ``begin`` and ``end`` need not nest.
    """

    __slots__ = ("_began", "_encoded", "_range", "_type", "name")

    def __init__(self, name: str, event_type: Any = TracerEventType.PythonUserDefined) -> None:
        """Raises UsageError for an unknown type."""
        self.name = name
        self._type = event_type if type(event_type) is TracerEventType else _type_of(event_type)
        self._encoded: bytes | None = None
        self._range: tuple[Agent, int] | None = None
        self._began = 0

    @property
    def event_type(self) -> TracerEventType:
        """The event type of the range."""
        return self._type

    def _text(self) -> bytes:
        if self._encoded is None:
            self._encoded = self.name.encode("utf-8", "replace")
        return self._encoded

    def begin(self) -> None:
        """Begin the range."""
        if self._type is TracerEventType.Dataloader:
            self._began = perf_counter_ns()
        agent = annotation.connected_agent()
        if agent is not None:
            self._range = agent, agent.warpline_start_of(self._text(), category_of(self._type, agent))

    def end(self) -> None:
        """End the range; does nothing if it has not begun."""
        if self._began:
            readers.add_wait(perf_counter_ns() - self._began)
            self._began = 0
        if self._range is not None:
            agent, number = self._range
            self._range = None
            agent.warpline_end(number)

    def __enter__(self) -> Self:
        if self._type is TracerEventType.Dataloader:
            self._began = perf_counter_ns()
        agent = annotation.connected_agent()
        if agent is not None:
            agent.warpline_push_of(self._text(), category_of(self._type, agent))
            self._range = agent, 0
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._began:
            readers.add_wait(perf_counter_ns() - self._began)
            self._began = 0
        if self._range is not None:
            agent, _number = self._range
            self._range = None
            agent.warpline_pop()

    def __call__(self, function: Function) -> Function:
        """The function, with a separate range around each call on any thread."""
        import inspect

        name, kind = self.name, self._type
        wrapper: Any
        if inspect.iscoroutinefunction(function):

            @wraps(function)
            async def wrapper(*args: Any, **kwargs: Any) -> Any:
                event = RecordEvent(name, kind)
                event.begin()  # other coroutines run while this one waits, so their ranges need not nest
                try:
                    return await function(*args, **kwargs)
                finally:
                    event.end()

        else:

            @wraps(function)
            def wrapper(*args: Any, **kwargs: Any) -> Any:
                with RecordEvent(name, kind):
                    return function(*args, **kwargs)

        return wrapper  # type: ignore[no-any-return]  # wraps() keeps the function's signature


def _type_of(event_type: Any) -> TracerEventType:
    name = event_type if isinstance(event_type, str) else getattr(event_type, "name", None)
    try:
        return TracerEventType[name] if isinstance(name, str) else TracerEventType(event_type)
    except (KeyError, ValueError):
        known = ", ".join(kind.name for kind in TracerEventType)
        raise UsageError(
            tr("unknown event type {event_type!r}; choose from {known}", event_type=event_type, known=known)
        ) from None
