"""Layouts of records of CUPTI (docs/spool.md). The agent's ``records.h`` is generated from them."""

from __future__ import annotations

from warpline.recording.spool.record_layout import RecordLayout

CUPTI_KERNEL = 300
CUPTI_MEMCPY = 301
CUPTI_MEMSET = 302
CUPTI_RUNTIME = 303
CUPTI_DRIVER = 304
CUPTI_SYNC = 305
CUPTI_OVERHEAD = 306
CUPTI_EXTERNAL = 307
CUPTI_STREAM = 308
CUPTI_CONTEXT = 309
CUPTI_DEVICE = 310
CUPTI_GRAPH = 311
CUPTI_MEMORY = 312
CUPTI_FUNCTION = 313
CUPTI_SESSION = 314
CUPTI_DROPPED = 315
CUPTI_NAME = 316
CUPTI_GAP = 317
NAMED_DEVICE, NAMED_CONTEXT, NAMED_STREAM = 0, 1, 2
CLOCK_MONOTONIC, CLOCK_PAIRS = 0, 1
"""What the times of a session are: CLOCK_MONOTONIC, or CUPTI's own clock, which the clock pairs convert."""
LOST_NO_ROOM, LOST_UNFINISHED, LOST_NO_MEMORY = 0, 1, 2
"""Why records were lost: CUPTI had no room for them, their work had not ended, or the process had no memory left."""
NOBODY = 0xFFFFFFFF
"""No device, stream or event."""

cupti_kernel = RecordLayout(
    [
        ("start_ns", "<u8"),
        ("end_ns", "<u8"),
        ("queued_ns", "<u8"),
        ("submitted_ns", "<u8"),
        ("graph_node", "<u8"),
        ("name", "<u4"),
        ("correlation", "<u4"),
        ("device", "<u4"),
        ("context", "<u4"),
        ("stream", "<u4"),
        ("graph", "<u4"),
        ("grid_x", "<u4"),
        ("grid_y", "<u4"),
        ("grid_z", "<u4"),
        ("block_x", "<u4"),
        ("block_y", "<u4"),
        ("block_z", "<u4"),
        ("static_shared_bytes", "<u4"),
        ("dynamic_shared_bytes", "<u4"),
        ("local_per_thread_bytes", "<u4"),
        ("registers", "<u2"),
        ("launch_type", "<u2"),
    ]
)
cupti_memcpy = RecordLayout(
    [
        ("start_ns", "<u8"),
        ("end_ns", "<u8"),
        ("bytes", "<u8"),
        ("graph_node", "<u8"),
        ("correlation", "<u4"),
        ("device", "<u4"),
        ("context", "<u4"),
        ("stream", "<u4"),
        ("graph", "<u4"),
        ("copy_kind", "u1"),
        ("source_kind", "u1"),
        ("destination_kind", "u1"),
        ("flags", "u1"),
        ("source_device", "<u4"),
        ("destination_device", "<u4"),
    ]
)
cupti_memset = RecordLayout(
    [
        ("start_ns", "<u8"),
        ("end_ns", "<u8"),
        ("bytes", "<u8"),
        ("graph_node", "<u8"),
        ("correlation", "<u4"),
        ("device", "<u4"),
        ("context", "<u4"),
        ("stream", "<u4"),
        ("graph", "<u4"),
        ("value", "<u4"),
        ("memory_kind", "<u2"),
        ("flags", "<u2"),
        ("reserved", "<u4"),
    ]
)
cupti_api = RecordLayout(
    [
        ("start_ns", "<u8"),
        ("end_ns", "<u8"),
        ("correlation", "<u4"),
        ("tid", "<u4"),
        ("function", "<u4"),
        ("result", "<i4"),
    ]
)
cupti_sync = RecordLayout(
    [
        ("start_ns", "<u8"),
        ("end_ns", "<u8"),
        ("correlation", "<u4"),
        ("context", "<u4"),
        ("stream", "<u4"),
        ("event", "<u4"),
        ("type", "<u4"),
        ("reserved", "<u4"),
    ]
)
cupti_overhead = RecordLayout(
    [
        ("start_ns", "<u8"),
        ("end_ns", "<u8"),
        ("kind", "<u4"),
        ("object_kind", "<u4"),
        ("tid", "<u4"),
        ("correlation", "<u4"),
    ]
)
cupti_external = RecordLayout([("external", "<u8"), ("correlation", "<u4"), ("kind", "<u4")])
cupti_stream = RecordLayout([("context", "<u4"), ("stream", "<u4"), ("priority", "<i4"), ("flag", "<u4")])
cupti_context = RecordLayout([("context", "<u4"), ("device", "<u4"), ("api", "<u4"), ("null_stream", "<u4")])
cupti_device = RecordLayout(
    [
        ("memory_bytes", "<u8"),
        ("memory_bandwidth_kbps", "<u8"),
        ("device", "<u4"),
        ("name", "<u4"),
        ("compute_major", "<u4"),
        ("compute_minor", "<u4"),
        ("multiprocessors", "<u4"),
        ("clock_khz", "<u4"),
        ("threads_per_warp", "<u4"),
        ("max_warps_per_sm", "<u4"),
        ("max_blocks_per_sm", "<u4"),
        ("max_shared_per_sm_bytes", "<u4"),
        ("max_registers_per_sm", "<u4"),
        ("max_registers_per_block", "<u4"),
        ("max_shared_per_block_bytes", "<u4"),
        ("max_threads_per_block", "<u4"),
        ("l2_bytes", "<u4"),
        ("copy_engines", "<u4"),
        ("uuid", "u1", (16,)),
    ]
)
cupti_graph = RecordLayout(
    [
        ("start_ns", "<u8"),
        ("end_ns", "<u8"),
        ("correlation", "<u4"),
        ("device", "<u4"),
        ("context", "<u4"),
        ("stream", "<u4"),
        ("graph", "<u4"),
        ("reserved", "<u4"),
    ]
)
cupti_memory = RecordLayout(
    [
        ("time_ns", "<u8"),
        ("address", "<u8"),
        ("bytes", "<u8"),
        ("correlation", "<u4"),
        ("device", "<u4"),
        ("context", "<u4"),
        ("stream", "<u4"),
        ("operation", "<u4"),
        ("memory_kind", "<u4"),
        ("name", "<u4"),
        ("reserved", "<u4"),
    ]
)
cupti_function = RecordLayout(
    [("is_driver", "<u4"), ("function", "<u4"), ("name", "<u4"), ("reserved", "<u4")]
)
cupti_session = RecordLayout(
    [
        ("time_ns", "<u8"),
        ("clock", "<u4"),
        ("cupti_version", "<u4"),
        ("driver_version", "<u4"),
        ("per_graph", "<u4"),
    ]
)
cupti_dropped = RecordLayout([("time_ns", "<u8"), ("count", "<u8"), ("kind", "<u4"), ("cause", "<u4")])
cupti_name = RecordLayout([("what", "<u4"), ("context", "<u4"), ("id", "<u4"), ("name", "<u4")])
cupti_gap = RecordLayout([("start_ns", "<u8"), ("stop_ns", "<u8")])
