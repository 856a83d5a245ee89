"""Values without files or windows: errors, times, intervals, kinds, tracks."""

from warpline.model.errors import (
    Cancelled,
    CaptureFormatError,
    ExportError,
    ImportFormatError,
    NotRecordedError,
    RecordingError,
    StorageError,
    UsageError,
    WarplineError,
)
from warpline.model.flags import NOT_BUSY, Flag
from warpline.model.kinds import (
    BUILTIN_KINDS,
    BUILTIN_KINDS_BY_NAME,
    COPY_KINDS,
    MEMORY_KINDS,
    SYNC_TYPES,
    AttributeSpec,
    KindSpec,
)
from warpline.model.times import format_duration, format_time, parse_range, parse_time
from warpline.model.tracks import Clock, Device, Packing, Process, Skipped, Source, Thread, Track

__all__ = [
    "BUILTIN_KINDS",
    "BUILTIN_KINDS_BY_NAME",
    "COPY_KINDS",
    "MEMORY_KINDS",
    "NOT_BUSY",
    "SYNC_TYPES",
    "AttributeSpec",
    "Cancelled",
    "CaptureFormatError",
    "Clock",
    "Device",
    "ExportError",
    "Flag",
    "ImportFormatError",
    "KindSpec",
    "NotRecordedError",
    "Packing",
    "Process",
    "RecordingError",
    "Skipped",
    "Source",
    "StorageError",
    "Thread",
    "Track",
    "UsageError",
    "WarplineError",
    "format_duration",
    "format_time",
    "parse_range",
    "parse_time",
]
