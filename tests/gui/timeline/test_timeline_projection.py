"""Host ranges projected onto a GPU, in rows of their own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint
from pytestqt.qtbot import QtBot
from tests.gui.timeline.timeline_tools import LEFT, MAIN, STREAM, event_of, pixels, wait_idle
from tests.gui.timeline_sample import MS, US

from warpline.analysis.framework.selection import View
from warpline.analysis.structure.projection import ranges_on_stream
from warpline.interchange.framework.importing import import_files
from warpline.storage import open_capture
from warpline_app.timeline.model.layout import PlacedRow
from warpline_app.timeline.model.time_model import TimeScale
from warpline_app.timeline.widgets.view import TimelineView

KEY = "gpu/0#nvtx"


def opened(view: TimelineView, qtbot: QtBot) -> list[PlacedRow]:
    """The rows below the one that is opened with a click."""
    view.resize(1270, 900)
    wait_idle(qtbot, view)
    placed = next(one for one in view.scene.layout.rows if one.row.role == "projection")
    view.scene.scroll_to(placed.top - 300)
    wait_idle(qtbot, view)
    assert not placed.row.children, "nothing is computed before it is asked for"
    qtbot.mouseClick(view.header, LEFT, pos=QPoint(100, view.scene.top_of(placed) + 8))
    wait_idle(qtbot, view)
    return [one for one in view.scene.layout.rows if one.row.parent is placed.row]


def test_ranges_are_shown_where_the_gpu_felt_them(view: TimelineView, qtbot: QtBot) -> None:
    view.state.set_view(0, 50 * MS)
    outer, inner = opened(view, qtbot)
    assert (outer.row.title, inner.row.title) == ("Stream 7", "Stream 7 · level 2")
    assert outer.row.group is not None
    assert inner.row.group is not None
    # Calls from 10 to 29 ms launch kernels of 400 us two milliseconds later.
    capture = view.document.capture
    columns = outer.row.group.columns(capture)
    assert (columns.start.tolist(), columns.duration.tolist()) == ([12 * MS], [19 * MS + 400 * US])
    columns = inner.row.group.columns(capture)
    assert (columns.start.tolist(), columns.duration.tolist()) == ([14 * MS], [7 * MS + 400 * US])
    shown = pixels(view.canvas)
    scale: TimeScale = view.scene.scale
    y = view.scene.top_of(outer) + outer.height - 6
    event = event_of(view, f"{MAIN}/nvtx/default", 25 * MS)
    hue = view.canvas.renderer.colors.hue_of_names(np.array([capture.events.name[event]], np.int64))[0]
    bar = view.canvas.renderer.table.rgb(int(hue))
    for time, is_there in ((11.8, False), (12.3, True), (30, True), (31.6, False)):
        assert (int(shown[y, int(scale.to_px(round(time * MS)))]) == bar) == is_there, time
    qtbot.mouseClick(view.canvas, LEFT, pos=QPoint(round(scale.to_px(20 * MS)), y))
    assert view.state.selection == event
    wait_idle(qtbot, view)
    assert view.header.figures[outer.row.key] == "38.8 %"


def test_the_chain_lights_the_range_where_the_gpu_felt_it(view: TimelineView, qtbot: QtBot) -> None:
    view.state.set_view(0, 50 * MS)
    outer, inner = opened(view, qtbot)
    before = pixels(view.canvas)
    view.state.select(event_of(view, STREAM, 25 * MS + 200 * US))
    wait_idle(qtbot, view)
    after = pixels(view.canvas)
    x = round(view.scene.scale.to_px(18 * MS))
    places = [view.scene.top_of(row) + row.height - 6 for row in (outer, inner)]
    # The kernel was launched in the outer range, after the inner one.
    assert [before[y, x] == after[y, x] for y in places] == [True, False]


def test_the_rows_agree_with_the_projected_times_of_a_real_capture(data_dir: Path, tmp_path: Path) -> None:
    """Against brute force over the launches of one stream."""
    source = data_dir / "nsys/GindaChen+nsys-ai/tests/fixtures/h100_2gpu_1s.sqlite"
    if not source.exists():
        pytest.skip("no such capture here")
    import_files([source], tmp_path / "nsys.h5")
    with open_capture(tmp_path / "nsys.h5") as capture:
        stream = next(track.index for track in capture.tracks if track.role == "stream")
        lanes = ranges_on_stream(View(capture), stream)
        assert lanes
        part = capture.rows_of_track(stream)
        work, call = capture.links.to_row, capture.links.from_row
        mine = (work >= part.start) & (work < part.stop) & (call >= 0)
        begin, end = capture.event_times(work[mine])
        called, tracks = capture.event_times(call[mine])[0], capture.tracks_of_rows(call[mine])
        threads = np.array([capture.tracks[track].thread for track in tracks.tolist()])
        for lane in lanes:
            for at in range(0, len(lane.row), 1 + len(lane.row) // 40):
                row = int(lane.row[at])
                start, stop = capture.event_span(row)
                inside = (called >= start) & (called < stop)
                inside &= threads == capture.tracks[capture.track_of_row(row)].thread
                assert (lane.start[at], lane.stop[at]) == (begin[inside].min(), end[inside].max())
