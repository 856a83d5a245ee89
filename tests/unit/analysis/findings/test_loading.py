"""Whether batches are made in the main process or by workers, of recordings whose hooks tell."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.analysis.findings.test_engine import MS

from warpline.analysis.findings.diagnose import diagnose
from warpline.analysis.framework.selection import View
from warpline.storage import CaptureBuilder, open_capture


@pytest.mark.parametrize("in_main", [True, False])
def test_who_makes_the_batches_decides_the_advice(tmp_path: Path, in_main: bool) -> None:
    # The main thread runs while it gets a batch: to make it, or to take it from a worker.
    path = tmp_path / "run.h5"
    with CaptureBuilder(path) as builder:
        builder.set_span(0, 100 * MS)
        for pid in (71, 72):
            process = builder.add_process(pid, name="python")
            thread = builder.add_thread(process, pid, name="python")
            base = f"process/{pid}.1/thread/{pid}.1"
            state, phases = (
                builder.track(f"{base}/{role}", role=role, process=process, thread=thread)
                for role in ("state", "phases")
            )
            builder.add_events(state, "thread_state", [0], [100 * MS], [builder.string("running")])
            if pid == 71:
                code = builder.string("DataLoader.__next__")
                builder.add_events(phases, "phase", [0, 50 * MS], [40 * MS, 40 * MS], [code, code])
            if (pid == 71) == in_main:
                builder.add_events(phases, "phase", [1 * MS], [30 * MS], [builder.string("fetch batch")])
        builder.finish()
    with open_capture(path) as capture:
        found = {finding.id: finding for finding in diagnose(View(capture)).findings}
    assert ("main process" in found["data_loading"].text) == in_main
    assert ("workers that are too slow" in found["data_loading"].text) != in_main
