"""What two captures say of themselves and differ in."""

from __future__ import annotations

from pathlib import Path

from warpline.analysis.compare.causes import cause_title
from warpline.analysis.compare.comparison_text import fact_rows
from warpline.analysis.compare.metadata import FactChange, compare_metadata
from warpline.analysis.findings.categories import CATEGORIES
from warpline.storage import CaptureBuilder, open_capture


def test_versions_in_the_header_of_a_trace_are_told(tmp_path: Path) -> None:
    paths = [tmp_path / "a.h5", tmp_path / "b.h5"]
    for number, path in enumerate(paths):
        with CaptureBuilder(path) as builder:
            builder.set_span(0, 1)
            header = {"cuda_runtime_version": 12000 + number, "trace_id": str(number), "with_stack": number}
            builder.meta["trace_header"] = {"file": header}
            builder.meta["page_fault_ns"] = 4000 + number
            builder.finish()
    with open_capture(paths[0]) as a, open_capture(paths[1]) as b:
        found = [(fact.group, fact.name, fact.a, fact.b) for fact in compare_metadata(a, b)]
    assert ("versions", "cuda_runtime_version", "12000", "12001") in found
    assert ("sources", "with_stack", "0", "1") in found
    assert len(found) == 2


def test_what_one_side_alone_tells_is_one_row() -> None:
    both = FactChange("versions", "cuda", "12.1", "12.4")
    alone = [FactChange("machine", f"host.{number}", None, "x") for number in range(11)]
    rows = fact_rows([both, FactChange("sources", "with_stack", "1", None), *alone])
    assert rows[:2] == [("versions: cuda", "12.1", "12.4"), ("only in A", "with_stack", "–")]
    (last,) = rows[2:]
    assert last[:2] == ("only in B", "–")
    assert last[2].startswith("host.0, host.1, ")
    assert last[2].endswith(", host.7 and 3 more")


def test_a_fact_called_like_its_group_says_so_once_and_locks_are_called_as_in_a_budget() -> None:
    assert fact_rows([FactChange("command", "command_line", "a", "b")]) == [("command line", "a", "b")]
    titles = {category.key: category.title for category in CATEGORIES}
    assert [cause_title(cause) for cause in ("lock", "gil")] == [titles["lock"], titles["gil"]]
