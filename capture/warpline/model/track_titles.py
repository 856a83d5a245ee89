"""The titles of tracks, in English. A capture stores these; they are translated when shown.

A title is one of these texts, a name that the recorded program gave, or several of both joined by `JOINT`; so a
translator takes a title apart at the joints and finds each part here, fields included.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from warpline.i18n import english

JOINT = " · "

RANK = english("Rank {number}")
CORES, CORE = english("CPU cores"), english("Core {number}")
CORE_LOAD, CORE_LOAD_OF = english("Utilization"), english("{core}: whole system")
"""Titles of a core's load: on the core's own track, and where only the title says which core it is."""
GPU, NPU = english("GPU {number}"), english("NPU {number}")
PROCESS, PROCESS_WITHOUT_NUMBER = english("Process {number}"), english("Process")
THREAD, THREAD_WITHOUT_NUMBER = english("Thread {number}"), english("Thread")
FIRST_THREAD, OTHER_THREAD = english("main thread"), english("thread")
"""Titles of a thread without a name."""
WARPLINES_OWN = english("Warpline's own")
CONTEXT, CONTEXT_OF_PROCESS = english("Context {number}"), english("context {number}")
STREAM, DEFAULT_STREAM = english("Stream {number}"), english("default")
ANNOTATIONS = english("Annotations")
RANGES, STARTED = "NVTX", english("{ranges} start/end")
SYNC, CONTEXT_MEMORY = english("Synchronization"), english("Memory")
GPU_SLICES = english("Time slices of contexts")
GPU_PAGE_FAULTS, CPU_PAGE_FAULTS = english("page faults"), english("CPU page faults")
PAGE_FAULTS, DISK_FAULTS = english("Page faults"), english("Page faults read from a disk")
"""Counters of a process: all page faults, and those that read from disk."""
RESIDENT_MEMORY = english("Resident memory")
STEPS = english("Steps")
INSTANTS, ASYNC = english("Instants"), english("Asynchronous {category}")
GPU_METRICS, MESSAGES, PROFILER = (
    english("GPU metrics"),
    english("Messages of the profiler"),
    english("Profiler"),
)
HIP_API, ACL_API = english("HIP API"), english("AscendCL")
"""Titles of a thread's API calls that are not CUDA's."""
ESTIMATED_STATE = english("State (estimated)")

BELOW_THREAD: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "state": ("state", english("State")),
        "cpu": ("thread_cpu", english("Core")),
        "phases": ("phases", english("Phases")),
        "ranges": ("ranges", english("Ranges")),
        "modules": ("modules", english("Modules")),
        "operators": ("operators", english("Operators")),
        "api": ("api", english("CUDA API")),
        "python": ("python", english("Python")),
        "osrt": ("osrt", english("OS runtime")),
        "samples": ("samples", english("Samples")),
        "cpu-samples": ("cpu_samples", english("Samples on a core")),
        "memory": ("memory", english("Memory events")),
        "async": ("ranges", english("Asynchronous")),
        "overhead": ("overhead", english("Profiler and driver overhead")),
        "counters/running": ("counter", english("Running")),
        "counters/runnable": ("counter", english("Runnable")),
        "counters/blocked": ("counter", english("Blocked")),
    }
)
"""Role and title of the tracks below a thread by the end of their URI."""
