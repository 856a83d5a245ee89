"""The tree of modules: of what the hooks record, and of what PyTorch's profiler writes."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from tests.unit.analysis.analysis_tools import Program, rows_of

import warpline
from warpline.analysis.framework.registry import compute_report
from warpline.analysis.framework.report import NotRecorded
from warpline.analysis.framework.selection import View
from warpline.analysis.steps.module_flow import module_flow
from warpline.model.track_factory import TrackSpec
from warpline.storage import Capture, CaptureBuilder, open_capture


def test_modules_are_listed_below_their_callers(tmp_path: Path) -> None:
    with CaptureBuilder(tmp_path / "x.h5") as builder:
        track = builder.add_track(
            TrackSpec(uri="process/1.1/thread/1.1/modules", title="Modules", role="modules")
        )
        names = builder.strings(["model", "model.a", "model.a.act", "model.b", "model", "model.a"])
        classes = builder.strings(["Net", "Linear", "ReLU", "Linear", "Net", "Linear"])
        builder.add_events(
            track,
            "module",
            np.array([0, 10, 20, 60, 200, 210]),
            np.array([100, 40, 5, 30, 100, 50]),
            names,
            attributes={"class_name": classes},
        )
        builder.finish()
    with open_capture(tmp_path / "x.h5") as capture:
        rows = rows_of(capture, "modules")
    assert [(row["depth"], row["name"], row["class_name"], row["count"]) for row in rows] == [
        (0, "model", "Net", 2),
        (1, "model.a", "Linear", 2),
        (2, "model.a.act", "ReLU", 1),
        (1, "model.b", "Linear", 1),
    ]
    assert [row["total_ns"] for row in rows] == [200, 90, 5, 30]
    assert [row["self_ns"] for row in rows] == [80, 85, 5, 30]
    assert sum(row["self_ratio"] for row in rows) == pytest.approx(1.0)
    assert [row["ratio"] for row in rows] == pytest.approx([1.0, 0.45, 5 / 90, 0.15])


def test_the_report_without_modules_says_how_to_record_them(training: Capture) -> None:
    report = compute_report(training, "modules")
    assert isinstance(report.result, NotRecorded)
    assert "--trace steps" in report.result.remedy


def test_modules_of_a_trace_have_the_recorded_times(data_dir: Path, tmp_path: Path) -> None:
    trace = (
        data_dir / "torch/AMD-AGI+TraceLens/tests/traces/h100/gaunernst_bert-small-uncased__1016001.json.gz"
    )
    if not trace.exists():
        pytest.skip("the trace is not there")
    with gzip.open(trace) as file:
        events = json.load(file)["traceEvents"]
    calls: Counter[str] = Counter()
    times: Counter[str] = Counter()
    for event in events:
        if event.get("name", "").startswith("nn.Module: ") and event.get("ph") == "X":
            name = event["name"].removeprefix("nn.Module: ")
            calls[name] += 1
            times[name] += round(event["dur"] * 1000)
    with warpline.open(trace) as capture:
        table = capture.report("modules").to_pandas()
    found = table.groupby("name").agg({"count": "sum", "total_ns": "sum"})
    assert found["count"].to_dict() == dict(calls)
    assert found.total_ns.to_dict() == pytest.approx(dict(times), abs=2)
    assert table.class_name[table.name == "BertLMHeadModel_0"].tolist() == ["BertLMHeadModel"]
    # The outermost module launched what all of them did.
    assert table.gpu_self_ns.sum() == table.gpu_total_ns[table.name == "BertLMHeadModel_0"].sum()


def test_backward_time_of_a_module_is_that_of_its_operators(tmp_path: Path) -> None:
    with CaptureBuilder(tmp_path / "x.h5") as builder:
        thread = builder.add_thread(builder.add_process(1), 1)
        modules, operators = (
            builder.add_track(
                TrackSpec(uri=f"process/1.1/thread/1.1/{path}", title=path, role=path), thread=thread
            )
            for path in ("modules", "operators")
        )
        builder.add_events(
            modules, "module", np.array([0, 10]), np.array([50, 20]), builder.strings(["net", "net.a"])
        )
        forward = builder.add_events(
            operators, "operator", np.array([12, 40, 60]), np.full(3, 5), builder.string("aten::mul")
        )
        nodes = builder.add_events(
            operators,
            "operator",
            np.array([100, 120, 140]),
            np.array([7, 11, 13]),
            builder.string("MulBackward0"),
        )
        builder.add_links("forward_backward", forward + np.arange(3), nodes + np.arange(3))
        builder.finish()
    with open_capture(tmp_path / "x.h5") as capture:
        rows = {row["name"]: row for row in rows_of(capture, "modules")}
    assert (rows["net"]["backward_ns"], rows["net"]["backward_self_ns"]) == (18, 11)
    assert (rows["net.a"]["backward_ns"], rows["net.a"]["backward_self_ns"]) == (7, 7)


def test_flops_by_operator_and_shapes(tmp_path: Path) -> None:
    program = Program(tmp_path / "x.h5")
    for start, shapes, flops in ((0, "[4, 8]", 100), (50, "[4, 8]", 300), (90, "[2, 8]", 600)):
        given = {"input_shapes": shapes, "flops": flops}
        program.host("operators", "operator", start, start + 20, "aten::mm", **given)
    program.host("operators", "operator", 200, 300, "aten::view")
    with program.finish() as capture:
        rows = rows_of(capture, "operator_flops")
    assert [(row["input_shapes"], row["count"], row["flops"]) for row in rows] == [
        ("[2, 8]", 1, 600),
        ("[4, 8]", 2, 400),
    ]
    assert [row["gflops_per_second"] for row in rows] == [30.0, 10.0]
    assert [row["ratio"] for row in rows] == [0.6, 0.4]


def test_the_report_without_flops_says_how_to_record_them(training: Capture) -> None:
    report = compute_report(training, "operator_flops")
    assert isinstance(report.result, NotRecorded)
    assert "--torch-shapes" in report.result.remedy


def test_module_flow_counts_consecutive_calls(tmp_path: Path) -> None:
    with CaptureBuilder(tmp_path / "x.h5") as builder:
        track = builder.add_track(
            TrackSpec(uri="process/1.1/thread/1.1/modules", title="Modules", role="modules")
        )
        calls = [
            (0, 100, "net"),
            (10, 5, "a"),
            (20, 5, "b"),
            (30, 5, "a"),
            (31, 2, "in a"),
            (200, 50, "loss"),
        ]
        calls += [(300, 100, "net"), (310, 5, "a"), (320, 5, "b")]
        start, length, name = zip(*calls, strict=True)
        builder.add_events(track, "module", np.array(start), np.array(length), builder.strings(name))
        builder.finish()
    with open_capture(tmp_path / "x.h5") as capture:
        flow = module_flow(View(capture))
        columns = (capture.strings.get(ids.tolist()) for ids in (flow.first, flow.second))
        pairs = dict(zip(zip(*columns, strict=True), flow.count.tolist(), strict=True))
        net = int(flow.caller.max())
        inside = [(capture.strings[a], capture.strings[b], count) for a, b, count in flow.inside(net)]
    assert pairs == {("a", "b"): 2, ("b", "a"): 1, ("net", "loss"): 1, ("loss", "net"): 1}
    assert inside == [("a", "b", 2), ("b", "a", 1)]
