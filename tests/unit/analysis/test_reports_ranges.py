"""Ranges and what they launched, as Nsight lists them."""

from __future__ import annotations

import csv
import lzma
from pathlib import Path

import numpy as np
import pytest
from tests.unit.analysis.analysis_tools import Program, by_name, rows_of

from warpline.analysis.framework.selection import Selection
from warpline.storage import Capture, CaptureBuilder, open_capture


def test_ranges_projected_on_the_gpu(training: Capture) -> None:
    row = by_name(rows_of(training, "nvtx_gpu_proj_sum"))["forward"]
    assert (row["count"], row["gpu_operations"]) == (3, 6)
    assert row["avg_ns"] == 300_000
    kernels = rows_of(training, "nvtx_kern_sum")
    assert {(r["name"], r["kernel_name"], r["range_count"], r["count"]) for r in kernels} == {
        ("forward", "sm90_xmma_gemm_bf16", 3, 3),
        ("forward", "ncclDevKernel_AllReduce", 3, 3),
    }


def test_nested_ranges_match_nsights_list(data_dir: Path, tmp_path: Path) -> None:
    """31,550 ranges of four processes: nesting and the time of children, computed there by nsys."""
    source = next(data_dir.glob("nsys_recipe/**/report_nvtx_pushpop_trace.csv.xz"), None)
    if source is None:
        pytest.skip("no nsys_recipe data")
    with lzma.open(source, "rt", newline="") as lines:
        listed = list(csv.DictReader(lines))
    path = tmp_path / "ranges.h5"
    with CaptureBuilder(path) as builder:
        for pid, tid in sorted({(row["PID"], row["TID"]) for row in listed}):
            process = builder.add_process(int(pid))
            thread = builder.add_thread(process, int(tid))
            mine = [row for row in listed if (row["PID"], row["TID"]) == (pid, tid)]
            # Each domain on a track of its own, as the importers have it: the printed table nests across them.
            for domain in sorted({row["Name"].partition(":")[0] for row in mine}):
                track = builder.track(
                    f"process/{pid}.1/thread/{tid}.1/nvtx/{domain}",
                    role="ranges",
                    process=process,
                    thread=thread,
                )
                here = [row for row in mine if row["Name"].partition(":")[0] == domain]
                start = np.array([int(row["Start (ns)"]) for row in here])
                duration = np.array([int(row["Duration (ns)"]) for row in here])
                names = builder.strings(row["Name"] for row in here)
                builder.add_events(track, "range", start, duration, names)
        builder.set_span(0, max(int(row["End (ns)"]) for row in listed))
        builder.finish()
    with open_capture(path) as capture:
        found = rows_of(capture, "nvtx_pushpop_trace")
    assert len(found) == len(listed)
    key = ("TID", "Start (ns)", "Lvl")
    theirs = sorted(listed, key=lambda row: tuple(int(row[k]) for k in key))
    ours = sorted(found, key=lambda row: (row["tid"], row["start_ns"], row["level"]))
    for our, row in zip(ours, theirs, strict=True):
        assert (
            our["duration_ns"],
            our["children_ns"],
            our["own_ns"],
            our["level"],
            our["children"],
        ) == tuple(
            int(row[name])
            for name in ("Duration (ns)", "DurChild (ns)", "DurNonChild (ns)", "Lvl", "NumChild")
        )
        assert our["name"] == row["Name"]


def test_overlapping_children_are_subtracted_once(tmp_path: Path) -> None:
    program = Program(tmp_path / "crossing.h5")
    program.host("ranges", "range", 0, 100, "outer")
    for domain, start, stop in (("a", 10, 80), ("b", 40, 95), ("c", 50, 60)):
        track = program.builder.track(
            f"process/71.1/thread/71.1/ranges/{domain}",
            role="ranges",
            process=program.process,
            thread=program.thread,
        )
        program.builder.add_events(track, "range", [start], [stop - start], [program.builder.string(domain)])
    with program.finish() as capture:
        rows = {row["name"]: row for row in rows_of(capture, "nvtx_pushpop_trace")}
    assert (rows["outer"]["children"], rows["outer"]["own_ns"], rows["outer"]["children_ns"]) == (2, 15, 85)
    assert rows["b"]["own_ns"] == 45


def test_ratios_of_nested_ranges_refer_to_the_selected_range(tmp_path: Path) -> None:
    program = Program(tmp_path / "nested.h5")
    program.host("ranges", "range", 0, 600, "step")
    program.host("ranges", "range", 100, 500, "forward")
    program.host("ranges", "range", 200, 300, "layer")
    program.host("ranges", "range", 300, 400, "layer")
    program.host("ranges", "range", 600, 1_000, "step")
    with program.finish() as capture:
        for report in ("nvtx_sum", "nvtx_pushpop_sum"):
            found = by_name(rows_of(capture, report))
            # All 1,000 ns lie in a step, 400 of them in forward too: no range is less because others lie in it.
            assert [found[name]["ratio"] for name in ("step", "forward", "layer")] == [1.0, 0.4, 0.2]
            assert [found[name]["self_ns"] for name in ("step", "forward", "layer")] == [600, 200, 200]
            assert sum(row["self_ratio"] for row in found.values()) == pytest.approx(1)
        part = by_name(rows_of(capture, "nvtx_sum", Selection(250, 750)))
        assert {name: (row["ratio"], row["self_ns"]) for name, row in part.items()} == {
            "step": (1.0, 250), "forward": (0.5, 100), "layer": (0.3, 150)
        }  # fmt: skip
