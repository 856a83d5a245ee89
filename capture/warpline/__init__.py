"""Warpline: captures of what CPU cores, threads and GPU streams did, without the window.

Importing this package costs nothing: it may be imported inside a program that is being recorded, so it must not
bring in numpy, h5py or Qt. What is named here is loaded when it is first used; ``docs/python.md`` shows how.
"""

from typing import TYPE_CHECKING

from warpline._version import __version__

if TYPE_CHECKING:
    from warpline.annotation import annotate, mark
    from warpline.library.capture_reader import CaptureReader
    from warpline.library.counter_table import CounterTable
    from warpline.library.entrance import import_trace, open  # noqa: A004  # `warpline.open`
    from warpline.library.event_table import EventTable
    from warpline.library.link_table import LinkTable
    from warpline.library.pictures import Picture
    from warpline.library.report_table import ReportTable
    from warpline.model import (
        AttributeSpec,
        Cancelled,
        CaptureFormatError,
        ExportError,
        Flag,
        ImportFormatError,
        KindSpec,
        NotRecordedError,
        Packing,
        RecordingError,
        StorageError,
        Track,
        UsageError,
        WarplineError,
    )
    from warpline.storage import CaptureBuilder
else:
    _PLACES = {
        "warpline.annotation": ("annotate", "mark"),
        "warpline.library.capture_reader": ("CaptureReader",),
        "warpline.library.counter_table": ("CounterTable",),
        "warpline.library.entrance": ("import_trace", "open"),
        "warpline.library.event_table": ("EventTable",),
        "warpline.library.link_table": ("LinkTable",),
        "warpline.library.pictures": ("Picture",),
        "warpline.library.report_table": ("ReportTable",),
        "warpline.model": (
            "AttributeSpec",
            "Cancelled",
            "CaptureFormatError",
            "ExportError",
            "Flag",
            "ImportFormatError",
            "KindSpec",
            "NotRecordedError",
            "Packing",
            "RecordingError",
            "StorageError",
            "Track",
            "UsageError",
            "WarplineError",
        ),
        "warpline.storage": ("CaptureBuilder",),
    }

    # Not seen by type checkers, to which every name is unknown that is not imported above.
    def __getattr__(name):
        from importlib import import_module

        for place, names in _PLACES.items():
            if name in names:
                value = globals()[name] = getattr(import_module(place), name)
                return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__():
        return sorted({*globals(), *__all__})


__all__ = [
    "AttributeSpec",
    "Cancelled",
    "CaptureBuilder",
    "CaptureFormatError",
    "CaptureReader",
    "CounterTable",
    "EventTable",
    "ExportError",
    "Flag",
    "ImportFormatError",
    "KindSpec",
    "LinkTable",
    "NotRecordedError",
    "Packing",
    "Picture",
    "RecordingError",
    "ReportTable",
    "StorageError",
    "Track",
    "UsageError",
    "WarplineError",
    "__version__",
    "annotate",
    "import_trace",
    "mark",
    "open",
]
