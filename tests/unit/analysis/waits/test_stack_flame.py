"""Flame graphs of stacks: what waits and samples add up to, merged and where they happened."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.gui.wait_sample import LIBRARY, MS, SHORT, SOURCE, US, write_wait_sample
from tests.unit.analysis.analysis_tools import training_capture

from warpline.analysis.framework.report import NotRecorded
from warpline.analysis.framework.selection import Selection, View
from warpline.analysis.structure.flame import Flame
from warpline.analysis.structure.stack_flame import STACK_SOURCES, stack_flame
from warpline.storage import Capture, open_capture

GIL_NS = SHORT * 5 * US


@pytest.fixture
def fight(tmp_path: Path) -> Iterator[Capture]:
    source = tmp_path / "fight.py"
    source.write_text(SOURCE)
    with open_capture(write_wait_sample(tmp_path / "fight.h5", source)) as capture:
        yield capture


def graph(capture: Capture, source: str, selection: Selection | None = None, **how: bool) -> Flame:
    found = stack_flame(View(capture, selection), source, **how)
    assert isinstance(found, Flame)
    return found


def paths(capture: Capture, flame: Flame) -> dict[str, int]:
    """Own time of each path, outermost name first; files without their folders."""
    result: dict[str, int] = {}
    for box in range(len(flame)):
        names, at = [], box
        while at >= 0:
            names.append(
                flame.text(capture, at)
                .replace(f"({capture.path.parent}{os.sep}", "(")
                .replace(LIBRARY, "lib")
            )
            at = int(flame.parent[at])
        if flame.own[box]:
            result[" > ".join(reversed(names))] = int(flame.own[box])
    return result


def test_waiting_is_weighted_by_its_time(fight: Capture) -> None:
    flame = graph(fight, "off_cpu")
    assert (flame.unit, flame.total) == ("ns", 44 * MS + 20 * MS + GIL_NS)
    assert paths(fight, flame) == {
        "fight (fight.py:3) > Lock.acquire (lib:327)": 44 * MS,
        "fight (fight.py:5)": 20 * MS + GIL_NS,
    }


def test_reasons_come_first(fight: Capture) -> None:
    assert paths(fight, graph(fight, "reasons")) == {
        "lock > fight (fight.py:3) > Lock.acquire (lib:327)": 44 * MS,
        "sleep > fight (fight.py:5)": 20 * MS,
        "GIL > fight (fight.py:5)": GIL_NS,
    }


def test_samples_on_a_core_exclude_waiting_threads(fight: Capture) -> None:
    running, everything = graph(fight, "on_cpu"), graph(fight, "samples")
    assert (running.unit, running.total, everything.total) == ("samples", 5, 6)
    assert paths(fight, running) == {"fight (fight.py:3) > spin (fight.py:8)": 5}


def test_running_and_waiting_share_one_scale(fight: Capture) -> None:
    # The first fighter ran 10 + 20 + 5 ms, and half of the last 20.
    ran = 35 * MS + SHORT * 5 * US
    flame = graph(fight, "merged")
    assert paths(fight, flame) == {
        "fight (fight.py:3) > Lock.acquire (lib:327) > lock": 44 * MS,
        "fight (fight.py:3) > spin (fight.py:8) > on a core": ran,
        "fight (fight.py:5) > sleep": 20 * MS,
        "fight (fight.py:5) > GIL": GIL_NS,
    }
    assert flame.total == ran + 44 * MS + 20 * MS + GIL_NS


def test_boxes_in_time_order_lie_at_their_times(fight: Capture) -> None:
    flame = graph(fight, "off_cpu", Selection(0, 75 * MS), by_time=True)
    found = sorted(
        (int(left), int(value), flame.text(fight, box).partition(" (")[0], int(flame.depth[box]))
        for box, (left, value) in enumerate(zip(flame.left, flame.value, strict=True))
    )
    # The second fighter stands below the first, each below what it is called.
    assert found == [
        (10 * MS, 20 * MS, "Lock.acquire", 2),
        (10 * MS, 20 * MS, "fight", 1),
        (30 * MS, 20 * MS, "Lock.acquire", 5),
        (30 * MS, 20 * MS, "fight", 4),
        (50 * MS, 20 * MS, "fight", 1),
        (60 * MS, 4 * MS, "Lock.acquire", 5),
        (60 * MS, 4 * MS, "fight", 4),
    ]
    threads = [f"{thread.name} ({thread.tid})" for thread in fight.threads]
    assert [depth for depth, _title in flame.captions] == [0, 3]
    assert [title for _depth, title in flame.captions] == [title for title in threads if "fighter" in title][
        :2
    ]
    one = next(box for box in range(len(flame)) if flame.left[box] == 50 * MS)
    assert fight.event_span(int(flame.row[one])) == (50 * MS, 70 * MS)


def test_boxes_in_time_order_do_not_overlap(fight: Capture) -> None:
    for source in STACK_SOURCES:
        flame = graph(fight, source, by_time=True)
        by_depth: dict[int, list[tuple[int, int]]] = {}
        for depth, left, value in zip(
            flame.depth.tolist(), flame.left.tolist(), flame.value.tolist(), strict=True
        ):
            by_depth.setdefault(depth, []).append((left, left + value))
        for spans in by_depth.values():
            assert all(a[1] <= b[0] for a, b in itertools.pairwise(spans)), source
        assert all(0 <= left <= stop <= flame.total for spans in by_depth.values() for left, stop in spans)


def test_bottom_up_begins_with_the_waiting_function(fight: Capture) -> None:
    flame = graph(fight, "off_cpu", bottom_up=True)
    tops = {flame.text(fight, box).partition(" (")[0] for box in range(len(flame)) if flame.depth[box] == 0}
    assert tops == {"Lock.acquire", "fight"}


def test_missing_sources_give_a_reason(tmp_path: Path) -> None:
    with training_capture(tmp_path / "training.h5") as capture:
        for source in STACK_SOURCES:
            assert isinstance(stack_flame(View(capture), source), NotRecorded)
