"""A range exported as a capture of its own is diagnosed like the same range in the whole."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.analysis.analysis_tools import Open, rows_of

from warpline.analysis.findings.diagnose import diagnose
from warpline.analysis.findings.finding import Diagnosis
from warpline.analysis.findings.wording import finding_lines, headline
from warpline.analysis.framework.registry import compute_report
from warpline.analysis.framework.selection import Selection, View
from warpline.interchange import import_files
from warpline.interchange.export.exporting import export_capture
from warpline.interchange.export.selection import ExportSelection
from warpline.storage import open_capture

MS = 1_000_000
RANGES = {
    "torch/**/h100/gaunernst*.json.gz": (1 * MS, 3 * MS),
    "torch/**/mi300/Falconsai*.json.gz": (2 * MS, 7 * MS),
    # Steps are cut at both ends, and data loading lasts until the end of the range.
    "torch/pytorch+kineto/tb_plugin/samples/resnet50_num_workers_0/*.json.gz": (300 * MS, 600 * MS),
}


def _said(diagnosis: Diagnosis) -> tuple[str, list[tuple[str, int]], list[list[str]]]:
    assert diagnosis.budget is not None
    parts = [(part.cause, part.time_ns) for part in diagnosis.budget.parts]
    return headline(diagnosis), parts, [finding_lines(finding, "") for finding in diagnosis.findings]


@pytest.mark.parametrize("trace", RANGES)
def test_a_part_gives_the_same_diagnosis_and_reports_as_the_range(
    opened: Open, tmp_path: Path, trace: str
) -> None:
    whole = opened(trace)
    origin = whole.span[0]
    start, stop = (origin + moment for moment in RANGES[trace])
    chosen = Selection(start, stop)
    part_file = export_capture(whole, tmp_path / "part.h5", ExportSelection(start_ns=start, stop_ns=stop))
    with open_capture(part_file) as part:
        assert part.span == (start, stop)
        assert _said(diagnose(View(part))) == _said(diagnose(View(whole, chosen)))
        for report, column in (
            ("cuda_gpu_kern_sum", "total_ns"),
            ("overlap", "time_ns"),
            ("steps", "duration_ns"),
        ):
            inside = [row.get(column) for row in rows_of(whole, report, chosen)]
            assert [row.get(column) for row in rows_of(part, report)] == inside, report


@pytest.mark.parametrize(
    ("trace", "milliseconds", "target"),
    [
        # The GPU idles all the time, but it waits for the CPU all the same.
        ("torch/**/critical_path/alexnet/*.json.gz", (1_200, 1_250), "GPU 0 · NVIDIA A100-PG509-200"),
        # No operator runs, but operators were recorded.
        ("torch/**/cpu_only/rank-34*.json.gz", (647, 660), "pt_main_thread (1074)"),
    ],
)
def test_what_a_part_lacks_was_recorded_all_the_same(
    opened: Open, tmp_path: Path, trace: str, milliseconds: tuple[int, int], target: str
) -> None:
    whole = opened(trace)
    start, stop = (whole.span[0] + moment * MS for moment in milliseconds)
    part_file = export_capture(whole, tmp_path / "part.h5", ExportSelection(start_ns=start, stop_ns=stop))
    of_range = diagnose(View(whole, Selection(start, stop)))
    with open_capture(part_file) as part:
        of_part = diagnose(View(part))
        kernels = compute_report(part, "cuda_gpu_kern_sum")
    assert of_range.budget is not None
    assert of_range.budget.waited_for == target
    assert _said(of_part) == _said(of_range)
    assert of_part.notices == of_range.notices
    has_gpu = target.startswith("GPU")
    assert ("the whole capture does" in str(kernels.result)) == has_gpu


def test_an_operator_longer_than_the_range_counts_as_long_as_the_range(
    data_dir: Path, tmp_path: Path
) -> None:
    trace = "critical_path/alexnet/benchmark_result_2869224_1695835535_trace.json.gz"
    import_files(
        [data_dir / "torch/facebookresearch+HolisticTraceAnalysis/tests/data" / trace], tmp_path / "x.h5"
    )
    with open_capture(tmp_path / "x.h5") as whole:
        start, stop = whole.span[0] + 1_200_000_000, whole.span[0] + 1_250_000_000
        of_range = diagnose(View(whole, Selection(start, stop)))
        part_file = export_capture(whole, tmp_path / "part.h5", ExportSelection(start_ns=start, stop_ns=stop))
    with open_capture(part_file) as part:
        of_part = diagnose(View(part), of="process/2869224.1/thread/2869224.1/operators")
    operators = next(finding for finding in of_part.findings if finding.id == "operators")
    assert "aten::empty_strided: 50.00 ms (100 %) in one call" in operators.text  # of 29.94 s
    assert not of_part.notices
    assert not any("∞" in finding.text for finding in of_range.findings)
