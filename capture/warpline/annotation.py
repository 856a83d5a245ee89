"""``warpline.annotate`` and ``warpline.mark``: name what a program does, for the timeline.

They can stay in a program: outside ``warpline record`` a range costs one comparison. Inside, the native agent writes
it like an NVTX range. This module imports only the standard library.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])
Color = int | str | None
"""0xRRGGBB or 0xAARRGGBB, ``"#rrggbb"``, or one of a few names; anything else is ignored."""

_NAMES = {
    "red": 0xFF0000,
    "green": 0x008000,
    "blue": 0x0000FF,
    "yellow": 0xFFFF00,
    "orange": 0xFFA500,
    "purple": 0x800080,
    "magenta": 0xFF00FF,
    "cyan": 0x00FFFF,
    "white": 0xFFFFFF,
    "black": 0x000000,
    "gray": 0x808080,
    "grey": 0x808080,
    "brown": 0xA52A2A,
    "pink": 0xFFC0CB,
    "teal": 0x008080,
    "navy": 0x000080,
    "lime": 0x00FF00,
}


class Agent(Protocol):
    """The functions of the native agent that programs call."""

    def warpline_push(self, name: bytes, color_argb: int, /) -> None: ...
    def warpline_pop(self) -> None: ...
    def warpline_mark(self, name: bytes, color_argb: int, /) -> None: ...
    def warpline_start(self, name: bytes, color_argb: int, /) -> int: ...
    def warpline_end(self, range_id: int, /) -> None: ...
    def warpline_push_of(self, name: bytes, category: int, /) -> None: ...
    def warpline_start_of(self, name: bytes, category: int, /) -> int: ...
    def warpline_name_category(self, category: int, name: bytes, /) -> None: ...
    def warpline_attach(self) -> int: ...
    def warpline_join(self, directory: bytes, /) -> int: ...
    def warpline_hook_frameworks(self, is_told: int, /) -> None: ...
    def warpline_ask_paddle(self, details: int, /) -> None: ...


def load_agent(path: str) -> Agent | None:
    """The agent library at a path, not yet in a session; None when it cannot be loaded or has another version."""
    import ctypes

    try:
        # PyDLL keeps the GIL: releasing it would cost more than the call, and let other threads run in between.
        library = ctypes.PyDLL(path)
        text_and_color = (ctypes.c_char_p, ctypes.c_uint32)
        library.warpline_push.argtypes = text_and_color
        library.warpline_push.restype = None
        library.warpline_pop.argtypes = ()
        library.warpline_pop.restype = None
        library.warpline_mark.argtypes = text_and_color
        library.warpline_mark.restype = None
        library.warpline_start.argtypes = text_and_color
        library.warpline_start.restype = ctypes.c_uint64
        library.warpline_end.argtypes = (ctypes.c_uint64,)
        library.warpline_end.restype = None
        library.warpline_push_of.argtypes = text_and_color
        library.warpline_push_of.restype = None
        library.warpline_start_of.argtypes = text_and_color
        library.warpline_start_of.restype = ctypes.c_uint64
        library.warpline_name_category.argtypes = (ctypes.c_uint32, ctypes.c_char_p)
        library.warpline_name_category.restype = None
        library.warpline_join.argtypes = (ctypes.c_char_p,)
        library.warpline_hook_frameworks.argtypes = (ctypes.c_int,)
        library.warpline_hook_frameworks.restype = None
        library.warpline_ask_paddle.argtypes = (ctypes.c_uint,)
        library.warpline_ask_paddle.restype = None
    except (OSError, AttributeError):
        return None
    return library


def _load_recording_agent() -> Agent | None:
    """The agent of the recording that this process belongs to; None outside a recording."""
    path = os.environ.get("WARPLINE_AGENT", "")
    if not path or not os.environ.get("WARPLINE_SPOOL"):
        return None
    agent = load_agent(path)
    return agent if agent is not None and agent.warpline_attach() else None


_agent = _load_recording_agent()


def connected_agent() -> Agent | None:
    """The agent that writes ranges now; None while nothing is recorded."""
    return _agent


def connect(agent: Agent | None) -> None:
    """Sets the agent that writes ranges; None stops writing. For the profiler, as its recordings begin and end."""
    global _agent
    _agent = agent


def _argb(color: Color) -> int:
    """The colour as 0xAARRGGBB, 0 for none."""
    if isinstance(color, str):
        text = color.strip().lower()
        try:
            value = int(text[1:], 16) if text.startswith("#") else _NAMES.get(text, -1)
        except ValueError:
            return 0
    else:
        value = -1 if color is None else color
    if not 0 <= value <= 0xFFFFFFFF:
        return 0
    return value if value > 0xFFFFFF else 0xFF000000 | value


class annotate:  # noqa: N801  # used like a function
    """A named range on the timeline of the calling thread: ``with annotate("step"):`` or ``@annotate("step")``.

    The decorator without a name, ``@annotate()``, uses the name of the function. Ranges may nest, and an object may be
    entered again. The range of a coroutine function or a generator goes from its start to its end and need not nest,
    because others may run in between.
    """

    __slots__ = ("_color", "_name", "_ready")

    def __init__(self, name: str = "", color: Color = None) -> None:
        self._name = name
        self._color = color
        self._ready: tuple[bytes, int] | None = None

    def _prepare(self) -> tuple[bytes, int]:
        ready = self._ready = (self._name.encode("utf-8", "replace"), _argb(self._color))
        return ready

    def __enter__(self) -> Self:
        if _agent is not None:
            _agent.warpline_push(*(self._ready or self._prepare()))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if _agent is not None:
            _agent.warpline_pop()

    def __call__(self, function: Function) -> Function:
        """Wraps each call of the function in a range; outside a recording, returns the function unchanged."""
        if _agent is None:
            return function
        import inspect

        if not self._name:
            self._name = getattr(function, "__qualname__", "") or repr(function)
        agent = _agent
        name, color = self._prepare()
        wrapper: Any
        if inspect.iscoroutinefunction(function):

            @wraps(function)
            async def wrapper(*args: Any, **kwargs: Any) -> Any:
                started = agent.warpline_start(name, color)
                try:
                    return await function(*args, **kwargs)
                finally:
                    agent.warpline_end(started)

        elif inspect.isgeneratorfunction(function):

            @wraps(function)
            def wrapper(*args: Any, **kwargs: Any) -> Any:
                started = agent.warpline_start(name, color)
                try:
                    return (yield from function(*args, **kwargs))
                finally:
                    agent.warpline_end(started)

        else:

            @wraps(function)
            def wrapper(*args: Any, **kwargs: Any) -> Any:
                agent.warpline_push(name, color)
                try:
                    return function(*args, **kwargs)
                finally:
                    agent.warpline_pop()

        return wrapper  # type: ignore[no-any-return]  # wraps() keeps the function's signature


def mark(name: str, color: Color = None) -> None:
    """Marks a named moment on the timeline of the calling thread."""
    if _agent is not None:
        _agent.warpline_mark(name.encode("utf-8", "replace"), _argb(color))
