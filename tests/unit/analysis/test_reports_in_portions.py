"""Reports read launches in portions, so that memory stays bounded: how large these are never changes a report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from tests.unit.analysis.analysis_tools import Program, rows_of
from tests.unit.analysis.framework.gpu_work import selections
from tests.unit.analysis.framework.host_work import write_launches

from warpline.analysis.framework.registry import compute_report
from warpline.analysis.framework.selection import Selection, View
from warpline.analysis.structure import launches
from warpline.analysis.structure.gpus import windows_of
from warpline.storage import Capture

REPORTS = (
    "cuda_kern_exec_sum",
    "launch_latency",
    "memory_manipulation",
    "model",
    "nvtx_kern_sum",
    "operator",
    "queue_length",
    "step_breakdown",
)
SEEDS = range(4)


def with_threads(capture: Capture, seed: int) -> Iterator[Selection]:
    """`selections`, also of the first thread alone."""
    for selection in selections(capture, seed):
        yield selection
        yield replace(selection, threads=frozenset([0]))


def tables(capture: Capture, selection: Selection) -> list[object]:
    found = [compute_report(capture, report, selection).table for report in REPORTS]
    return [None if table is None else list(table.rows()) for table in found]


@pytest.mark.parametrize("seed", SEEDS)
def test_portions_of_launches_never_change_a_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    with write_launches(tmp_path / "x.h5", seed) as capture:
        for selection in with_threads(capture, seed):
            whole = tables(capture, selection)
            with monkeypatch.context() as patch:
                patch.setattr(launches, "_AT_ONCE", 3)
                assert tables(capture, selection) == whole


@pytest.mark.parametrize("seed", SEEDS)
def test_batches_hold_the_launched_events_with_their_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(launches, "_AT_ONCE", 4)
    with write_launches(tmp_path / "x.h5", seed) as capture:
        if "kernel" not in capture.kinds:
            return
        for selection in with_threads(capture, seed):
            view = View(capture, selection)
            events = launches.gpu_events(view, "kernel")
            launched, place = launches.launch_of_each(view, events)
            events, launched = events.take(place >= 0), launched.take(place[place >= 0])
            rows = np.column_stack(
                (events.row, launched.call, launched.call_start, launched.call_stop, launched.thread)
            )
            found = [
                np.column_stack(
                    (batch.events.row, batch.call, batch.call_start, batch.call_stop, batch.thread)
                )
                for batch in launches.launched_batches(view, "kernel")
            ]
            assert np.concatenate([np.empty((0, 5), np.int64), *found]).tolist() == rows.tolist()


def test_a_kernel_that_runs_through_two_portions_counts_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = Program(tmp_path / "x.h5")
    for start in range(0, 1_000, 100):
        program.gpu("kernel", 7, start, start + 90, "gemm")
    program.builder.set_span(0, 1_000)
    with program.finish() as capture:
        [whole] = rows_of(capture, "gpu_utilization")
        assert whole["utilization_ratio"] == 0.9
        windows = partial(windows_of, limit=3)
        monkeypatch.setattr("warpline.analysis.steps.gpu_utilization.windows_of", windows)
        assert rows_of(capture, "gpu_utilization") == [whole]
