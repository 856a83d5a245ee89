"""Times together from one sweep over lanes against sorting all borders, on random work of a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.analysis.analysis_tools import rows_of
from tests.unit.effort import rounds

from warpline.analysis.framework.nesting import library
from warpline.analysis.framework.selection import Selection, View
from warpline.analysis.structure.gpus import active_span, gpu_work, gpus
from warpline.model import Packing
from warpline.storage import Capture, CaptureBuilder, open_capture

KINDS = ("kernel", "memcpy", "memset", "sync")


def write(path: Path, seed: int) -> Capture:
    rng = np.random.default_rng(seed)
    with CaptureBuilder(path) as builder:
        names = builder.strings(("gemm", "ncclDevKernel_AllReduce", "relu", "copy"))
        builder.add_device(0, "Test GPU")
        gpu = builder.track("gpu/0", role="gpu", device=0)
        for stream in range(int(rng.integers(1, 5))):
            clock = builder.add_clock("c", int(rng.integers(-50, 50)))
            track = builder.track(
                f"gpu/0/context/1/stream/{stream}",
                role="stream",
                parent=gpu,
                device=0,
                context=1,
                stream=stream,
                clock=clock,
                packing=Packing.PACK,
            )
            for kind in KINDS:
                n = int(rng.integers(0, 25))
                start, duration = rng.integers(0, 300, n), rng.integers(0, 15, n)
                builder.add_events(track, kind, start, duration, rng.choice(names, n))
        builder.finish()
    return open_capture(path)


def selections(capture: Capture, seed: int) -> Iterator[Selection]:
    rng = np.random.default_rng(seed)
    low, high = capture.span
    for names in (None, frozenset(rng.integers(0, 6, 2).tolist())):
        yield Selection(names=names)
        start, stop = np.sort(rng.integers(low - 9, high + 9, 2)).tolist()
        yield Selection(start, stop, names=names)


def span_of_work(view: View) -> list[tuple[int, int]]:
    found = []
    for gpu in gpus(view):
        events = gpu_work(view, gpu)
        start, stop = (int(events.start.min()), int(events.stop.max())) if len(events) else (0, 0)
        found.append((max(start, view.start_ns), min(stop, view.stop_ns)) if len(events) else (0, 0))
    return found


@pytest.mark.fuzz
@given(st.integers(0, 2**32))
@settings(max_examples=rounds(5), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_sweep_agrees_with_sorted_borders(tmp_path: Path, seed: int) -> None:
    with write(tmp_path / "x.h5", seed) as capture:
        if not any(kind in capture.kinds for kind in KINDS[:3]):
            return
        for selection in selections(capture, seed):
            view = View(capture, selection)
            assert [active_span(view, gpu) for gpu in gpus(view)] == span_of_work(view)
            if library() is None:
                continue
            reports = ("overlap", "stream_concurrency")
            swept = [rows_of(capture, report, selection) for report in reports]
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("warpline.analysis.framework.lane_sweep.library", lambda: None)
                assert [rows_of(capture, report, selection) for report in reports] == swept
