"""Small databases and documents as ROCm's profilers write them."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

_ROCPD = {
    "rocpd_string": ("id guid string",
                     [(1, "g", "hipLaunchKernel"), (2, "g", "HIP_RUNTIME_API"), (3, "g", "roctxRange"),
                      (4, "g", "MARKER_CORE_API"), (5, "g", "MEMORY_COPY_HOST_TO_DEVICE")]),
    "rocpd_info_process": ("id guid pid command", [(1, "g", 71, "/usr/bin/train --fast")]),
    "rocpd_info_thread": ("id guid pid tid name", [(1, "g", 1, 72, "worker")]),
    "rocpd_info_agent": ("id guid type type_index logical_index name product_name",
                         [(1, "g", "CPU", 0, 0, "EPYC", None), (2, "g", "GPU", 0, 1, "gfx942", "MI300X")]),
    "rocpd_info_kernel_symbol": ("id guid kernel_name display_name arch_vgpr_count",
                                 [(1, "g", "_Z4gemm", "gemm()", 64)]),
    "rocpd_info_pmc": ("id guid agent_id name units", [(1, "g", 2, "SQ_WAVES", ""), (2, "g", 2, "Power", "W")]),
    "rocpd_event": ("id guid category_id stack_id",
                    [(1, "g", 2, 9), (2, "g", None, 9), (3, "g", 4, 8), (4, "g", None, 7)]),
    "rocpd_pmc_event": ("id guid event_id pmc_id value",
                        [(1, "g", 2, 1, 12.0), (2, "g", 2, 1, 3.0), (3, "g", 4, 2, 450.5)]),
    "rocpd_region": ("id guid pid tid start end name_id event_id extdata",
                     [(1, "g", 1, 1, 100, 150, 1, 1, "{}"), (2, "g", 1, 1, 90, 300, 3, 3, '{"message":"step"}')]),
    "rocpd_kernel_dispatch": (
        """id guid pid agent_id kernel_id queue_id stream_id start end group_segment_size
           workgroup_size_x workgroup_size_y workgroup_size_z grid_size_x grid_size_y grid_size_z event_id""",
        [(1, "g", 1, 2, 1, 3, 4, 200, 260, 512, 64, 1, 1, 1000, 1, 1, 2)],
    ),
    "rocpd_memory_copy": ("id guid pid start end name_id dst_agent_id src_agent_id size queue_id stream_id event_id",
                          [(1, "g", 1, 160, 190, 5, 2, 1, 4096, 3, None, 4)]),
    "rocpd_memory_allocate": ("id guid pid tid agent_id type level start end address size event_id",
                              [(1, "g", 1, 1, 2, "ALLOC", "REAL", 95, 96, 140000, 8192, 1)]),
    "rocpd_sample": ("id guid track_id timestamp event_id", [(1, "g", 1, 210, 4)]),
}  # fmt: skip


def rocpd_file(path: Path, tables: dict[str, Any] = _ROCPD) -> Path:
    """A rocpd database of one call, its kernel, a marker, a copy, an allocation and counters."""
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA page_size = 512")
        for name, (columns, rows) in tables.items():
            quoted = ", ".join(f'"{column}"' for column in columns.split())
            database.execute(f"CREATE TABLE {name} ({quoted})")
            if rows:
                database.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(rows[0]))})", rows)
        database.commit()
    return path


def rpd_file(path: Path) -> Path:
    """A database of rocmProfileData: a launch with its kernel, a marker, a clock."""
    return rocpd_file(path, {
        "rocpd_string": ("id string", [(1, ""), (2, "hipLaunchKernel"), (3, "gemm"), (4, "KernelExecution"),
                                       (5, "UserMarker"), (6, "step")]),
        "rocpd_api": ("id pid tid start end apiName_id args_id", [(1, 7, 8, 100, 120, 2, 1), (2, 7, 8, 90, 300, 5, 6)]),
        "rocpd_op": ("id gpuId queueId start end description_id opType_id", [(1, 0, 2, 150, 200, 3, 4)]),
        "rocpd_api_ops": ("id api_id op_id", [(1, 1, 1)]),
        "rocpd_kernelapi": ("api_ptr_id gridX gridY gridZ workgroupX workgroupY workgroupZ groupSegmentSize",
                            [(1, 4, 1, 1, 64, 1, 1, 256)]),
        "rocpd_copyapi": ("api_ptr_id size", []),
        "rocpd_monitor": ("id deviceType deviceId monitorType start value", [(1, "gpu", 0, "sclk", 90, "1700")]),
    })  # fmt: skip


def rocprofv3_document() -> dict[str, Any]:
    """JSON output of rocprofv3: a call, its kernel, a copy, a marker, an allocation."""
    times = {"start_timestamp": 100, "end_timestamp": 150, "thread_id": 72, "correlation_id": {"internal": 9}}
    names = [
        {
            "kind": "HIP",
            "operations": ["hipLaunchKernel", "MEMORY_COPY_HOST_TO_DEVICE", "MEMORY_ALLOCATION_FREE"],
        }
    ]
    shape = {"workgroup_size": {"x": 64, "y": 1, "z": 1}, "grid_size": {"x": 1000, "y": 1, "z": 1}}
    dispatch = {
        "agent_id": {"handle": 5},
        "queue_id": {"handle": 3},
        "kernel_id": 1,
        "group_segment_size": 512,
        **shape,
    }
    return {"rocprofiler-sdk-tool": [{
        "metadata": {"pid": 71, "command": ["/usr/bin/train"]},
        "agents": [{"id": {"handle": 5}, "type": 2, "logical_node_type_id": 0, "product_name": "MI300X"}],
        "strings": {"buffer_records": names, "marker_api": [{"key": 8, "value": "step"}]},
        "kernel_symbols": [{"kernel_id": 1, "formatted_kernel_name": "gemm()", "arch_vgpr_count": 64}],
        "callback_records": {"counter_collection": [{"records": []}]},
        "buffer_records": {
            "hip_api": [times],
            "marker_api": [{**times, "start_timestamp": 90, "end_timestamp": 300, "correlation_id": {"internal": 8}}],
            "kernel_dispatch": [{**times, "start_timestamp": 200, "end_timestamp": 260, "dispatch_info": dispatch}],
            "memory_copy": [{**times, "operation": 1, "bytes": 4096, "dst_agent_id": {"handle": 5},
                             "correlation_id": {"internal": 7}}],
            "memory_allocation": [{**times, "operation": 2, "allocation_size": 8192, "address": 140000}],
            "scratch_memory": [times],
        },
    }]}  # fmt: skip


def rocprofv3_file(path: Path) -> Path:
    """The document as a file."""
    path.write_text(json.dumps(rocprofv3_document()))
    return path


def rocprof_v1_file(path: Path) -> Path:
    """A database of rocprof: a launch with its kernel, a copy, a marker."""
    return rocpd_file(path, {
        "HIP": ("BeginNs EndNs pid tid Name args Index proc-id",
                [(100, 150, 2, 72, "hipLaunchKernel", "( a )", 9, 71)]),
        "ROCTX": ("BeginNs EndNs pid tid Name args Index proc-id", [(90, 300, 1, 72, "range", "step", 1, 71)]),
        "OPS": ("BeginNs EndNs dev-id queue-id Name pid tid Index proc-id",
                [(200, 260, 0, 3, "gemm()", 6, 1, 9, 71), (160, 190, 0, 3, "CopyHostToDevice", 6, 1, 8, 71)]),
    })  # fmt: skip


def rocprof_csv_files(folder: Path) -> Path:
    """CSV output of rocprofv3: calls, markers, kernels and copies of process 71; returns the kernels."""
    call = '"Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp"'
    (folder / "71_hip_api_trace.csv").write_text(
        f'{call}\n"HIP_RUNTIME_API","hipLaunchKernel",71,72,9,100,150\n'
    )
    (folder / "71_marker_api_trace.csv").write_text(f'{call}\n"MARKER_CORE_API","step",71,72,8,90,300\n')
    (folder / "71_memory_copy_trace.csv").write_text(
        '"Kind","Direction","Source_Agent_Id","Destination_Agent_Id","Correlation_Id","Start_Timestamp","End_Timestamp"\n'
        '"MEMORY_COPY","MEMORY_COPY_HOST_TO_DEVICE","Agent 0","Agent 4",7,160,190\n'
    )
    kernels = folder / "71_kernel_trace.csv"
    kernels.write_text(
        '"Kind","Agent_Id","Queue_Id","Stream_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp",'
        '"LDS_Block_Size","VGPR_Count","Workgroup_Size_X","Workgroup_Size_Y","Workgroup_Size_Z","Grid_Size_X",'
        '"Grid_Size_Y","Grid_Size_Z"\n'
        '"KERNEL_DISPATCH","Agent 4",3,0,"gemm(float*, int)",9,200,260,512,64,64,1,1,1000,1,1\n'
    )
    return kernels
