"""Paddle profiles: JSON, and the protobuf file of the same run."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.interchange.import_tools import (
    attributes,
    count,
    e,
    imported,
    links,
    nesting,
    rows,
    skipped,
    text_file,
    trace_file,
    x,
)

from warpline.interchange import detect
from warpline.interchange.paddle.columns import device_of_place, plain_name
from warpline.model import ImportFormatError
from warpline.storage import Capture

THREAD = "process/5.1/thread/6.1"


def host(category: str, name: str, ts: float, dur: float, side: str = "C++", **args: Any) -> dict[str, Any]:
    return x(f"{name}[{dur:.3f} us]", ts, dur, pid=5, tid=f"6({side})", cat=category, args=args)


def paddle_trace(tmp_path: Path, events: list[Any], **header: Any) -> Capture:
    path = trace_file(tmp_path, [*events, {}], **{"schemaVersion": "1.0.2", "span_indx": "0", **header})
    assert detect(path).name == "paddle"
    return imported(tmp_path, path)


def test_types_become_kinds_and_keep_their_name(tmp_path: Path) -> None:
    events = [
        host("ProfileStep", "ProfileStep#4", 0, 100, "Python"),
        host("Dataloader", "loader", 1, 10, "Python"),
        host("Forward", "LeNet", 12, 30, "Python"),
        host("Operator", "conv2d dygraph", 13, 20, input_shapes={"X": [[1, 2]]}, callstack=""),
        host("OperatorInner", "conv2d infer_meta", 14, 3),
        host("DygraphKernelLaunch", "conv2d kernel launch", 18, 9),
        host("PythonUserDefined", "mine", 2, 60, "Python"),
    ]
    capture = paddle_trace(
        tmp_path, events, ExtraInfo="{'6': 'MainThread', 'Process Cpu Utilization': '0.925000'}"
    )
    assert rows(capture) == [
        ("ProfileStep#4", 0, 100_000, f"{THREAD}/phases"),
        ("loader", 1000, 10_000, f"{THREAD}/phases"),
        ("mine", 2000, 60_000, f"{THREAD}/ranges"),
        ("LeNet", 12_000, 30_000, f"{THREAD}/phases"),
        ("conv2d dygraph", 13_000, 20_000, f"{THREAD}/operators"),
        ("conv2d infer_meta", 14_000, 3000, f"{THREAD}/operators"),
        ("conv2d kernel launch", 18_000, 9000, f"{THREAD}/operators"),
    ]
    assert attributes(capture, "ProfileStep#4")["step"] == 4
    assert attributes(capture, "LeNet")["category"] == "Forward"
    assert attributes(capture, "conv2d infer_meta")["category"] == "OperatorInner"
    assert json.loads(attributes(capture, "conv2d dygraph")["input_shapes"]) == {"X": [[1, 2]]}
    assert [(thread.tid, thread.name) for thread in capture.threads] == [(6, "MainThread")]
    assert capture.meta["cpu_process_utilization"] == 92.5
    assert skipped(capture) == {}


def test_gpu_work_is_linked_by_the_correlation_id(tmp_path: Path) -> None:
    events = [
        host("CudaRuntime", "cudaLaunchKernel", 1, 2, "C++", **{"correlation id": 9}),
        x("k[0.004 ms]", 5, 4, pid=0, tid=7, cat="Kernel", args={
            "device": 0, "context": 1, "stream": 7, "correlation id": 9, "grid": [1, 2, 3], "block": [4, 5, 6],
            "theoretical achieved occupancy %": 50.0}),
        x("MEMSET[0.001 ms]", 12, 1, pid=0, tid=7, cat="Memset",
          args={"device": 0, "context": 1, "stream": 7, "correlation id": 9, "bytes": 64, "value": 0}),
        e("s", "launch", 2, pid=5, tid="6(C++)", id=9, cat="async"),
        e("f", "launch", 7, pid=0, tid=7, id=9, cat="async", bp="e"),
    ]  # fmt: skip
    capture = paddle_trace(tmp_path, events)
    assert rows(capture, "kernel") == [("k", 5000, 4000, "gpu/0/process/5.1/context/1/stream/7")]
    assert links(capture, "launch") == {("cudaLaunchKernel", "k"), ("cudaLaunchKernel", "MEMSET")}
    assert (attributes(capture, "k")["grid_y"], attributes(capture, "k")["occupancy_ratio"]) == (2, 0.5)
    assert (attributes(capture, "MEMSET")["bytes"], attributes(capture, "MEMSET")["value"]) == (64, 0)


def test_starts_get_their_nanoseconds_back(tmp_path: Path) -> None:
    # True starts are 100.700, 100.900 and 103.100 us; the trace writes whole microseconds and relative times.
    events = [
        host("Operator", "outer", 100, 3.2, start_time="0.000 us"),
        host("OperatorInner", "first", 100, 2.0, start_time="0.200 us"),
        host("OperatorInner", "second", 103, 0.7, start_time="2.400 us"),
    ]
    capture = paddle_trace(tmp_path, events)
    starts = {name: start for name, start, _duration, _uri in rows(capture)}
    assert starts["first"] - starts["outer"] == 200
    assert starts["second"] - starts["outer"] == 2400
    assert nesting(capture, f"{THREAD}/operators") == [(0, "outer"), (1, "first"), (1, "second")]


@pytest.mark.parametrize(
    ("name", "plain"),
    [("conv2d[12.3 us]", "conv2d"), ("a[1][0.004 ms]", "a[1]"), ("list[int]", "list[int]"), ("x[3 s]", "x")],
)
def test_durations_are_removed_from_names(name: str, plain: str) -> None:
    assert plain_name(name) == plain


def test_paddle_places_become_device_names() -> None:
    assert [device_of_place(f"Place({place})") for place in ("cpu", "gpu:1", "gpu_pinned")] == [
        "CPU",
        "GPU 1",
        "gpu_pinned",
    ]


def wanted_categories(data_dir: Path) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads((data_dir / "expected_info.json").read_text())
    return {name: values for name, values in found.items() if name.startswith("paddle/")}


def counted_categories(capture: Capture) -> dict[str, int]:
    found: dict[str, int] = {}
    for kind in ("phase", "operator", "range"):
        values, valid = capture.kinds[kind].column("category")
        for text in capture.strings.get(np.asarray(values)[np.asarray(valid, bool)].tolist()):
            found[text] = found.get(text, 0) + 1
    return found


def test_counts_by_type_are_those_of_the_independent_reader(data_dir: Path, tmp_path: Path) -> None:
    for name, wanted in wanted_categories(data_dir).items():
        protobuf = data_dir / (re.sub(r"\.paddle_trace\.json(\.gz)?$", ".pb", name))
        for path in (data_dir / name, protobuf):
            with imported(tmp_path, path) as capture:
                found = counted_categories(capture)
                # The protobuf file holds one event more than the JSON: its root, which is no event of the program.
                assert found == wanted["complete_events_by_category"], path.name
                assert count(capture, "memory") == wanted["instants"], path.name
                assert capture.skipped == (), path.name


@pytest.mark.parametrize("run", ["paddle_lenet_cpu_b8s4", "paddle_mobilenetv2_cpu_mem"])
def test_both_files_of_a_run_hold_the_same_events(data_dir: Path, tmp_path: Path, run: str) -> None:
    folder = data_dir / "paddle"
    trace = next(folder.glob(f"{run}.paddle_trace.json*"))
    with imported(tmp_path, trace) as capture:
        from_json = sorted((name, start, duration) for name, start, duration, _uri in rows(capture))
        memory_json = (
            [row[:1] + row[2:] for row in rows(capture, "memory")] if count(capture, "memory") else []
        )
    with imported(tmp_path, folder / f"{run}.pb") as capture:
        from_pb = sorted((name, start, duration) for name, start, duration, _uri in rows(capture))
        memory_pb = [row[:1] + row[2:] for row in rows(capture, "memory")] if count(capture, "memory") else []
        assert not [text for text in capture.warnings if "microsecond" in text]
    assert sorted(memory_json) == sorted(memory_pb)
    assert [row[0] for row in from_json] == [row[0] for row in from_pb]
    for (name, start, duration), (_name, exact_start, exact_duration) in zip(from_json, from_pb, strict=True):
        # The JSON's relative times are floats of 32 bits; its memory instants carry whole microseconds only.
        assert abs(start - exact_start) <= (1000 if name in ("allocation", "release") else 64), name
        assert abs(duration - exact_duration) <= 16, name


def test_step_times_are_those_of_the_summary(data_dir: Path, tmp_path: Path) -> None:
    summary = (data_dir / "paddle/paddle_lenet_cpu_b8s4.summary.txt").read_text()
    steps, total_ms = re.search(r"^ProfileStep +(\d+) +([\d.]+)", summary, re.MULTILINE).groups()  # type: ignore[union-attr]  # it is there
    with imported(tmp_path, data_dir / "paddle/paddle_lenet_cpu_b8s4.pb") as capture:
        found = [
            duration
            for name, _start, duration, _uri in rows(capture, "phase")
            if name.startswith("ProfileStep#")
        ]
    assert len(found) == int(steps)
    assert sum(found) / 1e6 == pytest.approx(float(total_ms), abs=0.006)


def test_a_truncated_protobuf_file_keeps_its_beginning(data_dir: Path, tmp_path: Path) -> None:
    content = (data_dir / "paddle/paddle_lenet_cpu_b8s4.pb").read_bytes()
    with imported(tmp_path, data_dir / "paddle/paddle_lenet_cpu_b8s4.pb") as capture:
        whole = len(capture.events)
    with pytest.raises(ImportFormatError, match="export_chrome_tracing"):
        # The file is one message of one thread: cut inside it, no event is complete by the message's own rules.
        imported(tmp_path, text_file(tmp_path, content[:40], "short.pb"))
    damaged = bytearray(content)
    damaged[len(content) // 2] ^= 0x55
    capture = imported(tmp_path, text_file(tmp_path, bytes(damaged), "damaged.pb"))
    assert 0 < len(capture.events) <= whole
