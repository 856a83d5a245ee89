"""Ascend traces equal the tables that msprof wrote beside them."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.analysis.analysis_tools import rows_of
from tests.unit.interchange.import_tools import count, imported, trace_file, x

from warpline.interchange import detect
from warpline.interchange.export.exporting import export_capture
from warpline.storage import Capture

FOLDER = "ascend/xiaobingling93-pixel+Ascend-msinsight/test/data/pytorch/text/level1"
OTHERS = "second/ascend/Ascend+msprof-analyze/test/ut/advisor/advisor_backend/timeline_advice/trace_view.json"
"""A trace whose tasks are nearly all of the type *Other*."""
RANKS = ("rank0_ascend_pt", "rank1_ascend_pt")


def output(data_dir: Path, rank: str) -> Path:
    return data_dir / FOLDER / rank / "ASCEND_PROFILER_OUTPUT"


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module", params=RANKS)
def rank(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def capture(rank: str, data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Capture:
    return imported(tmp_path_factory.mktemp("ascend"), output(data_dir, rank) / "trace_view.json")


def events(capture: Capture, kind: str) -> list[tuple[str, int, int]]:
    rows = capture.kinds[kind].rows
    return [
        (capture.strings[name], start, duration)
        for name, start, duration in zip(
            capture.events.name[rows].tolist(),
            capture.events.start[rows].tolist(),
            capture.events.duration[rows].tolist(),
            strict=True,
        )
    ]


def nanoseconds(microseconds: str) -> int:
    whole, _, rest = microseconds.strip().partition(".")
    return int(whole) * 1000 + int(rest.ljust(3, "0")[:3])


def test_each_file_is_recognised_by_its_importer(data_dir: Path) -> None:
    assert detect(output(data_dir, RANKS[0]) / "trace_view.json").name == "ascend"


def test_kernels_are_those_of_kernel_details(capture: Capture, rank: str, data_dir: Path) -> None:
    told = sorted(
        (nanoseconds(row["Start Time(us)"]), nanoseconds(row["Duration(us)"]), row["Name"])
        for row in table(output(data_dir, rank) / "kernel_details.csv")
    )
    found = sorted((start, duration, name) for name, start, duration in events(capture, "kernel"))
    assert [name for *_, name in found] == [name for *_, name in told]
    # The trace tells parts of nanoseconds, the table cuts them off.
    differences = np.array([entry[:2] for entry in found]) - np.array([entry[:2] for entry in told])
    assert np.abs(differences).max() <= 1


def test_times_are_those_of_step_trace_time(capture: Capture, rank: str, data_dir: Path) -> None:
    (told,) = table(output(data_dir, rank) / "step_trace_time.csv")
    times: dict[str, int] = {}
    for row in rows_of(capture, "overlap"):
        times.setdefault(row["activity"], row["total_ns"])
    expected = {
        "computation": "Computing",
        "communication": "Communication",
        "exposed_communication": "Communication(Not Overlapped)",
        "computation_and_communication": "Overlapped",
    }
    for ours, theirs in expected.items():
        assert times[ours] == pytest.approx(float(told[theirs]) * 1000, abs=200), ours


def test_unknown_sizes_of_npu_copies_stay_missing(capture: Capture) -> None:
    (row,) = rows_of(capture, "gpu_utilization")
    assert 0.5 < row["utilization_ratio"] < 1
    assert row["sm_efficiency_ratio"] is row["achieved_occupancy_ratio"] is row["tensor_core_ratio"] is None


def test_calls_are_those_of_api_statistic(capture: Capture, rank: str, data_dir: Path) -> None:
    found: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for name, _start, duration in events(capture, "cuda_api"):
        level, _, call = name.partition("@")
        if level == "AscendCL":
            found[call] += 1
            total[call] += duration
    told = [row for row in table(output(data_dir, rank) / "api_statistic.csv") if row["Level"] == "acl"]
    assert len(told) > 20
    for row in told:
        assert found[row["API Name"]] == int(row["Count"])
        assert total[row["API Name"]] == pytest.approx(
            float(row["Time(us)"]) * 1000, abs=10 * int(row["Count"])
        )


def test_each_task_is_linked_to_its_call(capture: Capture) -> None:
    kinds = capture.links.counts()
    assert kinds["launch"] == 215
    linked = set(capture.links.to_row[capture.links.kind == code_of(capture, "launch")].tolist())
    assert linked >= set(capture.kinds["kernel"].rows.tolist())
    assert not capture.skipped
    assert any("before they start" in warning for warning in capture.warnings)


def test_cann_calls_belong_to_the_program(capture: Capture) -> None:
    titles = [track.title for track in capture.tracks]
    assert not any(title.startswith("CANN") for title in titles)
    main = next(track for track in capture.tracks if track.title.startswith("Python ["))
    rows = capture.kinds["cuda_api"].rows
    assert {capture.tracks[capture.track_of_row(int(row))].process for row in rows} == {main.process}


def code_of(capture: Capture, kind: str) -> int:
    codes: list[int] = np.unique(capture.links.kind).tolist()
    return next(code for code in codes if capture.links.kind_name(code) == kind)


def test_two_ranks_are_aligned_by_what_hccl_did(data_dir: Path, tmp_path: Path) -> None:
    folder = data_dir / FOLDER
    capture = imported(tmp_path, folder)
    assert [track.uri for track in capture.tracks if track.role == "rank"] == ["rank/0", "rank/1"]
    assert all(clock.residual_ns is not None for clock in capture.clocks[1:])
    rows = capture.kinds["kernel"].rows
    ends: dict[str, list[int]] = {}
    _start, stop = capture.event_times(rows)
    for name, end in zip(capture.events.name[rows].tolist(), stop.tolist(), strict=True):
        if capture.strings[name].startswith("hcom_"):
            ends.setdefault(capture.strings[name], []).append(end)
    assert len(ends) == 4
    assert all(max(pair) - min(pair) < 20_000 for pair in ends.values())


def test_process_names_may_follow_their_events(tmp_path: Path) -> None:
    named: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": 9, "tid": 0, "args": {"name": "Ascend Hardware"}},
        {"ph": "M", "name": "process_name", "pid": 8, "tid": 0, "args": {"name": "CANN"}},
    ]
    work = [
        x("aten::add", 1, 5, pid=40, tid=41, cat="cpu_op"),
        x("Node@launch", 2, 1, pid=8, tid=41, args={"connection_id": 1}),
        x("Add", 10, 5, pid=9, tid=3, args={"Task Type": "AI_VECTOR_CORE", "connection_id": 1}),
        x("EVENT_WAIT", 20, 5, pid=9, tid=3, args={"Task Type": "EVENT_WAIT_SQE"}),
        x("MEMCPY_ASYNC", 30, 5, pid=9, tid=3, args={"Task Type": "SDMA_SQE"}),
        x("Odd", 40, 5, pid=9, tid=3, args={"Task Type": 7}),
    ]
    for events_in_order in (named + work, work + named):
        with imported(tmp_path, trace_file(tmp_path, events_in_order)) as capture:
            found = [count(capture, kind) for kind in ("kernel", "sync", "memcpy", "other", "cuda_api")]
            assert found == [1, 1, 1, 1, 1]
            assert [thread.tid for thread in capture.threads] == [41]


@pytest.fixture(scope="module")
def others(data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Capture:
    return imported(tmp_path_factory.mktemp("others"), data_dir / OTHERS)


def test_tasks_of_unknown_cores_are_kernels_as_in_the_overlap_analysis(
    others: Capture, data_dir: Path
) -> None:
    trace = json.loads((data_dir / OTHERS).read_text())
    spent = [float(event["dur"]) for event in trace if event["ph"] == "X" and event["name"] == "Computing"]
    kernels = events(others, "kernel")
    assert len(kernels) == len(spent) == 274
    assert sum(duration for *_, duration in kernels) == pytest.approx(sum(spent) * 1000, abs=274)
    assert count(others, "memcpy") == 2


def test_calls_and_their_rows_are_called_ascendcl(others: Capture) -> None:
    assert others.kinds["cuda_api"].spec.title == "AscendCL call"
    assert {track.title for track in others.tracks if track.role == "api"} == {"AscendCL"}


def test_launches_and_flows_survive_an_export(others: Capture, tmp_path: Path) -> None:
    again = imported(tmp_path, export_capture(others, tmp_path / "again.json"))
    for kind in ("launch", "flow", "forward_backward"):
        assert number_of_links(again, kind) == number_of_links(others, kind) > 0


def number_of_links(capture: Capture, kind: str) -> int:
    return int((capture.links.kind[:] == capture.links.kinds.index(kind)).sum())
