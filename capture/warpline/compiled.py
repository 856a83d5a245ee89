"""Loads compiled loops that have a twin in Python: whoever has no library, or an old one, is slower and no worse."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy.typing as npt

Signatures = Mapping[str, tuple[Any, list[Any] | None]]
"""Result and arguments of each function; None leaves the arguments to ctypes."""
POINTER, INTEGER = ctypes.c_void_p, ctypes.c_int64
"""Where a column begins, and a count, a time or a place in one."""


def usable_cores() -> int:
    """On how many cores this process may run; on all of the machine where the system does not tell, as on macOS."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def address(array: npt.NDArray[Any]) -> int:
    """Where the values of a contiguous array begin."""
    return int(array.__array_interface__["data"][0])


def load(library: Path, signatures: Signatures, *shared: Path) -> ctypes.CDLL | None:
    """The library with its functions declared; None where it is not compiled or older than its sources.

    In a checkout the sources lie in ``native`` beside the library, and in folders that it shares with others. An update
    may have brought others, and calling the old functions with new arguments would end the process.
    """
    try:
        built = library.stat().st_mtime
        sources = (
            source for folder in (library.parent / "native", *shared) for source in folder.glob("*.[ch]")
        )
        if any(source.stat().st_mtime > built for source in sources):
            return None
        found = ctypes.CDLL(str(library))
        for name, (result, arguments) in signatures.items():
            function = getattr(found, name)
            function.restype = result
            if arguments is not None:
                function.argtypes = arguments
    except (OSError, AttributeError):
        return None
    return found
