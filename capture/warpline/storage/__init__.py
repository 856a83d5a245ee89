"""The capture file: writing (`CaptureBuilder`), reading (`open_capture`) and level of detail.

The builder is loaded when it is first named: a window or a report that only reads starts without it.
"""

from typing import TYPE_CHECKING, Any

from warpline.platform.folders import cache_folder
from warpline.storage.cache import ConversionCache
from warpline.storage.columns.counters import Counter
from warpline.storage.columns.events import Events, Lanes
from warpline.storage.columns.kind_table import KindTable
from warpline.storage.columns.links import Links
from warpline.storage.columns.mapped_file import is_capture
from warpline.storage.columns.schema import NO_ROW, NO_STACK
from warpline.storage.columns.strings import Strings
from warpline.storage.columns.strip import Strip
from warpline.storage.index.name_index import NameIndex, NameTotals
from warpline.storage.read.capture import Capture, open_capture, open_part
from warpline.storage.read.ranks import capture_ranks
from warpline.storage.read.verify import verify

if TYPE_CHECKING:
    from warpline.storage.write.builder import CaptureBuilder

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
    "cache_folder",
    "capture_ranks",
    "is_capture",
    "open_capture",
    "open_part",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name != "CaptureBuilder":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from warpline.storage.write.builder import CaptureBuilder

    globals()[name] = CaptureBuilder
    return CaptureBuilder
