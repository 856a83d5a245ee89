"""The event arguments that PyTorch's and Paddle's profilers write."""

from __future__ import annotations

import msgspec

from warpline.interchange.framework.columns import NO_INTEGER
from warpline.interchange.trace_json.arguments import Int64

_NONE = NO_INTEGER
_NAN = float("nan")
_NO_SHAPE = (_NONE, _NONE, _NONE)
_NO_JSON = msgspec.Raw(b"")


class GpuArgs(
    msgspec.Struct,
    gc=False,
    rename={
        "registers": "registers per thread",
        "shared": "shared memory",
        "blocks": "blocks per SM",
        "warps": "warps per SM",
        "occupancy": "est. achieved occupancy %",
        "graph": "graph id",
        "graph_node": "graph node id",
        "sync_kind": "cuda_sync_kind",
        "event": "wait_on_cuda_event_id",
        "external": "External id",
        "correlation_paddle": "correlation id",
        "occupancy_paddle": "theoretical achieved occupancy %",
        "bandwidth": "memory bandwidth (GB/s)",
        "recorded_by": "wait_on_cuda_event_record_corr_id",
    },
):
    """Arguments of GPU work, of PyTorch and Paddle."""

    external: Int64 = _NONE
    queued: Int64 = _NONE
    device: Int64 = _NONE
    context: Int64 = _NONE
    stream: Int64 = _NONE
    correlation: Int64 = _NONE
    bytes: Int64 = _NONE
    registers: Int64 = _NONE
    shared: Int64 = _NONE
    blocks: float = _NAN
    warps: float = _NAN
    grid: tuple[Int64, Int64, Int64] = _NO_SHAPE
    block: tuple[Int64, Int64, Int64] = _NO_SHAPE
    occupancy: float = _NAN
    priority: Int64 = _NONE
    graph: Int64 = _NONE
    graph_node: Int64 = _NONE
    sync_kind: str = ""
    event: Int64 = _NONE
    correlation_paddle: Int64 = _NONE
    occupancy_paddle: float = _NAN
    value: Int64 = _NONE
    bandwidth: float = _NAN
    wait_on_stream: Int64 = _NONE
    recorded_by: Int64 = _NONE
    # Paddle repeats the event's times here.
    start_time: str = ""
    end_time: str = ""
    # Written only by Warpline's own export.
    occupancy_ratio: float = _NAN
    copy_kind: Int64 = _NONE
    src_kind: Int64 = _NONE
    dst_kind: Int64 = _NONE
    memory_kind: Int64 = _NONE


class ApiArgs(
    msgspec.Struct, gc=False, rename={"external": "External id", "correlation_paddle": "correlation id"}
):
    """Arguments of runtime and driver calls."""

    external: Int64 = _NONE

    cbid: Int64 = _NONE
    correlation: Int64 = _NONE
    cid: Int64 = _NONE
    correlation_paddle: Int64 = _NONE
    start_time: str = ""
    end_time: str = ""


class OperatorArgs(
    msgspec.Struct,
    gc=False,
    rename={
        "external": "External id",
        "external_old": "external id",
        "sequence": "Sequence number",
        "forward": "Fwd thread id",
        "shapes": "Input Dims",
        "types": "Input type",
        "inputs": "Concrete Inputs",
        "stack": "Call stack",
        "index": "Ev Idx",
        "index_old": "Profiler Event Index",
        "function": "Record function id",
    },
):
    """Arguments of operators and annotations."""

    external: Int64 = _NONE
    external_old: Int64 = _NONE
    sequence: Int64 = _NONE
    forward: Int64 = _NONE
    inputs: msgspec.Raw = _NO_JSON
    types: msgspec.Raw = _NO_JSON
    shapes: msgspec.Raw = _NO_JSON
    stack: str = ""
    index: Int64 = _NONE
    index_old: Int64 = _NONE
    function: Int64 = _NONE


class AnnotationArgs(
    msgspec.Struct,
    gc=False,
    rename={
        "external": "External id",
        "external_old": "external id",
        "index": "Ev Idx",
        "index_old": "Profiler Event Index",
        "function": "Record function id",
    },
):
    """Numeric arguments of annotations; all others go to the payload."""

    external: Int64 = _NONE
    external_old: Int64 = _NONE
    index: Int64 = _NONE
    index_old: Int64 = _NONE
    function: Int64 = _NONE


class NoArgs(msgspec.Struct, gc=False):
    """No known arguments: all go to the payload."""


class PythonArgs(
    msgspec.Struct,
    gc=False,
    rename={
        "parent": "Python parent id",
        "own": "Python id",
        "module": "Python module id",
        "index": "Ev Idx",
    },
):
    """Arguments of Python functions; the outermost function has null for its caller."""

    parent: Int64 | None = None
    own: Int64 | None = None
    module: Int64 | None = None
    index: Int64 = _NONE


class MemoryArgs(
    msgspec.Struct,
    gc=False,
    rename={
        "reserved": "Total Reserved",
        "allocated": "Total Allocated",
        "size": "Bytes",
        "address": "Addr",
        "device": "Device Id",
        "device_type": "Device Type",
        "index": "Ev Idx",
    },
):
    """Arguments of allocations."""

    reserved: Int64 = _NONE
    allocated: Int64 = _NONE
    size: Int64 = _NONE
    address: Int64 = _NONE
    device: Int64 = _NONE
    device_type: Int64 = _NONE
    index: Int64 = _NONE
