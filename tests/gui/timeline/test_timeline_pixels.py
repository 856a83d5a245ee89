"""Painted pixels: lanes, states, density, pauses, names; also at twice the scale."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from pytestqt.qtbot import QtBot
from tests.gui.timeline.timeline_tools import (
    MAIN,
    STREAM,
    MakeView,
    at,
    pixels,
    rgb,
    wait_idle,
)
from tests.gui.timeline_sample import MS, US

from warpline_app.look.theme import CONTRAST, DARK, LIGHT, Theme
from warpline_app.timeline.draw.compositor import Frame
from warpline_app.timeline.draw.renderer import Drawn, Renderer, Viewport
from warpline_app.timeline.model.layout import Layout
from warpline_app.timeline.widgets.view import TimelineView


@pytest.mark.parametrize("theme", [DARK, LIGHT, CONTRAST], ids=lambda theme: theme.name)
def test_lanes_are_painted_where_their_events_are(make_view: MakeView, theme: Theme) -> None:
    view = make_view(theme)
    seen = pixels(view.canvas)

    def color(uri: str, time_ns: int, dy: int = 0) -> int:
        point = at(view, uri, time_ns)
        return int(seen[point.y() + dy, point.x()])

    assert color(STREAM, 72 * MS, 4) == theme.rgb("communication")
    assert color(STREAM, 80 * MS + 500 * US, 5) == theme.rgb("copy_to_device")
    assert color(STREAM, 90 * MS + 500 * US, 5) == theme.rgb("copy_to_host")
    assert color(STREAM, 65 * MS) not in {theme.rgb("kernel"), theme.rgb("communication")}
    assert color(f"{MAIN}/nvtx/default", 63 * MS, 5) == 0xFF24C444


def test_states_differ_in_colour_and_shape(view: TimelineView) -> None:
    seen = pixels(view.canvas)
    theme = view.theme
    capture = view.document.capture
    placed, line = view.scene.layout.lane_place[capture.track_lanes(capture.track(f"{MAIN}/state").index)[0]]
    top = view.scene.top_of(placed) + line.top

    def column(time_ns: int) -> np.ndarray:
        return seen[top : top + line.height, round(view.scene.scale.to_px(time_ns))]

    running, runnable = column(20 * MS) == theme.rgb("running"), column(45 * MS) == theme.rgb("runnable")
    assert running.sum() > runnable.sum() > 0
    assert np.flatnonzero(runnable)[0] > np.flatnonzero(running)[0]
    assert np.flatnonzero(runnable)[-1] == np.flatnonzero(running)[-1]
    left, right = (round(view.scene.scale.to_px(t * MS)) for t in (62, 69))
    hatched = seen[top + 3 : top + line.height - 3, left:right]
    assert len(np.unique(hatched)) >= 2
    assert len(np.unique(column(85 * MS))) == 1, "what was not recorded is empty"


def test_density_rises_with_the_busy_fraction(view: TimelineView) -> None:
    """Worker 1 runs 25 of every 50 us: its bar is about half as high as that of a thread that always runs."""
    seen = pixels(view.canvas)
    uri = "process/71.1/thread/72.1/state"
    capture = view.document.capture
    placed, line = view.scene.layout.lane_place[capture.track_lanes(capture.track(uri).index)[0]]
    top = view.scene.top_of(placed) + line.top
    block = seen[top : top + line.height, 100:900] == view.theme.rgb("running")
    heights = block.sum(axis=0)
    assert abs(np.median(heights) - line.height / 2) <= 1.5
    assert np.all(block[-1]), "columns stand on the baseline"


def test_two_grabs_of_an_idle_timeline_are_the_same(view: TimelineView) -> None:
    assert np.array_equal(pixels(view), pixels(view))


def test_a_coarse_frame_looks_alike_where_it_is_seen_and_in_memory_of_its_own(
    view: TimelineView, monkeypatch: pytest.MonkeyPatch
) -> None:
    view.canvas.slow_frame_s = 0.0
    drawn: list[tuple[bool, int]] = []
    draw = Renderer.draw

    def noted(renderer: Renderer, frame: Frame, layout: Layout, viewport: Viewport) -> Drawn:
        drawn.append((frame.is_own, viewport.bin_px))
        return draw(renderer, frame, layout, viewport)

    monkeypatch.setattr(Renderer, "draw", noted)
    view.scene.zoom(0.8, 300)
    below = pixels(view)
    assert drawn == [(False, 2)]
    monkeypatch.setattr(Frame, "below", lambda *_where: None)
    own = pixels(view)
    assert drawn[-1] == (True, 2)
    assert np.array_equal(below, own)
    assert len(np.unique(below[:, 300:])) > 20


def test_a_pause_has_a_texture(view: TimelineView) -> None:
    seen = pixels(view.canvas)
    capture = view.document.capture
    placed, line = view.scene.layout.lane_place[capture.track_lanes(capture.track("cpu/0").index)[0]]
    y = view.scene.top_of(placed) + line.top + 3
    left, right = (round(view.scene.scale.to_px(t * MS)) for t in (71, 74))
    assert len(np.unique(seen[y, left:right])) == 2
    outside = seen[y, round(view.scene.scale.to_px(50 * MS)) : round(view.scene.scale.to_px(58 * MS))]
    assert len(set(np.unique(outside).tolist()) - {rgb(view.theme, "grid")}) == 1


def test_labels_are_painted_on_wide_events_only(view: TimelineView, qtbot: QtBot) -> None:
    ink = {0xFF10141A}
    point = at(view, STREAM, 70 * MS)

    def has_ink() -> bool:
        seen = pixels(view.canvas)
        row = seen[
            point.y() - 6 : point.y() + 6,
            round(view.scene.scale.to_px(70 * MS)) : round(view.scene.scale.to_px(75 * MS)),
        ]
        return bool(np.isin(row, list(ink)).any())

    view.state.set_view(0, 100 * MS)
    wait_idle(qtbot, view)
    assert has_ink(), "5 ms of 100 are 50 pixels: room for the beginning of a name"
    view.resize(500, 700)
    wait_idle(qtbot, view)
    assert not has_ink(), "11 pixels are no room"


def test_a_theme_can_be_changed_while_it_is_shown(view: TimelineView, qtbot: QtBot) -> None:
    view.set_theme(LIGHT)
    wait_idle(qtbot, view)
    seen = pixels(view.canvas)
    assert (seen == LIGHT.rgb("canvas")).mean() > 0.2
    assert not (seen == DARK.rgb("canvas")).any()


@pytest.mark.skipif(os.environ.get("QT_SCALE_FACTOR") == "2", reason="this is the second run")
def test_pixels_are_the_same_at_twice_the_scale() -> None:
    """The tests of pixels once more in a process whose screen has two device pixels per logical one."""
    chosen = (
        "painted or differ_in_colour or density or ring or arrows_join or tab_that_goes or labels or pause"
    )
    here = str(Path(__file__).parent)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", here, "-q", "-x", "-k", chosen, "-p", "no:cacheprovider"],
        env={**os.environ, "QT_SCALE_FACTOR": "2", "QT_QPA_PLATFORM": "offscreen"},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout
