"""PyTorch profiler events become the right kinds, tracks, attributes and links."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.interchange.import_tools import (
    attributes,
    e,
    imported,
    links,
    rows,
    skipped,
    trace_file,
    x,
)

from warpline.analysis.framework.registry import compute_report
from warpline.analysis.framework.report import NotRecorded
from warpline.interchange import detect
from warpline.interchange.framework.copies import copy_codes
from warpline.interchange.framework.detection import HEAD_BYTES
from warpline.model import COPY_KINDS, MEMORY_KINDS, ImportFormatError
from warpline.storage import Capture

PROCESS, THREAD = "process/71.1", "process/71.1/thread/72.1"
GPU = "gpu/0/process/71.1/context/1"


def cpu(category: str, name: str, ts: float, dur: float, **args: Any) -> dict[str, Any]:
    return x(name, ts, dur, pid=71, tid=72, cat=category, args=args)


def gpu(
    category: str, name: str, ts: float, dur: float, *, device: int = 0, stream: int = 7, **args: Any
) -> dict[str, Any]:
    return x(
        name, ts, dur, pid=device, tid=stream, cat=category,
        args={"device": device, "context": 1, "stream": stream, **args},
    )  # fmt: skip


def torch_trace(tmp_path: Path, events: list[Any], **header: Any) -> Capture:
    path = trace_file(tmp_path, events, **{"schemaVersion": 1, "deviceProperties": [], **header})
    assert detect(path).name == "torch"
    return imported(tmp_path, path)


def test_every_category_gets_its_kind_and_track(tmp_path: Path) -> None:
    events = [
        cpu("cpu_op", "aten::add", 0, 50),
        cpu("cuda_runtime", "cudaLaunchKernel", 10, 5, cbid=211, correlation=5, **{"External id": 9}),
        cpu("cuda_driver", "cuLaunchKernel", 16, 2, cbid=307, correlation=6),
        cpu("user_annotation", "my range", 1, 40),
        cpu("user_annotation", "ProfilerStep#12", 0, 90),
        cpu("python_function", "train.py(3): step", 0, 80, **{"Python id": 4, "Python parent id": None}),
        cpu("overhead", "Buffer Flush", 60, 1) | {"pid": -1, "tid": 0},
        gpu("kernel", "void k<int>(int)", 20, 8, correlation=5),
        gpu("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 30, 4, correlation=6, bytes=4096),
        gpu("gpu_memset", "Memset (Device)", 35, 1, bytes=16),
        gpu("cuda_sync", "Stream Sync", 36, 2, cuda_sync_kind="Stream Sync", correlation=9),
        gpu("gpu_user_annotation", "my range", 20, 16),
        e("i", "[memory]", 3, pid=71, tid=72, cat="cpu_instant_event", s="t",
          args={"Device Type": 1, "Device Id": 0, "Bytes": 512, "Addr": 64, "Total Allocated": 1024,
                "Total Reserved": 2048}),
        e("i", "[memory]", 4, pid=71, tid=72, cat="cpu_instant_event", s="t",
          args={"Device Type": 0, "Device Id": -1, "Bytes": -512, "Addr": 64}),
    ]  # fmt: skip
    capture = torch_trace(tmp_path, events)
    assert rows(capture) == [
        ("ProfilerStep#12", 0, 90000, f"{THREAD}/phases"),
        ("train.py(3): step", 0, 80000, f"{THREAD}/python"),
        ("aten::add", 0, 50000, f"{THREAD}/operators"),
        ("my range", 1000, 40000, f"{THREAD}/ranges"),
        ("allocation", 3000, 0, f"{THREAD}/memory"),
        ("release", 4000, 0, f"{THREAD}/memory"),
        ("cudaLaunchKernel", 10000, 5000, f"{THREAD}/api"),
        ("cuLaunchKernel", 16000, 2000, f"{THREAD}/api"),
        ("my range", 20000, 16000, f"{GPU}/annotations"),
        ("void k<int>(int)", 20000, 8000, f"{GPU}/stream/7"),
        ("Memcpy HtoD (Pinned -> Device)", 30000, 4000, f"{GPU}/stream/7"),
        ("Memset (Device)", 35000, 1000, f"{GPU}/stream/7"),
        ("Stream Sync", 36000, 2000, f"{GPU}/sync"),
        ("Buffer Flush", 60000, 1000, "overhead"),
    ]
    assert [thread.tid for thread in capture.threads] == [72]
    assert links(capture, "launch") == {
        ("cudaLaunchKernel", "void k<int>(int)"),
        ("cuLaunchKernel", "Memcpy HtoD (Pinned -> Device)"),
    }
    assert attributes(capture, "cudaLaunchKernel")["external_id"] == 9
    assert attributes(capture, "cudaLaunchKernel").get("payload") is None
    assert attributes(capture, "cuLaunchKernel")["external_id"] is None
    assert attributes(capture, "ProfilerStep#12")["step"] == 12
    assert attributes(capture, "train.py(3): step")["python_id"] == 4
    assert attributes(capture, "train.py(3): step")["python_parent_id"] is None
    copy = attributes(capture, "Memcpy HtoD (Pinned -> Device)")
    assert (copy["bytes"], COPY_KINDS[copy["copy_kind"]]) == (4096, "host to device")
    assert (MEMORY_KINDS[copy["src_kind"]], MEMORY_KINDS[copy["dst_kind"]]) == ("pinned", "device")
    assert attributes(capture, "Stream Sync")["sync_type"] == 3
    allocation, release = attributes(capture, "allocation"), attributes(capture, "release")
    assert (allocation["operation"], allocation["bytes"], allocation["device"]) == (0, 512, "GPU 0")
    assert (release["operation"], release["bytes"], release["device"]) == (1, 512, "CPU")
    assert (allocation["total_allocated_bytes"], release["total_allocated_bytes"]) == (1024, None)
    assert {counter.name: counter.values.tolist() for counter in capture.counters} == {
        "Allocated memory GPU 0": [1024.0],
        "Reserved memory GPU 0": [2048.0],
    }


def test_operators_keep_shapes_sequence_and_stack(tmp_path: Path) -> None:
    capture = torch_trace(
        tmp_path,
        [
            cpu("cpu_op", "aten::mm", 0, 5, **{
                "External id": 17, "Sequence number": 3, "Fwd thread id": 1, "Input Dims": [[2, 3], []],
                "Input type": ["float", "Scalar"], "Concrete Inputs": ["", "1"],
                "Call stack": "inner.py(1): f;outer.py(2): g",
            }),
            cpu("cpu_op", "aten::plain", 9, 1, **{"Sequence number": -1}),
        ],
    )  # fmt: skip
    found = attributes(capture, "aten::mm")
    assert json.loads(found["input_shapes"]) == [[2, 3], []]
    assert json.loads(found["input_types"]) == ["float", "Scalar"]
    assert json.loads(found["arguments"]) == ["", "1"]
    assert (found["sequence_number"], found["external_id"], found["forward_thread"]) == (3, 17, 1)
    assert capture.stack_frames(found["stack"]) == ["inner.py(1): f", "outer.py(2): g"]
    assert set(attributes(capture, "aten::plain").values()) == {None}


def test_kernels_keep_cupti_values_and_missing_is_not_zero(tmp_path: Path) -> None:
    told: dict[str, Any] = {
        "registers per thread": 40, "shared memory": 1024, "blocks per SM": 0.5, "warps per SM": 2.0,
        "est. achieved occupancy %": 25,
    }  # fmt: skip
    capture = torch_trace(
        tmp_path,
        [
            cpu("cpu_op", "op", 0, 1),
            gpu("kernel", "full", 1, 1, correlation=1, queued=0, grid=[8, 4, 2], block=[32, 1, 1], **told),
            gpu("kernel", "bare", 3, 1),
            gpu("kernel", "waited", 5, 1, correlation=2, queued=3),
        ],
    )  # fmt: skip
    # Kineto writes whole microseconds, and 0 where CUPTI was not asked.
    assert attributes(capture, "waited")["queued_ns"] == 3_000
    full = attributes(capture, "full")
    assert [full[name] for name in ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z")] == [
        8,
        4,
        2,
        32,
        1,
        1,
    ]
    assert (full["registers_per_thread"], full["shared_memory_bytes"], full["occupancy_ratio"]) == (
        40,
        1024,
        0.25,
    )
    assert full["queued_ns"] is None
    assert set(attributes(capture, "bare").values()) == {None}
    assert any("1 GPU event has no correlation id" in warning for warning in capture.warnings)


def test_older_spellings_mean_the_same(tmp_path: Path) -> None:
    events = [
        x("ProfilerStep#1", 0, 9, pid=71, tid="72", cat="Operator"),
        x("aten::add", 1, 5, pid=71, tid="72", cat="Operator", args={"external id": 4}),
        x("cudaLaunchKernel", 2, 1, pid=71, tid="72", cat="Runtime", args={"correlation": 5}),
        x(
            "k",
            4,
            1,
            pid=0,
            tid="stream 7",
            cat="Kernel",
            args={"device": 0, "context": 1, "stream": 7, "correlation": 5},
        ),
        x("Memset (Device)", 6, 1, pid=0, tid="stream 7", cat="Memset", args={"correlation": 5}),
        e("i", "[memory]", 3, pid=71, tid=72, s="t", args={"Device Type": 0, "Device Id": -1, "Bytes": 8}),
        e("s", "launch", 2, pid=71, tid=72, id=5, cat="async"),
        e("f", "launch", 4, pid=0, tid="stream 7", id=5, cat="async", bp="e"),
    ]
    capture = torch_trace(tmp_path, events)
    assert rows(capture, "phase") == [("ProfilerStep#1", 0, 9000, f"{THREAD}/phases")]
    assert rows(capture, "kernel", "memset") == [
        ("k", 4000, 1000, f"{GPU}/stream/7"),
        # Its context is that of the stream, which the kernel told.
        ("Memset (Device)", 6000, 1000, f"{GPU}/stream/7"),
    ]
    assert [thread.tid for thread in capture.threads] == [72]
    assert links(capture, "launch") == {("cudaLaunchKernel", "k"), ("cudaLaunchKernel", "Memset (Device)")}
    assert attributes(capture, "aten::add")["external_id"] == 4


def test_rocm_has_no_contexts(tmp_path: Path) -> None:
    capture = torch_trace(
        tmp_path,
        [
            cpu("cuda_runtime", "hipLaunchKernel", 0, 1, cid=63, correlation=5),
            x("k", 3, 1, pid=2, tid=0, cat="kernel", args={"device": 2, "stream": 0, "correlation": 5, "kind": "x"}),
            x("CopyDeviceToHost", 5, 1, pid=2, tid=0, cat="gpu_memcpy", args={"device": 2, "stream": 0, "bytes": 3}),
        ],
        deviceProperties=[{"id": 2, "name": "AMD Instinct MI300X", "numSms": 304}],
    )  # fmt: skip
    assert [row[3] for row in rows(capture, "kernel", "memcpy")] == ["gpu/2/process/71.1/stream/0"] * 2
    assert attributes(capture, "hipLaunchKernel")["callback_id"] == 63
    assert [(device.index, device.name, device.properties) for device in capture.devices] == [
        (2, "AMD Instinct MI300X", (("numSms", 304),))
    ]
    assert capture.track("gpu/2").title == "GPU 2 · AMD Instinct MI300X"


@pytest.mark.parametrize(
    ("name", "direction", "source", "target"),
    [
        ("Memcpy HtoD (Pageable -> Device)", "host to device", "pageable", "device"),
        ("Memcpy DtoH (Device -> Pinned)", "device to host", "device", "pinned"),
        ("Memcpy DtoD (Device -> Device)", "device to device", "device", "device"),
        ("Memcpy PtoP (Device -> Device)", "peer to peer", "device", "device"),
        ("CopyHostToDevice", "host to device", "unknown", "unknown"),
        ("CopyDeviceToDevice", "device to device", "unknown", "unknown"),
        ("something else", "unknown", "unknown", "unknown"),
    ],
)
def test_copies_have_source_and_destination(name: str, direction: str, source: str, target: str) -> None:
    codes = copy_codes(name)
    assert (COPY_KINDS[codes[0]], MEMORY_KINDS[codes[1]], MEMORY_KINDS[codes[2]]) == (
        direction,
        source,
        target,
    )


def test_overlapping_kernels_on_a_stream_are_all_kept(tmp_path: Path) -> None:
    events = [
        cpu("cpu_op", "op", 0, 1),
        *(gpu("kernel", f"k{n}", n, 10, correlation=n + 1) for n in range(5)),
    ]
    capture = torch_trace(tmp_path, events)
    track = capture.track(f"{GPU}/stream/7")
    assert [row[1:3] for row in rows(capture, "kernel")] == [(n * 1000, 10000) for n in range(5)]
    assert len(capture.track_lanes(track.index)) == 5


def test_forward_and_backward_are_linked(tmp_path: Path) -> None:
    events = [
        cpu("cpu_op", "aten::mul", 0, 10),
        cpu("cpu_op", "inner", 2, 3),
        x("MulBackward0", 50, 10, pid=71, tid=99, cat="cpu_op"),
        e("s", "fwdbwd", 0, pid=71, tid=72, id=3, cat="fwdbwd"),
        e("f", "fwdbwd", 50, pid=71, tid=99, id=3, cat="fwdbwd", bp="e"),
    ]
    assert links(torch_trace(tmp_path, events), "forward_backward") == {("aten::mul", "MulBackward0")}


def test_gpu_work_before_the_first_call_gets_its_process(tmp_path: Path) -> None:
    events = [
        gpu("kernel", "k", 5, 1, correlation=8),
        cpu("cuda_runtime", "cudaLaunchKernel", 1, 1, correlation=8),
    ]
    capture = torch_trace(tmp_path, events)
    assert rows(capture, "kernel")[0][3] == f"{GPU}/stream/7"
    assert links(capture, "launch") == {("cudaLaunchKernel", "k")}


def test_an_argument_of_the_wrong_type_loses_only_itself(tmp_path: Path) -> None:
    events = [
        cpu("cuda_runtime", "call", 0, 1, correlation="7", cbid=None),
        gpu("kernel", "k", 2, 1, correlation=7, grid="big", block=[1], **{"registers per thread": 2**80}),
    ]
    capture = torch_trace(tmp_path, events)
    assert links(capture, "launch") == {("call", "k")}
    assert attributes(capture, "k").get("grid_x") is None
    assert skipped(capture) == {"arguments of events": 2}


def test_names_ranks_and_header_are_kept(tmp_path: Path) -> None:
    events = [
        cpu("cpu_op", "op", 0, 1),
        e("M", "process_name", 0, pid=71, tid=0, args={"name": "python3"}),
        e("M", "thread_name", 0, pid=71, tid=72, args={"name": "thread 72 (pt_main_thread)"}),
    ]
    capture = torch_trace(
        tmp_path, events, distributedInfo={"rank": 3, "world_size": 8}, baseTimeNanoseconds=10**18
    )
    assert [(process.name, process.rank) for process in capture.processes] == [("python3", 3)]
    assert [thread.name for thread in capture.threads] == ["pt_main_thread"]
    assert capture.meta["trace_header"]["file"]["distributedInfo"]["world_size"] == 8


@pytest.mark.parametrize("pid", [0, -1, "python"])
def test_launches_are_linked_before_the_process_is_known(tmp_path: Path, pid: int | str) -> None:
    launch = cpu("cuda_runtime", "launch", 1, 5, correlation=7) | {"pid": pid}
    step = cpu("user_annotation", "step", 0, 9, **{"External id": 3}) | {"pid": pid}
    capture = torch_trace(
        tmp_path,
        [
            launch,
            step,
            gpu("kernel", "work", 2, 3, correlation=7),
            gpu("gpu_user_annotation", "step", 2, 4, **{"External id": 3}),
            cpu("cpu_op", "later", 20, 1),
        ],
    )
    assert links(capture, "launch") == {("launch", "work")}
    assert links(capture, "annotation") == {("step", "step")}


def test_states_and_slices_of_other_tools_are_ranges(tmp_path: Path) -> None:
    """Only Warpline's own export names their threads."""
    events = [
        cpu("thread_state", "Running", 0, 5),
        cpu("cpu_slice", "python", 6, 5, cpu=3),
        cpu("cpu_op", "op", 0, 1),
    ]
    capture = torch_trace(tmp_path, events)
    assert [row[0] for row in rows(capture, "range")] == ["Running", "python"]
    events[0]["args"]["tid"] = 72
    events[1]["args"]["core"] = 3
    capture = torch_trace(tmp_path, events)
    assert [(row[0], row[3]) for row in rows(capture, "thread_state", "cpu_slice")] == [
        ("Running", "process/71.1/thread/72.1/state"),
        ("python", "cpu/3"),
    ]


def test_mangled_kernels_are_demangled(tmp_path: Path) -> None:
    capture = torch_trace(tmp_path, [gpu("kernel", "_Z4axpyPfS_f", 1, 2), gpu("kernel", "_Znonsense", 4, 2)])
    assert [row[0] for row in rows(capture)] == ["axpy(float*, float*, float)", "_Znonsense"]


def test_a_trace_without_gpu_events_says_nothing_of_a_gpu(tmp_path: Path) -> None:
    capture = torch_trace(tmp_path, [cpu("cpu_op", "op", 0, 1)])
    assert capture.devices == ()
    assert not [track for track in capture.tracks if track.role == "gpu"]


def test_a_trace_without_events_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ImportFormatError, match="list of events is empty"):
        torch_trace(tmp_path, [])


def test_arrows_may_start_and_end_on_streams(tmp_path: Path) -> None:
    gpu = {"cat": "kernel", "pid": 0, "tid": 7}
    place = {"device": 0, "context": 1, "stream": 7, "correlation": 1}
    arrow = {"cat": "critical_path", "name": "critical path"}
    capture = imported(
        tmp_path,
        trace_file(
            tmp_path,
            [
                e("s", id=1, ts=12, pid=40, tid=41, **arrow),
                e("f", id=1, ts=55, pid=0, tid=7, bp="e", **arrow),
                e("s", id=2, ts=58, pid=0, tid=7, **arrow),
                e("f", id=2, ts=72, pid=0, tid=7, bp="e", **arrow),
                x("aten::mm", 10, 20, pid=40, tid=41, cat="cpu_op"),
                x("first", 50, 10, args=place, **gpu),
                x("second", 70, 10, args={**place, "correlation": 2}, **gpu),
            ],
            schemaVersion=1,
        ),
    )
    assert links(capture, "flow") == {("aten::mm", "first"), ("first", "second")}
    assert not capture.skipped
    assert [thread.tid for thread in capture.threads] == [41]


@pytest.mark.parametrize("before", ["", "x" * (HEAD_BYTES + 1)], ids=["in the head", "past the head"])
def test_mtia_work_is_imported_with_its_launches(tmp_path: Path, before: str) -> None:
    arrow = {"cat": "ac2g", "name": "ac2g"}
    capture = imported(
        tmp_path,
        trace_file(
            tmp_path,
            [
                x("first", 0, 1, pid=40, tid=41, cat="cpu_op", args={"note": before}),
                e("s", id=1, ts=12, pid=40, tid=41, **arrow),
                e("f", id=1, ts=55, pid=3, tid=0, bp="e", **arrow),
                e("s", id=2, ts=58, pid=3, tid=0, **arrow),
                e("f", id=2, ts=72, pid=40, tid=41, bp="e", **arrow),
                x("mtia_launch", 10, 20, pid=40, tid=41, cat="mtia_runtime", args={"correlation": 5}),
                x("wait", 70, 20, pid=40, tid=41, cat="cpu_op"),
                x("pe work", 50, 10, pid=3, tid=0, cat="mtia_ccp_events"),
            ],
            schemaVersion=1,
        ),
    )
    assert links(capture, "launch") == {("mtia_launch", "pe work"), ("pe work", "wait")}
    answer = compute_report(capture, "cuda_gpu_kern_sum").result
    assert isinstance(answer, NotRecorded)
    assert "mtia_ccp_events" in answer.remedy
    assert "--trace" not in answer.remedy
