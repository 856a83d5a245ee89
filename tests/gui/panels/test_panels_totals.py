"""The same selection gives the same numbers in the panel and on the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pytestqt.qtbot import QtBot
from tests.gui.panels.panel_tools import OpenPage, panel_of
from tests.gui.sample import MS

from warpline.cli import main
from warpline_app.panels.summary.panel import SummaryPanel
from warpline_app.window.main_window import MainWindow

TRACE = "torch/AMD-AGI+TraceLens/tests/traces/h100/gaunernst_bert-small-uncased__1016001.json.gz"


def stats(capsys: pytest.CaptureFixture[str], path: Path, report: str, *options: str) -> list[dict[str, Any]]:
    """The rows that the command line prints."""
    capsys.readouterr()
    assert main(["stats", str(path), "--report", report, "--format", "json", *options]) == 0
    answer = json.loads(capsys.readouterr().out)
    rows: list[dict[str, Any]] = answer["rows"]
    return rows


def shown(panel: SummaryPanel) -> Iterator[dict[str, str]]:
    """The rows of the panel as they are copied: times in ns, what was not recorded empty."""
    model = panel.table.model_
    for item in model.items_shown().tolist():
        yield {column.identity: column.raw_text(item) for column in model.columns}


def check(
    qtbot: QtBot,
    window: MainWindow,
    panel: SummaryPanel,
    report: str,
    rows: list[dict[str, Any]],
) -> None:
    panel.choose(report)
    page = window.tabs.current_page
    assert page is not None
    qtbot.waitUntil(lambda: window.panels.is_settled and page.view.is_idle, timeout=60_000)
    assert panel.table.isVisible(), panel.missing.text()
    panel.table.open_all(True)
    found = list(shown(panel))
    assert len(found) == len(rows) > 0
    for mine, wanted in zip(found, rows, strict=True):
        for key, text in mine.items():
            assert text == ("" if wanted[key] is None else str(wanted[key])), (report, key)


def test_a_range_of_the_sample(
    qtbot: QtBot,
    window: MainWindow,
    open_page: OpenPage,
    sample: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    page = open_page(sample)
    panel = panel_of(qtbot, window, "summary", SummaryPanel)
    page.document.state.select_range(12 * MS, 57 * MS)
    for report in (
        "kernel",
        "cuda_api_gpu_sum",
        "cuda_gpu_mem_size_sum",
        "nvtx_sum",
        "thread_state",
        "events",
    ):
        rows = stats(capsys, sample, report, "--range", "12ms:57ms")
        check(qtbot, window, panel, report, rows)
    # A selected row of the timeline is what --track selects.
    stream = "gpu/0/process/71.1/context/1/stream/7"
    page.document.state.select_track(stream)
    rows = stats(capsys, sample, "cuda_gpu_sum", "--range", "12ms:57ms", "--track", stream)
    check(qtbot, window, panel, "cuda_gpu_sum", rows)


def test_a_range_of_a_trace_that_others_recorded(
    qtbot: QtBot,
    window: MainWindow,
    open_page: OpenPage,
    data_dir: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "bert.h5"
    assert main(["import", str(data_dir / TRACE), "-o", str(path)]) == 0
    page = open_page(path)
    panel = panel_of(qtbot, window, "summary", SummaryPanel)
    origin = page.document.capture.span[0]
    page.document.state.select_range(origin + 2 * MS, origin + 6 * MS)
    for report in (
        "kernel",
        "cuda_gpu_kern_sum",
        "cuda_api_sum",
        "operator_shapes",
        "overview",
        "launch_latency",
    ):
        rows = stats(capsys, path, report, "--range", "2ms:6ms")
        check(qtbot, window, panel, report, rows)
