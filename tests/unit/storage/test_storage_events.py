"""Events that go into a `CaptureBuilder` come out of `open_capture`, held to brute force."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.effort import rounds
from tests.unit.storage.scenario import FEW, SCENARIOS, Scenario, check

from warpline.storage import CaptureBuilder, open_capture
from warpline.storage.write import event_writer


@pytest.mark.fuzz
@given(SCENARIOS)
@FEW
def test_everything_added_is_read_again(tmp_path: Path, scenario: Scenario) -> None:
    capture, expected = scenario.write(tmp_path / "x.h5")
    with capture:
        check(capture, expected)


@pytest.mark.fuzz
@given(SCENARIOS)
@FEW
def test_tracks_too_large_for_memory_come_in_parts(tmp_path: Path, scenario: Scenario) -> None:
    limit = event_writer.PART_EVENTS_AT_LEAST
    event_writer.PART_EVENTS_AT_LEAST = 16
    try:
        # A budget this small spills every few events and sorts in parts of sixteen.
        capture, expected = scenario.write(tmp_path / "x.h5", memory_budget_bytes=4_000)
    finally:
        event_writer.PART_EVENTS_AT_LEAST = limit
    with capture:
        check(capture, expected)


@pytest.mark.fuzz
@given(SCENARIOS)
@settings(max_examples=rounds(3, 200), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_archive_form_has_the_same_content(tmp_path: Path, scenario: Scenario) -> None:
    capture, expected = scenario.write(tmp_path / "x.h5", compress=True)
    plain, _ = scenario.write(tmp_path / "y.h5")
    with capture, plain:
        check(capture, expected)
        assert not capture.is_mapped
        assert plain.is_mapped
        assert datasets(tmp_path / "x.h5") == datasets(tmp_path / "y.h5")


def datasets(path: Path) -> dict[str, list[object]]:
    found: dict[str, list[object]] = {}
    with h5py.File(path) as file:
        file.visititems(
            lambda name, node: found.update({name: node[:].tolist()}) if hasattr(node, "shape") else None
        )
    return found


@pytest.mark.fuzz
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 40), st.integers(0, 12)), min_size=1, max_size=60),
    st.sampled_from([1, 500, 1 << 20]),
    st.integers(1, 7),
)
@settings(max_examples=rounds(12, 3_000), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_events_of_many_tracks_at_once_are_those_added_one_by_one(
    tmp_path: Path, events: list[tuple[int, int, int]], budget: int, size: int
) -> None:
    def write(path: Path, at_once: bool) -> list[tuple[object, ...]]:
        with CaptureBuilder(path, memory_budget_bytes=budget) as builder:
            tracks = np.array([builder.track(f"t/{number}") for number in range(4)])
            ids: list[int] = []
            pieces = range(0, len(events), size) if at_once else range(len(events))
            for first in pieces:
                part = events[first : first + (size if at_once else 1)]
                track, start, duration = np.array(part).T
                numbers = np.arange(first, first + len(part))
                values = {"correlation": np.ma.MaskedArray(numbers, numbers % 3 == 0)}
                where = tracks[track] if at_once else int(tracks[track[0]])
                added = builder.add_events(where, "kernel", start, duration, 0, attributes=values)
                ids.extend(range(added, added + len(part)))
            builder.add_links("flow", ids[:-1], ids[1:])
            builder.finish()
        with open_capture(path) as capture:
            found, valid = capture.kinds["kernel"].column("correlation")
            own = zip(found.tolist(), valid.tolist(), strict=True)
            number = dict(zip(capture.kinds["kernel"].rows.tolist(), own, strict=True))
            rows = range(len(capture.events))
            times = zip(capture.events.start.tolist(), capture.events.duration.tolist(), strict=True)
            links = sorted(zip(capture.links.from_row.tolist(), capture.links.to_row.tolist(), strict=True))
            lanes = capture.lanes_of_rows(np.arange(len(capture.events))).tolist()
            return [*zip(times, lanes, (number[row] for row in rows), strict=True), *links]

    assert write(tmp_path / "a.h5", True) == write(tmp_path / "b.h5", False)
