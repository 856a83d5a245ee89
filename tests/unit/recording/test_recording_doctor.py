"""What the doctor says of a source is what a capture says of it, word for word."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpline.cli import main
from warpline.recording.doctor import check_sources
from warpline.storage import open_capture

TRACES = ("cpu", "nvml", "nvtx", "cuda", "osrt", "python", "torch")


def test_the_doctor_knows_every_source_and_a_capture_gives_its_reasons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", "")
    checks = {check.name: check for check in check_sources(every_python=False)}
    assert set(TRACES) <= {check.trace for check in checks.values()}
    output = tmp_path / "x.h5"
    assert main(["record", "--quiet", "-o", str(output), "--trace", ",".join(TRACES), "--", "true"]) == 0
    with open_capture(output) as capture:
        sources = {source.name: source for source in capture.sources}
    for name in ("nvml", "cuda", "osrt", "python", "torch"):
        check, source = checks[name], sources[name]
        if not check.available:
            assert (source.enabled, source.reason, source.remedy) == (False, check.reason, check.remedy)
            assert source.reason
            assert source.remedy
