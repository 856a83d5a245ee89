"""Parts of captures as captures: whole, by range, by track."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.interchange.export.export_tools import (
    NSYS,
    TORCH,
    attributes_of,
    events_of,
    links_of,
    samples_of,
    written,
)

from warpline.interchange.export.selection import ExportSelection, count_events
from warpline.model import Flag, UsageError
from warpline.model.track_patterns import match_tracks
from warpline.storage import NO_ROW, Capture, open_capture


@pytest.mark.parametrize("compress", [False, True])
def test_a_capture_survives_export_and_import(made: Capture, tmp_path: Path, compress: bool) -> None:
    with open_capture(written(made, tmp_path / "out.h5", compress=compress)) as copy:
        assert copy.is_mapped != compress
        assert events_of(copy) == events_of(made)
        assert links_of(copy) == links_of(made)
        for kind in made.kinds:
            assert attributes_of(copy, kind) == attributes_of(made, kind)
        for name in ("span", "sources", "skipped", "warnings", "processes", "threads", "devices", "clocks"):
            assert getattr(copy, name) == getattr(made, name)
        assert [vars(track) for track in copy.tracks] == [vars(track) for track in made.tracks]
        assert np.array_equal(copy.pauses, made.pauses)
        assert np.array_equal(copy.events.flags, made.events.flags)
        assert copy.meta["command_line"] == made.meta["command_line"]
        assert np.array_equal(copy.counters[0].values, made.counters[0].values, equal_nan=True)
        assert copy.counters[0].unit == "%"
        assert copy.strings.id("never used") is None


@pytest.mark.parametrize("file", [*TORCH[:2], *NSYS])
def test_recorded_captures_come_back_whole(imported: dict[str, Capture], tmp_path: Path, file: str) -> None:
    capture = imported[file]
    with open_capture(written(capture, tmp_path / "out.h5", compress=True)) as copy:
        assert events_of(copy) == events_of(capture)
        assert links_of(copy) == links_of(capture)
        assert samples_of(copy) == samples_of(capture)
        assert {name: len(table) for name, table in copy.kinds.items()} == {
            name: len(table) for name, table in capture.kinds.items()
        }
        assert np.array_equal(copy.lanes.count, capture.lanes.count)
        for kind in set(capture.kinds) & {"kernel", "sample", "operator", "memcpy", "thread_state"}:
            assert attributes_of(copy, kind) == attributes_of(capture, kind)


@settings(max_examples=40)
@given(bounds=st.tuples(st.integers(-50, 1300), st.integers(0, 700)))
def test_a_range_holds_what_overlaps_it(
    made: Capture, tmp_path_factory: pytest.TempPathFactory, bounds: tuple[int, int]
) -> None:
    start, stop = bounds[0], bounds[0] + bounds[1]
    out = tmp_path_factory.mktemp("range") / "out.h5"
    rows = np.arange(len(made.events))
    starts, stops = made.event_times(rows)
    inside = (starts < stop) & ((stops > start) | (starts >= start))
    with open_capture(written(made, out, start, stop)) as part:
        assert part.span == (start, stop)
        names = np.array(made.strings.get(made.events.name.tolist()))
        expected: Counter[tuple[Any, ...]] = Counter(
            (
                names[row],
                int(starts[row]),
                int(stops[row]),
                bool(starts[row] < start),
                bool(stops[row] > stop),
            )
            for row in rows[inside].tolist()
        )
        part_rows = np.arange(len(part.events))
        part_starts, part_stops = part.event_times(part_rows)
        flags = part.events.flags.tolist()
        found = Counter(
            (
                part.strings[int(part.events.name[row])],
                int(part_starts[row]),
                int(part_stops[row]),
                bool(flags[row] & Flag.CUT_START),
                bool(flags[row] & Flag.CUT_END),
            )
            for row in part_rows.tolist()
        )
        assert found == expected
        kept = set(rows[inside].tolist())
        pairs = zip(made.links.from_row.tolist(), made.links.to_row.tolist(), strict=True)
        wanted = Counter((source in kept, target in kept) for source, target in pairs)
        wanted.pop((False, False), None)
        ends = zip(part.links.from_row.tolist(), part.links.to_row.tolist(), strict=True)
        assert Counter((source != NO_ROW, target != NO_ROW) for source, target in ends) == wanted
        assert all(start <= begin < end <= stop for begin, end in part.pauses.tolist())
    assert count_events(made, ExportSelection(start, stop)) == int(inside.sum())


def test_counters_of_a_range_start_with_the_value_that_holds(made: Capture, tmp_path: Path) -> None:
    with open_capture(written(made, tmp_path / "out.h5", 120, 260)) as part:
        assert part.counters[0].times.tolist() == [100, 150, 200, 250]


def test_selected_tracks_bring_only_their_parents(made: Capture, tmp_path: Path) -> None:
    tracks = match_tracks(made.tracks, ["gpu/*"])
    with open_capture(written(made, tmp_path / "out.h5", None, None, tracks)) as part:
        assert {track.uri for track in part.tracks} == {"gpu/0", "gpu/0/process/71.1/context/1/stream/7"}
        assert set(part.kinds) == {"kernel"}
        assert Counter(part.links.from_row.tolist()) == {NO_ROW: 11}
        assert part.strings.id("launch") is None
    with pytest.raises(UsageError, match="nothing/"):
        match_tracks(made.tracks, ["gpu/*", "nothing/*"])
