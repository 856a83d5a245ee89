"""Demangles C++ names with the C++ runtime's own demangler."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

_Function = Callable[..., Any]
_LIBRARIES = ("libstdc++.so.6", "libc++abi.so.1", "libc++.so.1")


@lru_cache(maxsize=1)
def _demangler() -> Callable[[bytes], bytes | None] | None:
    """``__cxa_demangle``; None if no C++ runtime is installed."""
    for name in _LIBRARIES:
        try:
            function = ctypes.CDLL(name).__cxa_demangle
        except (OSError, AttributeError):
            continue
        function.restype = ctypes.c_void_p
        function.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int)]
        free = ctypes.CDLL(None).free
        free.restype = None
        free.argtypes = [ctypes.c_void_p]
        return partial(_call, function, free)
    return None


def _call(function: _Function, free: _Function, mangled: bytes) -> bytes | None:
    status = ctypes.c_int()
    result = function(mangled, None, None, ctypes.byref(status))
    if not result:
        return None
    try:
        return ctypes.string_at(result)
    finally:
        free(result)


def demangle(name: str) -> str:
    """The demangled form of an Itanium C++ name; ``name`` itself if it is not one, or no demangler is installed."""
    # The demangler would read other names as types: "f" is float.
    if not name.startswith("_Z"):
        return name
    function = _demangler()
    if function is None:
        return name
    result = function(name.encode("utf-8", "replace"))
    return name if result is None else result.decode("utf-8", "replace")


def demangle_frame(frame: str) -> str:
    """A frame such as ``_ZN3app4workEv [libapp.so]`` with its function demangled."""
    if not frame.startswith("_Z"):
        return frame
    function, space, place = frame.partition(" ")
    return demangle(function) + space + place
