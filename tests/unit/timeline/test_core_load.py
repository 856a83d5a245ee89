"""What a recorded program took of a core, and what the whole system did, are two numbers that never stand for one
another.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.gui.core_sample import MS, write_cores

from warpline.storage import Capture, open_capture
from warpline_app.timeline.model.core_load import CoreShares, counter_title, shares_of_cores
from warpline_app.timeline.model.curves import core_help, row_figure
from warpline_app.timeline.model.row import Content
from warpline_app.timeline.model.rows import RowTree


@pytest.fixture
def cores(tmp_path: Path) -> Iterator[Capture]:
    with open_capture(write_cores(tmp_path / "cores.h5")) as capture:
        yield capture


def test_a_core_shows_the_programs_and_the_systems_share(cores: Capture) -> None:
    tree = RowTree(cores)
    both, first, second = (tree.get(key) for key in ("cpu", "cpu/0", "cpu/1"))
    assert both is not None
    assert first is not None
    assert second is not None
    assert both.cores == 2
    assert shares_of_cores(cores, first, 0, 100 * MS) == pytest.approx(CoreShares(0.3, 0.9))
    assert row_figure(cores, first, 0, 100 * MS, None) == "30.0 % · system 90.0 %"
    assert row_figure(cores, first, 10 * MS, 40 * MS, None) == "100 % · system 90.0 %"
    # Nothing of the program ran there: its share is nought, and the system's is not taken for it.
    assert second.content is not Content.COUNTER
    assert row_figure(cores, second, 0, 100 * MS, None) == "0 % · system 50.0 %"
    assert row_figure(cores, both, 0, 100 * MS, None) == "15.0 % · system 70.0 %"
    assert core_help(cores, first, 0, 100 * MS) == [
        "30.0 % of the visible range: the recorded program",
        "90.0 % of it: the whole system, all programs and the kernel",
    ]


def test_the_systems_counter_of_a_core_has_its_own_title(cores: Capture) -> None:
    assert [counter_title(cores, counter) for counter in cores.counters] == ["System load"] * 2
    first = RowTree(cores).get("cpu/0")
    assert first is not None
    assert [child.title for child in first.children] == ["System load"]


def test_without_slices_the_programs_share_is_unknown_not_zero(tmp_path: Path) -> None:
    with open_capture(write_cores(tmp_path / "load.h5", with_slices=False)) as capture:
        core = RowTree(capture).get("cpu/0")
        assert core is not None
        assert core.content is Content.COUNTER
        assert row_figure(capture, core, 0, 100 * MS, None) == "system 90.0 %"
