"""Real PyTorch traces equal what other tools printed for them."""

from __future__ import annotations

import collections
import csv
import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from tests.unit.interchange.import_tools import (
    count,
    imported,
    named,
    text_file,
)

from warpline.interchange import detect
from warpline.interchange.export.exporting import export_capture
from warpline.model import Flag
from warpline.storage import Capture


def traces(data_dir: Path) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = json.loads((data_dir / "expected_info.json").read_text())
    return {name: values for name, values in found.items() if name.startswith("torch/")}


def kernel_table(capture: Capture) -> dict[str, tuple[int, int, int, int]]:
    """Name → calls, total, minimum and maximum in ns."""
    if not count(capture, "kernel"):
        return {}
    chosen = capture.kinds["kernel"].rows
    durations: dict[str, list[int]] = collections.defaultdict(list)
    for name, duration in zip(
        capture.strings.get(capture.events.name[chosen].tolist()),
        capture.events.duration[chosen].tolist(),
        strict=True,
    ):
        durations[name].append(duration)
    return {name: (len(values), sum(values), min(values), max(values)) for name, values in durations.items()}


def test_counts_are_those_of_the_independent_reader(data_dir: Path, tmp_path: Path) -> None:
    for name, wanted in traces(data_dir).items():
        assert detect(data_dir / name).name == "torch", name
        with imported(tmp_path, data_dir / name) as capture:
            assert count(capture, "kernel") == wanted["kernel"], name
            assert count(capture, "memcpy") + count(capture, "memset") == wanted["memcpy_memset"], name
            assert count(capture, "cuda_api") == wanted["cuda_api"], name
            assert count(capture, "python") == wanted["python"], name
            assert f"{wanted['events']:,} events" in capture.sources[0].reason, name
            assert capture.skipped == (), name
            operators = count(capture, "operator") + count(capture, "phase") + count(capture, "range")
            assert operators >= wanted["operator_events"], name


def test_kernels_are_those_of_the_tensorboard_plugin(data_dir: Path, tmp_path: Path) -> None:
    table = json.loads(
        (data_dir / "expected_tb_plugin/resnet50_num_workers_0/kernel_table.json").read_text()
    )["data"]
    column = {entry["name"]: index for index, entry in enumerate(table["columns"])}
    file = (
        "torch/pytorch+kineto/tb_plugin/samples/resnet50_num_workers_0/worker0.1623143089861.pt.trace.json.gz"
    )
    found = kernel_table(imported(tmp_path, data_dir / file))
    assert len(found) == len(table["rows"])
    for row in table["rows"]:
        calls, total, shortest, longest = found[row[column["Name"]]]
        assert calls == row[column["Calls"]]
        assert total == row[column["Total Duration (us)"]] * 1000
        assert shortest == row[column["Min Duration (us)"]] * 1000
        assert longest == row[column["Max Duration (us)"]] * 1000
    assert sum(calls for calls, *_rest in found.values()) == 8772
    assert sum(total for _calls, total, *_rest in found.values()) == 591_532_000


@pytest.mark.parametrize(
    "name",
    [
        "h100/gaunernst_bert-small-uncased__1016001",
        "h100/google_owlv2-large-patch14-ensemble__1016001",
        "mi300/Falconsai_nsfw_image_detection__1016002",
        "mi210/gpu_only_trace/gpu_only_trace",
    ],
)
def test_kernels_are_those_of_tracelens(data_dir: Path, tmp_path: Path, name: str) -> None:
    folder = data_dir / "torch/AMD-AGI+TraceLens/tests/traces"
    with (folder / f"{name}_perf_report_csvs/kernel_summary.csv").open() as file:
        wanted: dict[str, tuple[int, float]] = {}
        for row in csv.DictReader(file):
            calls, total = wanted.get(row["Kernel name"], (0, 0.0))
            wanted[row["Kernel name"]] = (
                calls + int(row["Kernel duration (µs)_count"]),
                total + float(row["Kernel duration (µs)_sum"]),
            )
    found = kernel_table(imported(tmp_path, folder / f"{name}.json.gz"))
    assert found.keys() == wanted.keys()
    for kernel, (calls, total_us) in wanted.items():
        assert found[kernel][0] == calls, kernel
        assert found[kernel][1] == pytest.approx(total_us * 1000, abs=1), kernel


def test_launch_links_are_those_of_equal_correlation(data_dir: Path, tmp_path: Path) -> None:
    file = (
        data_dir
        / "torch/AMD-AGI+TraceLens/tests/traces/h100/google_owlv2-large-patch14-ensemble__1016001.json.gz"
    )
    events = json.loads(gzip.decompress(file.read_bytes()))["traceEvents"]
    calls: set[int | None] = set()
    work: collections.Counter[int | None] = collections.Counter()
    for event in events:
        correlation = (event.get("args") or {}).get("correlation")
        if event.get("cat") in ("cuda_runtime", "cuda_driver"):
            calls.add(correlation)
        elif event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset", "cuda_sync"):
            work[correlation] += 1
    wanted = sum(number for correlation, number in work.items() if correlation in calls)
    capture = imported(tmp_path, file)
    assert capture.links.counts()["launch"] == wanted
    launch = np.flatnonzero(capture.links.kind == list(capture.links.kinds).index("launch"))
    kinds = capture.events.kind[capture.links.from_row[launch]]
    assert {capture.kind_of_code[code] for code in np.unique(kinds).tolist()} == {"cuda_api"}


def test_waits_name_the_call_that_recorded_their_event(data_dir: Path, tmp_path: Path) -> None:
    folder = "torch/facebookresearch+HolisticTraceAnalysis/tests/data/critical_path/cuda_event_sync"
    capture = imported(tmp_path, data_dir / folder / "event_sync_trace.json.gz")
    (tmp_path / "back").mkdir()
    back = imported(tmp_path / "back", export_capture(capture, tmp_path / "out.json"))
    for one in (capture, back):
        table = one.kinds["sync"]
        values, known = table.column("recorded_by")
        assert values[known].tolist() == [1533, 1533]
        assert len(known) == 4


def test_instants_of_the_profiler_do_not_count_as_cut(data_dir: Path, tmp_path: Path) -> None:
    name = "torch/pytorch+kineto/tb_plugin/test/gpu_metrics_input.json"
    capture = imported(tmp_path, data_dir / name)
    assert not np.any(capture.events.flags & np.uint8(Flag.CUT_END | Flag.CUT_START | Flag.TRUNCATED))
    assert named(capture, "Record Window End") >= 0


def test_a_truncated_real_trace_keeps_its_beginning(data_dir: Path, tmp_path: Path) -> None:
    text = (data_dir / "torch/pytorch+kineto/tb_plugin/test/gpu_metrics_input.json").read_bytes()
    capture = imported(tmp_path, text_file(tmp_path, text[: len(text) // 3], "cut.json"))
    assert 0 < count(capture, "operator") < 178
    assert any("the file is incomplete" in warning for warning in capture.warnings)
