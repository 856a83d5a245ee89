"""Files that a tool merged from those of several ranks: GPUs keep their numbers and belong to their rank."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.unit.interchange.import_tools import count, imported, links, rows, trace_file, x

from warpline.interchange import import_files
from warpline.interchange.export.exporting import export_capture
from warpline.storage import Capture, open_capture

OFFSET = 100_000_000


def rank(number: int) -> list[dict[str, Any]]:
    """The events of a rank as TraceLens merges them: process numbers shifted, correlation ids unique."""
    pid, gpu_pid = 50 + number * OFFSET, 2 + number * (OFFSET + 1)
    start, correlation = 100 * number, 1000 * number + 5
    return [
        x("step", start, 90, pid=pid, tid=7, cat="user_annotation", args={"External id": 3}),
        x(f"cudaLaunchKernel {number}", start + 5, 5, pid=pid, tid=7, cat="cuda_runtime",
          args={"correlation": correlation}),
        x(f"gemm {number}", start + 20, 30, pid=gpu_pid, tid=0, cat="kernel",
          args={"device": 2 + number, "stream": 0, "correlation": correlation}),
        x(f"step on {number}", start + 20, 30, pid=gpu_pid, tid=0, cat="gpu_user_annotation", args={"External id": 3}),
    ]  # fmt: skip


def merged(tmp_path: Path) -> Capture:
    return imported(tmp_path, trace_file(tmp_path, [*rank(0), *rank(1)]))


def test_no_gpu_is_invented_and_each_belongs_to_its_rank(tmp_path: Path) -> None:
    capture = merged(tmp_path)
    assert sorted(device.index for device in capture.devices) == [2, 3]
    assert [row[3] for row in rows(capture, "kernel", "gpu_annotation")] == [
        "gpu/2/process/50.1/stream/0",
        "gpu/2/process/50.1/annotations",
        f"gpu/3/process/{50 + OFFSET}.1/stream/0",
        f"gpu/3/process/{50 + OFFSET}.1/annotations",
    ]


def test_equal_external_ids_of_ranks_are_not_mixed_up(tmp_path: Path) -> None:
    capture = merged(tmp_path)
    kind = capture.links.kinds.index("annotation")
    chosen = capture.links.kind[:] == kind
    ends = zip(capture.links.from_row[chosen].tolist(), capture.links.to_row[chosen].tolist(), strict=True)
    starts = [(int(capture.events.start[a]), int(capture.events.start[b])) for a, b in ends]
    assert sorted(starts) == [(0, 20_000), (100_000, 120_000)]


def test_export_and_import_again_keep_the_launches_of_all_ranks(tmp_path: Path) -> None:
    capture = merged(tmp_path)
    expected = {(f"cudaLaunchKernel {number}", f"gemm {number}") for number in (0, 1)}
    assert links(capture, "launch") == expected
    out = export_capture(capture, tmp_path / "again.json")
    with open_capture(import_files([out], tmp_path / "again.h5")) as again:
        assert links(again, "launch") == expected
        assert count(again, "gpu_annotation") == 2
