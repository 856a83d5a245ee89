"""Where the time of GPUs goes: idle causes, overlap, launches, copies."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.analysis.analysis_tools import Program, by_name, rows_of

from warpline.storage import Capture


def test_idle_causes_add_up_to_the_idle_time(training: Capture) -> None:
    rows = rows_of(training, "gpu_idle")
    whole, parts = rows[0], {row["cause"]: row["total_ns"] for row in rows[1:]}
    assert whole["total_ns"] == 4_000_000 - 3 * 350_000
    assert sum(parts.values()) == whole["total_ns"]
    # Loading runs 300 µs before each step's first launch; the wait for the copy ends 5 µs after it.
    assert parts["data_loading"] == 900_000
    assert parts["synchronization"] == 2 * 5_000
    assert parts["launch_latency"] == 3 * 15_000 + 3 * 10_000
    assert parts["end"] == 240_000


def test_the_longest_gap_is_the_longest_part_of_its_cause(tmp_path: Path) -> None:
    program = Program(tmp_path / "gaps.h5")
    # Idle for 50, 400 and 100 µs, each ended by a kernel whose launch began 10 µs before it.
    for start in (50_000, 550_000, 750_000):
        call = program.launch(start - 10_000, start - 5_000)
        program.gpu("kernel", 7, start, start + 100_000, "gemm", call)
    program.builder.set_span(0, 850_000)
    with program.finish() as capture:
        rows = {row["cause"]: row for row in rows_of(capture, "gpu_idle")}
    assert (rows[None]["count"], rows[None]["max_ns"], rows[None]["total_ns"]) == (3, 400_000, 550_000)
    assert (rows["host"]["count"], rows["host"]["max_ns"]) == (3, 390_000)
    assert (rows["launch_latency"]["count"], rows["launch_latency"]["max_ns"]) == (3, 10_000)
    assert (rows["data_loading"]["count"], rows["data_loading"]["max_ns"]) == (0, 0)


@pytest.mark.parametrize(("gap_ns", "cause"), [(10_000, "launch_latency"), (10_001, "other")])
def test_a_gap_after_the_launch_is_latency_up_to_ten_microseconds(
    tmp_path: Path, gap_ns: int, cause: str
) -> None:
    program = Program(tmp_path / "gap.h5")
    first, second = program.launch(0, 5_000), program.launch(5_000, 10_000)
    program.gpu("kernel", 7, 10_000, 50_000, "gemm", first)
    program.gpu("kernel", 7, 50_000 + gap_ns, 100_000, "gemm", second)
    program.builder.set_span(10_000, 100_000)
    with program.finish() as capture:
        rows = {row["cause"]: row["total_ns"] for row in rows_of(capture, "gpu_idle")}
    assert {name: total for name, total in rows.items() if name and total} == {cause: gap_ns}


def test_work_without_duration_ends_a_gap(tmp_path: Path) -> None:
    program = Program(tmp_path / "moment.h5")
    # The kernel without duration was launched 10 µs before it; the one after it long before.
    first, moment, last = (program.launch(t, t + 1_000) for t in (0, 90_000, 95_000))
    program.gpu("kernel", 7, 1_000, 50_000, "gemm", first)
    program.gpu("kernel", 7, 100_000, 100_000, "tiny", moment)
    program.gpu("kernel", 7, 150_000, 200_000, "gemm", last)
    program.builder.set_span(1_000, 200_000)
    with program.finish() as capture:
        rows = {row["cause"]: row for row in rows_of(capture, "gpu_idle")}
    assert (rows[None]["count"], rows[None]["total_ns"], rows[None]["max_ns"]) == (2, 100_000, 50_000)
    assert rows["host"]["total_ns"] == 40_000
    assert rows["launch_latency"]["total_ns"] == 10_000
    assert rows["other"]["total_ns"] == 50_000


def test_a_copy_is_hidden_by_kernels_of_either_sort(tmp_path: Path) -> None:
    program = Program(tmp_path / "hidden.h5")
    program.gpu("memcpy", 7, 0, 100_000, "Memcpy DtoH")
    program.gpu("kernel", 8, 10_000, 30_000, "ncclDevKernel_AllReduce")
    program.gpu("kernel", 9, 40_000, 80_000, "gemm")
    program.builder.set_span(0, 100_000)
    with program.finish() as capture:
        rows = {row["activity"]: row["total_ns"] for row in rows_of(capture, "overlap")}
    assert (rows["memory"], rows["exposed_memory"]) == (100_000, 40_000)
    assert (rows["communication"], rows["exposed_communication"]) == (20_000, 20_000)
    assert (rows["communication_and_memory"], rows["computation_and_memory"]) == (20_000, 40_000)


def test_overlap_and_exposed_time(training: Capture) -> None:
    rows = {row["activity"]: row["total_ns"] for row in rows_of(training, "overlap")}
    assert rows["computation"] == rows["communication"] == 600_000
    assert rows["computation_and_communication"] == 300_000
    assert rows["exposed_communication"] == 300_000
    assert rows["memory"] == rows["exposed_memory"] == 150_000
    assert rows["busy"] + rows["idle"] == 4_000_000


def test_launch_latency_queue_and_execution(training: Capture) -> None:
    latency = by_name(rows_of(training, "launch_latency"))
    assert latency["sm90_xmma_gemm_bf16"]["avg_ns"] == 5_000
    assert latency["ncclDevKernel_AllReduce"]["max_ns"] == 85_000
    execution = rows_of(training, "cuda_kern_exec_sum")
    assert [row["queue_count"] for row in execution] == [3, 3]
    assert execution[0]["total_avg_ns"] == 295_000
    queue = {row["name"].split(" · ")[-1]: row for row in rows_of(training, "queue_length")}
    assert queue["Stream 8"]["max"] == 1
    assert queue["Stream 8"]["time_avg"] == pytest.approx(3 * 95_000 / 4_000_000)
