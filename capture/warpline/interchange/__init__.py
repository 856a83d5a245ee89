"""Imports traces of other profilers and exports captures, one folder per format.

Names are loaded when they are first used: a capture opens without the importers.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from warpline.interchange.framework.detection import detect
    from warpline.interchange.framework.importer import Importer, ImportOptions, ImportSummary
    from warpline.interchange.framework.importing import import_files
    from warpline.interchange.joining.recording import is_capture, join_files

__all__ = [
    "ImportOptions",
    "ImportSummary",
    "Importer",
    "detect",
    "import_files",
    "is_capture",
    "join_files",
]

_MODULES = {
    "ImportOptions": "framework.importer",
    "ImportSummary": "framework.importer",
    "Importer": "framework.importer",
    "detect": "framework.detection",
    "import_files": "framework.importing",
    "is_capture": "joining.recording",
    "join_files": "joining.recording",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    return value
