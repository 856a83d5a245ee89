"""Kinds of events and their attributes. A capture describes its own kinds; these are the ones Warpline writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from warpline.model.waits import WAIT_KINDS

_NO_ENUM: Mapping[int, str] = MappingProxyType({})


@dataclass(frozen=True)
class AttributeSpec:
    """One column beside the events of a kind.

    ``dtype`` is a numpy type name (``uint32``, ``int64``, ``float64``, ``bool``), ``string`` for ids into the capture's
    string table or ``stack`` for ids into its stacks. ``unit`` is ``ns``, ``bytes``, ``threads`` … or empty. ``enum``
    names the values of an enumeration.
    """

    name: str
    dtype: str
    title: str
    unit: str = ""
    enum: Mapping[int, str] = field(default_factory=lambda: _NO_ENUM)


@dataclass(frozen=True)
class KindSpec:
    """A kind of event: how it is called, grouped and coloured, and which attributes its events carry.

    ``category`` groups kinds for people and reports: ``gpu``, ``api``, ``cpu``, ``range``, ``python``, ``os``,
    ``memory``, ``tool``. ``color`` is a family the themes know (``kernel``, ``communication``, ``copy``, ``set``,
    ``sync``, ``api``, ``state``, ``core``, ``range``, ``operator``, ``phase``, ``python``, ``os``, ``memory``,
    ``overhead``, ``neutral``). Events that do not count as busy carry a flag.
    """

    name: str
    title: str
    category: str
    color: str
    attributes: tuple[AttributeSpec, ...] = ()


COPY_KINDS: Mapping[int, str] = MappingProxyType(
    dict(
        enumerate(
            (
                "unknown",
                "host to device",
                "device to host",
                "host to array",
                "array to host",
                "array to array",
                "array to device",
                "device to array",
                "device to device",
                "host to host",
                "peer to peer",
                "unified host to device",
                "unified device to host",
                "unified device to device",
            )
        )
    )
)
PYTHON_FRAMES: Mapping[int, str] = MappingProxyType(
    {
        0: "none",
        1: "sure: the samples before and after it agree",
        2: "likely: of the nearer sample",
    }
)
"""How certain the Python frames are in a stack put together from two samplers."""
MEMORY_KINDS: Mapping[int, str] = MappingProxyType(
    dict(
        enumerate(
            ("pageable", "pinned", "device", "array", "managed", "device static", "managed static", "unknown")
        )
    )
)
SYNC_TYPES: Mapping[int, str] = MappingProxyType(
    dict(
        enumerate(
            ("unknown", "event synchronize", "stream wait event", "stream synchronize", "context synchronize")
        )
    )
)
MEMORY_OPERATIONS: Mapping[int, str] = MappingProxyType({0: "allocation", 1: "release"})


def _a(
    name: str, dtype: str, title: str, unit: str = "", enum: Mapping[int, str] = _NO_ENUM
) -> AttributeSpec:
    return AttributeSpec(name, dtype, title, unit, enum)


_CORRELATION = _a("correlation", "int64", "Correlation id")
_GRAPH = (_a("graph_id", "uint64", "Graph"), _a("graph_node_id", "uint64", "Graph node"))
_SHAPES = _a("input_shapes", "string", "Input shapes")
_STACK = _a("stack", "stack", "Stack")
_PLACE = _a("place", "string", "Place")
_TASK = _a("task", "string", "asyncio task")
_WAIT = (_a("wait", "uint8", "Kind of wait", "", WAIT_KINDS), _PLACE, _STACK, _TASK)

BUILTIN_KINDS: tuple[KindSpec, ...] = (
    KindSpec(
        "kernel",
        "Kernel",
        "gpu",
        "kernel",
        (
            *(_a(f"grid_{axis}", "uint32", f"Grid {axis}", "blocks") for axis in "xyz"),
            *(_a(f"block_{axis}", "uint32", f"Block {axis}", "threads") for axis in "xyz"),
            _a("registers_per_thread", "uint32", "Registers per thread"),
            _a("static_shared_memory_bytes", "uint32", "Static shared memory", "bytes"),
            _a("dynamic_shared_memory_bytes", "uint32", "Dynamic shared memory", "bytes"),
            _a("local_memory_per_thread_bytes", "uint32", "Local memory per thread", "bytes"),
            _a("occupancy_ratio", "float32", "Theoretical occupancy", "ratio"),
            _a("blocks_per_sm", "float32", "Blocks per SM"),
            _a("warps_per_sm", "float32", "Warps per SM"),
            _a("queued_ns", "int64", "Entered the queue", "ns"),
            _a("submitted_ns", "int64", "Sent to the GPU", "ns"),
            _CORRELATION,
            _a("priority", "int32", "Stream priority"),
            *_GRAPH,
            _a("demangled_name", "string", "Full name"),
            _a("mangled_name", "string", "Mangled name"),
        ),
    ),
    KindSpec(
        "memcpy",
        "Memory copy",
        "gpu",
        "copy",
        (
            _a("bytes", "uint64", "Size", "bytes"),
            _a("copy_kind", "uint8", "Direction", "", COPY_KINDS),
            _a("src_kind", "uint8", "Source memory", "", MEMORY_KINDS),
            _a("dst_kind", "uint8", "Destination memory", "", MEMORY_KINDS),
            _CORRELATION,
            *_GRAPH,
        ),
    ),
    KindSpec(
        "memset",
        "Memory set",
        "gpu",
        "set",
        (
            _a("bytes", "uint64", "Size", "bytes"),
            _a("value", "uint32", "Value"),
            _a("memory_kind", "uint8", "Memory", "", MEMORY_KINDS),
            _CORRELATION,
            *_GRAPH,
        ),
    ),
    KindSpec(
        "graph",
        "CUDA graph",
        "gpu",
        "kernel",
        (_CORRELATION, _a("graph_id", "uint64", "Graph"), _a("graph_exec_id", "uint64", "Executable graph")),
    ),
    KindSpec(
        "sync",
        "Synchronization",
        "gpu",
        "sync",
        (
            _a("sync_type", "uint8", "Type", "", SYNC_TYPES),
            _a("stream", "int64", "Stream"),
            _a("event_id", "uint64", "Event"),
            _CORRELATION,
        ),
    ),
    KindSpec("gpu_annotation", "GPU annotation", "range", "range", (_CORRELATION,)),
    KindSpec("gpu_event", "GPU activity", "gpu", "neutral", (_CORRELATION,)),
    KindSpec(
        "cuda_api",
        "CUDA API call",
        "api",
        "api",
        (
            _CORRELATION,
            _a("return_value", "int32", "Result"),
            _a("return_name", "string", "Result name"),
            _a("callback_id", "uint32", "Callback id"),
            _STACK,
        ),
    ),
    KindSpec(
        "range",
        "Range",
        "range",
        "range",
        (
            _a("domain", "string", "Domain"),
            _a("category", "string", "Category"),
            _a("color_argb", "uint32", "Color"),
            _a("payload", "string", "Payload"),
            _a("end_thread", "int64", "Ended by thread"),
            _a("sequence_number", "int64", "Sequence number"),
            _a("external_id", "int64", "External id"),
            _SHAPES,
        ),
    ),
    KindSpec(
        "operator",
        "Operator",
        "range",
        "operator",
        (
            _SHAPES,
            _a("input_types", "string", "Input types"),
            _a("sequence_number", "int64", "Sequence number"),
            _a("external_id", "int64", "External id"),
            _a("forward_thread", "int64", "Forward thread"),
            _a("flops", "int64", "FLOPs"),
            _STACK,
            _a("arguments", "string", "Arguments"),
        ),
    ),
    KindSpec(
        "phase",
        "Phase",
        "range",
        "phase",
        (_a("step", "int64", "Step"), _a("arguments", "string", "Arguments")),
    ),
    KindSpec(
        "module",
        "Module",
        "range",
        "operator",
        (
            _a("class_name", "string", "Class"),
            _a("gpu_kept_bytes", "int64", "GPU memory kept", "B"),
            _a("host_kept_bytes", "int64", "Host memory kept", "B"),
            _a("parameters", "int64", "Parameters"),
            _SHAPES,
            _a("output_shapes", "string", "Output shapes"),
        ),
    ),
    KindSpec(
        "python",
        "Python call",
        "python",
        "python",
        (_a("python_id", "int64", "Python id"), _a("python_parent_id", "int64", "Parent"), _STACK),
    ),
    KindSpec(
        "osrt",
        "OS runtime call",
        "os",
        "os",
        (
            _a("return_value", "int64", "Result"),
            *_WAIT,
            _a("object", "string", "Waits for"),
            _a("address", "uint64", "Address"),
            _a("holder", "int64", "Held by thread"),
            _a("ended_by", "int64", "Ended by thread"),
            _a("ended_how", "string", "How that is known"),
            _a("holder_place", "string", "Holder at"),
            _a("caller", "string", "Called from"),
            _a("arguments", "string", "Arguments"),
        ),
    ),
    KindSpec(
        "call_count",
        "Many OS runtime calls",
        "os",
        "os",
        (_a("count", "int64", "Calls"), _a("bytes", "int64", "Bytes", "bytes"), _PLACE, _STACK),
    ),
    KindSpec(
        "release", "Release of a lock", "os", "os", (_a("address", "uint64", "Address"), _PLACE, _STACK)
    ),
    KindSpec(
        "thread_state",
        "Thread state",
        "cpu",
        "state",
        (
            _a("cpu", "int32", "Core"),
            _a("reason", "string", "Reason"),
            *_WAIT,
            _a("woken_by", "int64", "Woken by thread"),
            _a("core_wait_ns", "int64", "Of this, waiting for a core (estimated)", "ns"),
        ),
    ),
    KindSpec(
        "cpu_slice",
        "CPU slice",
        "cpu",
        "core",
        (_a("process", "int64", "Process"), _a("thread", "int64", "Thread")),
    ),
    KindSpec("sample", "Sample", "cpu", "python", (_STACK, _TASK, _a("cpu", "int32", "Core"))),
    KindSpec(
        "cpu_sample",
        "Sample on a core",
        "cpu",
        "python",
        (
            _STACK,
            _a("cpu", "int32", "Core"),
            _a("python", "uint8", "Python frames", "", PYTHON_FRAMES),
            _a("is_cut", "bool", "Callers not known"),
        ),
    ),
    KindSpec(
        "memory",
        "Memory event",
        "memory",
        "memory",
        (
            _a("operation", "uint8", "Operation", "", MEMORY_OPERATIONS),
            _a("address", "uint64", "Address"),
            _a("bytes", "int64", "Size", "bytes"),
            _a("total_allocated_bytes", "int64", "Allocated in total", "bytes"),
            _a("total_reserved_bytes", "int64", "Reserved in total", "bytes"),
            _a("memory_kind", "uint8", "Memory", "", MEMORY_KINDS),
            _a("device", "string", "Device"),
        ),
    ),
    KindSpec("overhead", "Profiler and driver overhead", "tool", "overhead", (_CORRELATION,)),
    KindSpec("pause", "Recording paused", "tool", "neutral", ()),
    KindSpec(
        "diagnostic", "Message of the profiler", "tool", "neutral", (_a("severity", "string", "Severity"),)
    ),
    KindSpec(
        "other",
        "Event",
        "range",
        "range",
        (_a("category", "string", "Category"), _a("arguments", "string", "Arguments")),
    ),
)

BUILTIN_KINDS_BY_NAME: Mapping[str, KindSpec] = MappingProxyType({spec.name: spec for spec in BUILTIN_KINDS})
