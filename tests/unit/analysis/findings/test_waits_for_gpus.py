"""A wait for a GPU explains no more idle time than it lasted; what the host did besides is the host's."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.bench_findings.worlds import MS, US, World

from warpline.analysis.findings.diagnose import diagnose
from warpline.analysis.framework.selection import Selection, View
from warpline.storage import CaptureBuilder, open_capture

STEPS = 4


def _made(path: Path, kernel_ns: int, own_ns: int) -> None:
    """Steps of one kernel, a wait for it, and something else that the host does."""
    builder = CaptureBuilder(path)
    world = World(builder)
    for number in range(STEPS):
        world.launch("gemm", kernel_ns)
        world.wait()
        with world.inside("python", f"train.py({number}): receive"):
            world.work(own_ns)
    world.launch("gemm", kernel_ns)
    builder.set_span(0, max(world.free.values()))
    builder.finish()


@pytest.mark.parametrize(
    ("kernel_ns", "own_ns", "meanwhile"),
    [(2 * MS, 20 * MS, 2 * MS), (20 * MS, 2 * MS, 2 * MS), (5 * MS, 5 * MS, 5 * MS)],
)
def test_a_wait_explains_no_more_than_it_lasted(
    tmp_path: Path, kernel_ns: int, own_ns: int, meanwhile: int
) -> None:
    _made(tmp_path / "x.h5", kernel_ns, own_ns)
    with open_capture(tmp_path / "x.h5") as capture:
        told = diagnose(View(capture, Selection()))
    assert told.budget is not None
    found = {part.cause: part.time_ns for part in told.budget.parts}
    slack = STEPS * 30 * US
    assert abs(found["synchronization"] - STEPS * meanwhile) <= slack
    assert abs(found.get("host", 0) - STEPS * (own_ns - meanwhile)) <= slack
    texts = [finding.text for finding in told.findings if finding.id == "gpu_synchronization"]
    assert all(f"waits for it {STEPS} times" in text or f"waits {STEPS} times" in text for text in texts)
