"""The roofline: a point for each operator, linked to its kernels."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF
from pytestqt.qtbot import QtBot
from tests.gui.panels.panel_tools import LEFT, OpenPage, panel_of
from tests.unit.analysis.analysis_tools import Program

from warpline_app.look.appearance import appearance
from warpline_app.panels.roofline.panel import RooflinePanel
from warpline_app.window.main_window import MainWindow

MS = 1_000_000


def _capture(path: Path, gpu: str) -> Path:
    """Two products, the second one launched twice, on a GPU of this name."""
    program = Program(path, gpu)
    for number, size in enumerate((4096, 512, 512)):
        start = number * 10 * MS
        shapes = json.dumps([[size, size], [size, size]])
        types = json.dumps(["c10::BFloat16"] * 2)
        program.host(
            "operators", "operator", start, start + MS, "aten::mm", input_shapes=shapes, input_types=types
        )
        call = program.launch(start + 1_000, start + 2_000)
        program.gpu("kernel", 7, start + 5_000, start + 205_000, f"gemm_bf16_{size}", call)
    program.builder.set_span(0, 30 * MS)
    program.finish().close()
    return path


def _position(panel: RooflinePanel, place: int) -> QPoint:
    roofline = panel.roofline
    assert roofline is not None
    x, y = panel.points(roofline)
    box = panel.chart.getPlotItem().getViewBox()
    point: QPoint = panel.chart.mapFromScene(box.mapViewToScene(QPointF(float(x[place]), float(y[place]))))
    return point


def test_a_click_on_a_point_highlights_its_kernels(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, tmp_path: Path
) -> None:
    page = open_page(_capture(tmp_path / "run.h5", "NVIDIA H100 80GB HBM3"))
    panel = panel_of(qtbot, window, "roofline", RooflinePanel)
    roofline = panel.roofline
    assert roofline is not None
    small = next(
        place
        for place, number in enumerate(roofline.groups)
        if dict(roofline.work.groups[number].work.sizes)["M"] == 512
    )
    qtbot.mouseClick(panel.chart.viewport(), LEFT, pos=_position(panel, small))
    qtbot.waitUntil(lambda: page.document.state.lit is not None, timeout=60_000)
    lit = page.document.state.lit
    assert lit is not None
    capture = page.document.capture
    names = [capture.strings[int(capture.events.name[row])] for row in lit.rows.tolist()]
    assert names == ["gemm_bf16_512"] * 2
    assert lit.ranges[:, 0].tolist() == [10 * MS + 5_000, 20 * MS + 5_000]
    assert "aten::mm 512 × 512 × 512 · 0 % of its limit" in panel.about(small)
    assert "69 % of its limit" in panel.about(1 - small)
    # Beside all points, a click removes the highlight.
    qtbot.mouseClick(panel.chart.viewport(), LEFT, pos=panel.chart.rect().center() + QPoint(0, 90))
    qtbot.waitUntil(lambda: page.document.state.lit is None, timeout=60_000)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_points_of_each_limit_have_a_colour_of_their_own(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, tmp_path: Path, theme: str
) -> None:
    open_page(_capture(tmp_path / "run.h5", "NVIDIA H100 80GB HBM3"))
    appearance().choose(theme)
    panel = panel_of(qtbot, window, "roofline", RooflinePanel)
    image = panel.chart.grab().toImage()
    width, height = image.width(), image.height()
    pixels = np.frombuffer(image.constBits(), np.uint8).reshape(height, -1, 4)[:, :width, :3]
    drawn = {tuple(color) for color in np.unique(pixels.reshape(-1, 3), axis=0).tolist()}
    for family in ("kernel", "overhead"):
        color = panel.theme.family(family)
        expected = tuple(int(color[place : place + 2], 16) for place in (5, 3, 1))
        assert expected in drawn, family


def test_an_unknown_device_is_drawn_but_not_judged(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, tmp_path: Path
) -> None:
    open_page(_capture(tmp_path / "run.h5", "Frobnicator 3000"))
    panel = panel_of(qtbot, window, "roofline", RooflinePanel)
    assert "not judged: the peak rates of Frobnicator 3000 are not known" in panel.legend.text()
    assert "of its limit" not in panel.about(0)
