"""Loads compiled loops. Each has a twin in Python, which is used where the library is missing or out of date."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy.typing as npt

Signatures = Mapping[str, tuple[Any, list[Any] | None]]
"""Result and arguments of each function; None leaves the arguments to ctypes."""
POINTER, INTEGER = ctypes.c_void_p, ctypes.c_int64
"""The address of a column, and a count, a time or an index."""


def address(array: npt.NDArray[Any]) -> int:
    """Address of the values of a contiguous array."""
    return int(array.__array_interface__["data"][0])


def load(library: Path, signatures: Signatures, *shared: Path) -> ctypes.CDLL | None:
    """The library with its functions declared; None where it is missing or older than its sources.

    In a checkout the sources lie in ``native`` beside the library and in the ``shared`` folders. After an update they
    may be newer, and calling old functions with new arguments would crash.
    """
    try:
        built = library.stat().st_mtime
        sources = (
            source for folder in (library.parent / "native", *shared) for source in folder.glob("*.[ch]")
        )
        if any(source.stat().st_mtime > built for source in sources):
            return None
        loaded = ctypes.CDLL(str(library))
        for name, (result, arguments) in signatures.items():
            function = getattr(loaded, name)
            function.restype = result
            if arguments is not None:
                function.argtypes = arguments
    except (OSError, AttributeError):
        return None
    return loaded
