"""Replaces ``paddle.profiler``: ``import warpline.compat.paddle as profiler``.

Scripts written for Paddle's profiler only need this change of import. ``export_protobuf`` writes a capture.
"""

from __future__ import annotations

from warpline.profiling.events import RecordEvent
from warpline.profiling.profiler import Profiler
from warpline.profiling.results import export_capture as export_protobuf
from warpline.profiling.results import export_chrome_tracing, load_profiler_result
from warpline.profiling.states import (
    ProfilerState,
    ProfilerTarget,
    SortedKeys,
    SummaryView,
    TracerEventType,
    make_scheduler,
)

__all__ = [
    "Profiler",
    "ProfilerState",
    "ProfilerTarget",
    "RecordEvent",
    "SortedKeys",
    "SummaryView",
    "TracerEventType",
    "export_chrome_tracing",
    "export_protobuf",
    "load_profiler_result",
    "make_scheduler",
]
