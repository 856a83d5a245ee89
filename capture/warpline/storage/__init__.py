"""The capture file: writing (`CaptureBuilder`), reading (`open_capture`) and level of detail.

The builder is loaded when it is first named: a window or a report that only reads starts without it.
"""

from typing import TYPE_CHECKING, Any

from .cache import ConversionCache, cache_folder
from .capture import Capture, open_capture
from .counters import Counter
from .directories import Events, Lanes
from .kind_table import KindTable
from .links import Links
from .mapped import is_capture
from .names import NameIndex, NameTotals, build_name_index, index_lanes
from .query import Strip
from .schema import NO_ROW, NO_STACK
from .strings import Strings
from .verify import verify

if TYPE_CHECKING:
    from .builder import CaptureBuilder

__all__ = [
    "NO_ROW",
    "NO_STACK",
    "Capture",
    "CaptureBuilder",
    "ConversionCache",
    "Counter",
    "Events",
    "KindTable",
    "Lanes",
    "Links",
    "NameIndex",
    "NameTotals",
    "Strings",
    "Strip",
    "build_name_index",
    "cache_folder",
    "index_lanes",
    "is_capture",
    "open_capture",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name != "CaptureBuilder":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .builder import CaptureBuilder

    globals()[name] = CaptureBuilder
    return CaptureBuilder
