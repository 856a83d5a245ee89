"""The capture file: writing (`CaptureBuilder`), reading (`open_capture`) and level of detail."""

from .builder import CaptureBuilder
from .cache import ConversionCache, cache_folder
from .capture import Capture, open_capture
from .counters import Counter
from .directories import Events, Lanes
from .kind_table import KindTable
from .links import Links
from .mapped import is_capture
from .names import NameIndex, NameTotals, build_name_index
from .query import Strip
from .schema import NO_ROW, NO_STACK
from .strings import Strings
from .verify import verify

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
    "is_capture",
    "open_capture",
    "verify",
]
