"""Summaries as text, line by line against what Paddle printed of the same recordings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import warpline
from warpline.profiling.results import ProfilerResult
from warpline.profiling.tables import summary_text

RECORDINGS = ("paddle_lenet_cpu_b8s4", "paddle_mobilenetv2_cpu_mem")
TITLES = ("Device Summary", "Overview Summary", "Model Summary", "Operator Summary", "UserDefined Summary")


def blocks(text: str) -> dict[str, list[str]]:
    """Lines of the tables that come first, by title; Paddle's explanations below them left out."""
    found: dict[str, list[str]] = {}
    lines: list[str] | None = None
    for line in text.splitlines():
        stripped = line.strip()
        title = stripped.strip("-")
        if title in TITLES or title.startswith("Memory Summary"):
            lines = found.setdefault(title, []) if title not in found else None
        if stripped.startswith("==="):
            lines = None
        if lines is not None and stripped and not set(stripped) <= set("- "):
            lines.append(stripped)
        if stripped == "Note:":
            lines = None
    return found


def without_gpu(line: str) -> str:
    """Paddle prints 0 for what it did not record, and operators have a column of FLOPs at the end."""
    return re.split(r"  (?:0\.00|-) / ", line)[0].rstrip()


@pytest.mark.parametrize("name", RECORDINGS)
@pytest.mark.parametrize(
    "title", ["Device Summary", "Overview Summary", "Model Summary", "UserDefined Summary"]
)
def test_a_table_reads_as_paddle_prints_it(data_dir: Path, name: str, title: str) -> None:
    folder = data_dir / "paddle"
    printed = blocks((folder / f"{name}.summary.txt").read_text())[title]
    ours = blocks(summary_text(ProfilerResult(lambda: folder / f"{name}.pb")))[title]
    expected = [without_gpu(line) for line in printed if line != "Note:" and not line.startswith("Calls")]
    assert [without_gpu(line) for line in ours] == expected
    assert len(expected) >= 4


@pytest.mark.parametrize("name", RECORDINGS)
def test_operators_have_paddles_numbers_in_paddles_order(data_dir: Path, name: str) -> None:
    folder = data_dir / "paddle"
    printed = blocks((folder / f"{name}.summary.txt").read_text())["Operator Summary"][4:]
    ours = blocks(summary_text(ProfilerResult(lambda: folder / f"{name}.pb")))["Operator Summary"][4:]
    assert sorted(map(without_gpu, ours)) == sorted(map(without_gpu, printed))
    plain = summary_text(
        ProfilerResult(lambda: folder / f"{name}.pb"),
        op_detail=False,
        views=warpline.SummaryView.OperatorView,
    )
    operators = [without_gpu(line) for line in blocks(plain)["Operator Summary"][4:]]
    assert operators == [line for line in map(without_gpu, printed) if line in set(operators)]
    assert len(operators) < len(ours)


def test_order_unit_and_choice_of_tables(data_dir: Path) -> None:
    result = ProfilerResult(lambda: data_dir / "paddle" / f"{RECORDINGS[0]}.pb")
    view = warpline.SummaryView
    text = summary_text(
        result,
        sorted_by=warpline.SortedKeys.CPUMin,
        time_unit="us",
        views=[view.OperatorView, view.KernelView],
    )
    assert "Time unit: us" in text
    assert "Kernel Summary: kernel: the imported trace contains no GPU work" in text
    assert "Overview Summary" not in text
    heads = [line for line in text.splitlines() if " / " in line and line[0] not in " -N"]
    least = [float(line.split(" / ")[3]) for line in heads]
    assert len(least) > 5
    assert least == sorted(least, reverse=True)
    with pytest.raises(warpline.UsageError, match="unknown time unit"):
        summary_text(result, time_unit="min")
