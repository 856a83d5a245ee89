"""Warpline: captures of what CPU cores, threads and GPU streams did, without the window.

Names are loaded on first use; ``docs/python.md`` shows how to use them. Programs that are being recorded import this
package, so importing it must not load numpy, h5py or Qt.
"""

from typing import TYPE_CHECKING

from warpline._version import __version__

if TYPE_CHECKING:
    from warpline.annotation import annotate, mark
    from warpline.library.capture_reader import CaptureReader
    from warpline.library.counter_samples import CounterSamples
    from warpline.library.entrance import import_trace, open  # noqa: A004  # `warpline.open`
    from warpline.library.event_frame import EventFrame
    from warpline.library.link_frame import LinkFrame
    from warpline.library.model_graph import model_graph
    from warpline.library.pictures import PngPicture
    from warpline.library.report_frame import ReportFrame
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
    from warpline.profiling.benchmark import benchmark
    from warpline.profiling.events import RecordEvent
    from warpline.profiling.profiler import Profiler
    from warpline.profiling.results import export_capture, export_chrome_tracing, load_profiler_result
    from warpline.profiling.states import (
        ProfilerState,
        ProfilerTarget,
        ProfilerWarning,
        SortedKeys,
        SummaryView,
        TracerEventType,
        make_scheduler,
    )
    from warpline.storage import CaptureBuilder
else:
    _PLACES = {
        "warpline.annotation": ("annotate", "mark"),
        "warpline.library.capture_reader": ("CaptureReader",),
        "warpline.library.counter_samples": ("CounterSamples",),
        "warpline.library.entrance": ("import_trace", "open"),
        "warpline.library.event_frame": ("EventFrame",),
        "warpline.library.link_frame": ("LinkFrame",),
        "warpline.library.model_graph": ("model_graph",),
        "warpline.library.pictures": ("PngPicture",),
        "warpline.library.report_frame": ("ReportFrame",),
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
        "warpline.profiling.benchmark": ("benchmark",),
        "warpline.profiling.events": ("RecordEvent",),
        "warpline.profiling.profiler": ("Profiler",),
        "warpline.profiling.results": ("export_capture", "export_chrome_tracing", "load_profiler_result"),
        "warpline.profiling.states": (
            "ProfilerState",
            "ProfilerTarget",
            "ProfilerWarning",
            "SortedKeys",
            "SummaryView",
            "TracerEventType",
            "make_scheduler",
        ),
        "warpline.storage": ("CaptureBuilder",),
    }

    # Hidden from type checkers, which would accept any name otherwise.
    def __getattr__(name):
        from importlib import import_module

        for place, names in _PLACES.items():
            if name in names:
                value = globals()[name] = getattr(import_module(place), name)
                return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def load_ipython_extension(shell):
        from warpline.integrations.notebook import load

        load(shell)

    def __dir__():
        return sorted({*globals(), *__all__})


__all__ = [
    "AttributeSpec",
    "Cancelled",
    "CaptureBuilder",
    "CaptureFormatError",
    "CaptureReader",
    "CounterSamples",
    "EventFrame",
    "ExportError",
    "Flag",
    "ImportFormatError",
    "KindSpec",
    "LinkFrame",
    "NotRecordedError",
    "Packing",
    "PngPicture",
    "Profiler",
    "ProfilerState",
    "ProfilerTarget",
    "ProfilerWarning",
    "RecordEvent",
    "RecordingError",
    "ReportFrame",
    "SortedKeys",
    "StorageError",
    "SummaryView",
    "TracerEventType",
    "Track",
    "UsageError",
    "WarplineError",
    "__version__",
    "annotate",
    "benchmark",
    "export_capture",
    "export_chrome_tracing",
    "import_trace",
    "load_profiler_result",
    "make_scheduler",
    "mark",
    "model_graph",
    "open",
]
