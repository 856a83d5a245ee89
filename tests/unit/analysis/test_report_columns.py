"""What columns of reports say of themselves, held against what stands in them, on many captures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.unit.analysis.analysis_tools import Open, Program, rows_of

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.registry import compute_report, reports
from warpline.analysis.framework.report import Table, Values
from warpline.interchange import import_files
from warpline.storage import Capture, open_capture

CAPTURES = (
    "torch/pytorch+kineto/tb_plugin/test/gpu_metrics_input.json",
    "torch/**/mi300/Falconsai*.json.gz",
    "torch/**/nccl_data.json.gz",
    "nsys/**/h100_2gpu_1s.sqlite",
    "nsys/**/saxpy-mpi*.sqlite",
    "paddle/paddle_lenet_cpu_b8s4.paddle_trace.json",
    "paddle/paddle_mobilenetv2_cpu_mem.paddle_trace.json.gz",
)
TEXTS = {Role.NAME, Role.TEXT, Role.CODE, Role.REASON}
SUFFIXES = {"ns": "_ns", "bytes": "bytes", "ratio": "ratio", "bytes_per_second": "_bytes_per_second"}
LISTS = {
    "cuda_api_trace",
    "cuda_gpu_trace",
    "cuda_kern_exec_trace",
    "memory_lifetimes",
    "nvtx_pushpop_trace",
    "nvtx_gpu_proj_trace",
}
"""Reports whose rows are single events, one after the other."""


def tables_of(capture: Capture) -> Iterator[tuple[str, Table]]:
    """Every report that the capture has data for, with threads together and apart."""
    for spec in reports():
        for by_thread in (False, True):
            table = compute_report(capture, spec.name, options=Options(by_thread=by_thread)).table
            if table is not None:
                yield spec.name, table


def check_columns(report: str, table: Table) -> None:
    assert Counter(column.name for column in table.columns).most_common(1)[0][1] == 1
    leads = [column.lead for column in table.columns if column.lead]
    assert len(leads) == len(set(leads)), (report, "two columns claim one place")
    for column in table.columns:
        check_column(report, column, table.data[column.name])


def check_column(report: str, column: Column, values: Values) -> None:
    what = (report, column)
    assert isinstance(values, np.ndarray) == (column.role not in TEXTS), what
    if column.unit:
        assert column.name.endswith(SUFFIXES[column.unit]), what
    else:
        assert not column.name.endswith(tuple(SUFFIXES.values())), what
    assert bool(column.of) == (column.role in {Role.SHARE, Role.RATIO}), what
    assert not column.heat or column.unit == "ratio", what
    if isinstance(values, np.ndarray):
        if column.role in {Role.COUNT, Role.TIME, Role.ID, Role.ORDINAL}:
            plain = np.ma.compressed(np.ma.masked_invalid(np.ma.asarray(values, np.float64)))
            assert (plain == np.rint(plain)).all(), what
        assert (values.dtype.kind == "b") == (column.role is Role.FLAG), what


def check_keys(report: str, table: Table) -> None:
    assert bool(table.key_columns) == (report not in LISTS), report
    keys = table.row_keys()
    if report in LISTS:
        assert set(keys) <= {()}
        return
    # Without the numbers that tell repeated rows apart every key of a level has the same length.
    width = len(table.key_columns)
    levels = np.zeros(len(table), int) if table.depth is None else table.depth
    repeated = [
        key for key, level in zip(keys, levels.tolist(), strict=True) if len(key) > width * (level + 1)
    ]
    assert not repeated, (report, repeated[:3])
    assert len(set(keys)) == len(keys), report


@pytest.mark.parametrize("pattern", CAPTURES)
def test_columns_have_units_and_keys_identify_rows(opened: Open, pattern: str) -> None:
    seen = 0
    for report, table in tables_of(opened(pattern)):
        check_columns(report, table)
        check_keys(report, table)
        seen += len(table)
    assert seen > 20


def test_keys_distinguish_rows_of_several_ranks(data_dir: Path, tmp_path: Path) -> None:
    folder = next(data_dir.glob("torch/*/tests/data/trace_compare"), None)
    if folder is None:
        pytest.skip("no trace_compare data")
    files = [folder / "base/base.json.gz", folder / "test/test.json.gz"]
    with open_capture(import_files(files, tmp_path / "ranks.h5")) as capture:
        for report, table in tables_of(capture):
            check_columns(report, table)
            check_keys(report, table)
        assert {row["rank"] for row in rows_of(capture, "cuda_kern_exec_sum")} == {0, 1}
        titles = {row["thread"] for row in rows_of(capture, "operator", options=Options(by_thread=True))}
        assert {title.split(" · ")[0] for title in titles} == {"Rank 0", "Rank 1"}


def test_keys_distinguish_processes_that_share_a_gpu_and_step_numbers(tmp_path: Path) -> None:
    program = Program(tmp_path / "two.h5")
    b = program.builder
    for pid in (81, 82):
        process = b.add_process(pid, name="worker")
        thread = b.add_thread(process, pid, name="Main")
        base = f"process/{pid}.1/thread/{pid}.1"
        phases = b.track(f"{base}/phases", role="phases", process=process, thread=thread)
        api = b.track(f"{base}/api", role="api", process=process, thread=thread)
        b.add_events(phases, "phase", [0, 100], [100, 100], b.strings(["ProfilerStep#1", "ProfilerStep#2"]))
        call = b.add_events(api, "cuda_api", [10], [5], b.strings(["cudaLaunchKernel"]))
        stream = b.track(
            f"gpu/0/process/{pid}.1/context/1/stream/7",
            title="Stream 7",
            role="stream",
            parent="gpu/0",
            process=process,
            device=0,
            context=1,
            stream=7,
        )
        b.add_links("launch", [call], [b.add_events(stream, "kernel", [20], [30], b.strings(["gemm"]))])
    with program.finish() as capture:
        for report, table in tables_of(capture):
            check_columns(report, table)
            check_keys(report, table)
        assert [(row["pid"], row["step"]) for row in rows_of(capture, "steps")] == [
            (81, 1),
            (81, 2),
            (82, 1),
            (82, 2),
        ]
        titles = [row["name"] for row in rows_of(capture, "queue_length")]
        assert titles == [f"GPU 0 · Test GPU · Stream 7 · process {pid}, context 1" for pid in (81, 82)]


def test_directions_without_a_name_are_one_row(tmp_path: Path) -> None:
    program = Program(tmp_path / "copies.h5")
    for place, kind in enumerate((0, 40, 41, 1)):
        program.gpu("memcpy", 7, place * 10, place * 10 + 5, "copy", copy_kind=kind, bytes=8)
    with program.finish() as capture:
        rows = {row["operation"]: row["count"] for row in rows_of(capture, "cuda_gpu_mem_time_sum")}
    assert rows == {"[CUDA memcpy]": 3, "[CUDA memcpy Host-to-Device]": 1}


def test_row_keys_of_a_tree_are_paths_and_repeated_keys_get_numbers() -> None:
    table = Table(
        (Column("name", "Name", Role.NAME, key=True), Column("count", "Calls", Role.COUNT)),
        {"name": ["a", "b", "b", "c", "b"], "count": np.arange(5)},
        depth=np.array([0, 1, 1, 0, 1], np.int16),
    )
    assert table.row_keys() == [("a",), ("a", "b"), ("a", "b", 1), ("c",), ("c", "b")]


def test_a_table_without_key_columns_is_a_list() -> None:
    table = Table((Column("start_ns", "Start", Role.TIME),), {"start_ns": np.arange(3)})
    assert table.key_columns == ()
    assert table.row_keys() == [()] * 3


def test_columns_of_every_kind_of_event(training: Capture) -> None:
    for report, table in tables_of(training):
        check_columns(report, table)
        check_keys(report, table)
