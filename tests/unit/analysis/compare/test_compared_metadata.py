"""What two captures say of themselves and differ in."""

from __future__ import annotations

from pathlib import Path

from warpline.analysis.compare.metadata import compare_metadata
from warpline.storage import CaptureBuilder, open_capture


def test_versions_in_the_header_of_a_trace_are_told(tmp_path: Path) -> None:
    paths = [tmp_path / "a.h5", tmp_path / "b.h5"]
    for number, path in enumerate(paths):
        with CaptureBuilder(path) as builder:
            builder.set_span(0, 1)
            header = {"cuda_runtime_version": 12000 + number, "trace_id": str(number), "with_stack": number}
            builder.meta["trace_header"] = {"file": header}
            builder.finish()
    with open_capture(paths[0]) as a, open_capture(paths[1]) as b:
        found = [(fact.group, fact.name, fact.a, fact.b) for fact in compare_metadata(a, b)]
    assert ("versions", "cuda_runtime_version", "12000", "12001") in found
    assert ("sources", "with_stack", "0", "1") in found
    assert len(found) == 2
