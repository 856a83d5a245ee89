"""Sums of blocks against adding up every event, on random work of a GPU with blocks of a few events."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.analysis.framework.gpu_work import KINDS, selections, write_work
from tests.unit.effort import rounds

from warpline.analysis.framework import block_sums
from warpline.analysis.framework.block_sums import sums_by_name
from warpline.analysis.framework.loops.lane_times import times_by_name
from warpline.analysis.framework.nesting import library
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.selection import Selection, View
from warpline.analysis.framework.statistics import GroupStatistics, quick_statistics
from warpline.analysis.structure.kernels import kernel_statistics
from warpline.storage import CaptureBuilder, open_capture

pytestmark = pytest.mark.skipif(library() is None, reason="blocks are not compiled here")


def as_lists(stats: GroupStatistics) -> dict[str, list[float]]:
    return {field.name: np.nan_to_num(getattr(stats, field.name)).tolist() for field in fields(stats)}


def by_event(view: View, kind: str) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Names and times inside the range, computed of every event."""
    return ((events.name, events.inside) for events in view.batches(kind))


@pytest.mark.fuzz
@given(st.integers(0, 2**32), st.integers(1, 9))
@settings(max_examples=rounds(5), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_blocks_agree_with_sums_over_events(tmp_path: Path, seed: int, block: int) -> None:
    with write_work(tmp_path / "x.h5", seed) as capture, pytest.MonkeyPatch.context() as patch:
        patch.setattr(block_sums, "BLOCK", block)
        patch.setattr(block_sums, "_FINE_PER_COARSE", 2)
        patch.setattr(block_sums, "_EVENTS_PER_ENTRY", 0)
        names = len(capture.strings)
        for selection in selections(capture, seed):
            view = View(capture, selection)
            for kind in (kind for kind in KINDS if kind in capture.kinds):
                found = sums_by_name(view, kind)
                expected = quick_statistics(partial(by_event, view, kind), names)
                assert found is not None
                assert as_lists(found) == as_lists(expected)
                in_place = quick_statistics(partial(times_by_name, view, kind), names)
                assert as_lists(in_place) == as_lists(expected)


def test_unique_names_build_no_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_sums, "BLOCK", 2)
    with write_work(tmp_path / "x.h5", 7) as capture:
        assert len(capture.kinds["kernel"]) > 2
        assert sums_by_name(View(capture), "kernel") is None


def test_full_names_respect_the_name_filter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_sums, "BLOCK", 4)
    monkeypatch.setattr(block_sums, "_EVENTS_PER_ENTRY", 0)
    with CaptureBuilder(tmp_path / "x.h5") as builder:
        short, full = (
            builder.strings(texts) for texts in (("gemm", "relu"), ("gemm<float>()", "relu<int>()"))
        )
        builder.add_device(0, "Test GPU")
        track = builder.track("gpu/0/context/1/stream/1", role="stream", device=0, context=1, stream=1)
        turns = np.arange(40) % 2
        builder.add_events(
            track,
            "kernel",
            np.arange(40) * 10,
            np.full(40, 5),
            short[turns],
            attributes={"demangled_name": full[turns]},
        )
        builder.finish()
    with open_capture(tmp_path / "x.h5") as capture:
        view = View(capture, Selection(names=frozenset((int(short[0]),))))
        for quick in (False, True):
            stats = kernel_statistics(view, Options(quick=quick))
            assert [capture.strings[key] for key in stats.key.tolist()] == ["gemm<float>()"]
            assert stats.count.tolist() == [20]
