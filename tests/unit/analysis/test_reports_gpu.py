"""Where the time of GPUs goes: idle causes, overlap, launches, copies."""

from __future__ import annotations

import pytest
from tests.unit.analysis.analysis_tools import by_name, rows_of

from warpline.storage import Capture


def test_idle_time_has_one_cause_each_and_adds_up(training: Capture) -> None:
    rows = rows_of(training, "gpu_idle")
    whole, parts = rows[0], {row["cause"]: row["total_ns"] for row in rows[1:]}
    assert whole["total_ns"] == 4_000_000 - 3 * 350_000
    assert sum(parts.values()) == whole["total_ns"]
    # Loading runs 300 µs before each step's first launch; the wait for the copy ends 5 µs after it.
    assert parts["data_loading"] == 900_000
    assert parts["synchronization"] == 2 * 5_000
    assert parts["launch_latency"] == 3 * 15_000 + 3 * 10_000
    assert parts["end"] == 240_000


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
