"""The pair of traces that HolisticTraceAnalysis tests `compare_traces` with, held to what its release 0.5.0 prints."""

from __future__ import annotations

import pytest
from tests.unit.analysis.analysis_tools import Open

from warpline.analysis.compare.alignment import Align
from warpline.analysis.compare.comparison import CaptureRun, Choices, Comparison, compare

_REPORTS = ("operator", "cuda_api_sum", "nvtx_sum")
_BY_HTA = {
    1009: {
        "aten::as_strided": (1, 0, 1, 0),
        "aten::empty": (1, 2, 1, 2),
        "cudaEventQuery": (1, 10, 1, 10),
        "cudaLaunchKernel": (1, 4, 1, 4),
        "nccl:all_reduce": (1, 66, 1, 66),
    },
    1010: {
        "aten::as_strided": (1, 0, 1, 0),
        "aten::empty": (1, 0, 1, 0),
        "cudaEventQuery": (1, 4, 1, 4),
        "cudaLaunchKernel": (1, 4, 1, 4),
        "nccl:all_reduce": (1, 67, 0, 0),
        "AddmmBackward0": (0, 0, 1, 207),
        "All2All_Pooled_Req": (0, 0, 1, 311),
        "CatBackward0": (0, 0, 1, 11),
    },
}
"""Of DeviceType.CPU by iteration and name: count and µs of the control trace, count and µs of the test trace."""
_STEPS = {1009: 100_298, 1010: 122_149}


_ADDED_INTEGERS = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<int>, "
    "at::detail::Array<char*, 3> >(int, at::native::CUDAFunctor_add<int>, at::detail::Array<char*, 3>)"
)
"""The kernel that HTA finds once in iteration 1010 of the control trace and not in that of the test trace: 4 µs."""


@pytest.fixture
def pair(opened: Open) -> tuple[CaptureRun, CaptureRun]:
    base, test = (opened(f"torch/**/trace_compare/{name}/{name}.json.gz") for name in ("base", "test"))
    return CaptureRun(base, "base"), CaptureRun(test, "test")


def _rows(found: Comparison) -> dict[str, tuple[int, int, int, int]]:
    """Count and µs of both sides by name, of all reports together."""
    return {
        row.key[table.keys.index("name")]: (
            int(row.count_a or 0), int((row.a or 0) / 1000), int(row.count_b or 0), int((row.b or 0) / 1000)
        )
        for table in found.tables
        for row in table.rows
    }  # fmt: skip


@pytest.mark.parametrize("step", [1009, 1010])
def test_counts_and_durations_of_an_iteration(pair: tuple[CaptureRun, CaptureRun], step: int) -> None:
    found = compare([pair[0]], [pair[1]], Choices(step=step, reports=_REPORTS))
    assert _rows(found) == _BY_HTA[step]
    assert (found.a.total_ns, found.b.total_ns) == (_STEPS[step] * 1000, _STEPS[step] * 1000)


def test_new_and_gone_are_those_of_ops_diff(pair: tuple[CaptureRun, CaptureRun]) -> None:
    found = compare([pair[0]], [pair[1]], Choices(step=1010, reports=_REPORTS))
    rows = [(row.text, row.a is None, row.b is None) for table in found.tables for row in table.rows]
    assert {name for name, is_new, _ in rows if is_new} == {
        "AddmmBackward0", "All2All_Pooled_Req", "CatBackward0"
    }  # fmt: skip
    assert {name for name, _, is_gone in rows if is_gone} == {"PushPop / nccl:all_reduce"}


def test_the_kernel_that_is_gone(pair: tuple[CaptureRun, CaptureRun]) -> None:
    found = compare([pair[0]], [pair[1]], Choices(align=Align.START, reports=("cuda_gpu_kern_sum",)))
    (row,) = [row for row in found.tables[0].rows if row.difference]
    assert row.text == _ADDED_INTEGERS
    assert (row.difference, (row.count_b or 0) - (row.count_a or 0)) == (-4_000, -1)
