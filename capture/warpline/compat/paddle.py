"""Replaces ``paddle.profiler``: ``import warpline.compat.paddle as profiler``.

Scripts written for Paddle's profiler only need this change of import.
"""

from __future__ import annotations

from warpline.profiling.benchmark import benchmark
from warpline.profiling.events import RecordEvent
from warpline.profiling.profiler import Profiler
from warpline.profiling.results import export_chrome_tracing, export_protobuf, load_profiler_result
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
    "benchmark",
    "export_chrome_tracing",
    "export_protobuf",
    "load_profiler_result",
    "make_scheduler",
]
