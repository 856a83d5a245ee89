"""The timeline that pages look at: the same picture as the window's, and what is where in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from PySide6.QtGui import QColor, QImage
from pytestqt.qtbot import QtBot
from tests.gui.sample import GEMM, MS

from warpline_app.look.theme import DARK, LIGHT
from warpline_app.serving.drawing import open_file
from warpline_app.serving.png import png_bytes
from warpline_app.serving.shown_timeline import ShownTimeline
from warpline_app.serving.view_request import ViewRequest

VIEW = ViewRequest(start_ns=0, stop_ns=100 * MS, width_px=1000, height_px=600)


@pytest.fixture
def shown(sample: Path, qapp: object) -> Iterator[ShownTimeline]:
    document = open_file(sample)
    made = ShownTimeline(document)
    yield made
    made.close()
    document.close()


def drawn(shown: ShownTimeline, view: ViewRequest, qtbot: QtBot) -> tuple[dict[str, Any], QImage]:
    """The exact picture of a view."""
    shown.set_view(view)
    qtbot.waitUntil(lambda: shown.is_idle, timeout=60_000)
    measures, content = shown.picture()
    assert measures["is_exact"]
    return measures, QImage.fromData(content)


def pixels(image: QImage) -> npt.NDArray[np.uint32]:
    rgb = image.convertToFormat(QImage.Format.Format_RGB32)
    return np.frombuffer(rgb.constBits(), np.uint32).reshape(image.height(), -1)[:, : image.width()].copy()


@pytest.mark.parametrize("size", [(1, 1), (3, 2), (641, 7)])
def test_a_png_has_the_pixels_of_its_image(size: tuple[int, int]) -> None:
    image = QImage(*size, QImage.Format.Format_RGB32)
    random = np.random.default_rng(5)
    for y in range(size[1]):
        for x in range(size[0]):
            image.setPixelColor(x, y, QColor(*random.integers(0, 256, 3).tolist()))
    assert np.array_equal(pixels(QImage.fromData(png_bytes(image))), pixels(image))


def test_the_picture_is_that_of_the_window(shown: ShownTimeline, qtbot: QtBot) -> None:
    measures, image = drawn(shown, VIEW, qtbot)
    assert np.array_equal(pixels(image), pixels(shown.view.picture()))
    assert measures["size"] == [1000, 600]
    assert measures["view"] == [0, 100 * MS]
    assert np.count_nonzero(pixels(image) == QColor(DARK.hex("kernel")).rgb()) > 100


def test_a_picture_has_the_screens_resolution_and_theme(shown: ShownTimeline, qtbot: QtBot) -> None:
    measures, image = drawn(shown, replace(VIEW, ratio=2.0, theme="light"), qtbot)
    assert (image.width(), image.height()) == (2000, 1200)
    assert measures["size"] == [1000, 600]
    left, top, _width, _height = measures["canvas"]
    assert image.pixelColor(2 * left + 600, 2 * top + 600).name() in (LIGHT.canvas, LIGHT.alternate)
    again, smaller = drawn(shown, VIEW, qtbot)
    assert (smaller.width(), again["size"]) == (1000, [1000, 600])


def test_the_event_under_the_pointer(shown: ShownTimeline, qtbot: QtBot) -> None:
    view = replace(VIEW, start_ns=10 * MS, stop_ns=20 * MS)
    measures, _image = drawn(shown, view, qtbot)
    stream = next(row for row in measures["rows"] if "stream" in row["key"] and "#" not in row["key"])
    width = measures["canvas"][2]
    # The second kernel lasts from 12 ms to 13.01 ms.
    event = shown.event_at(width * 0.25, stream["top"] + stream["height"] / 2)
    assert event is not None
    assert event["times"] == [12 * MS, 13 * MS + 10_000]
    assert event["title"] == GEMM
    assert shown.event_at(width * 0.19, stream["top"] + stream["height"] / 2) is None
    after = shown.neighbour(event["row"], 1)
    assert after is not None
    assert after["times"][0] == 14 * MS
    back = shown.neighbour(after["row"], -1)
    assert back is not None
    assert back["row"] == event["row"]
    assert shown.neighbour(-1, 1) is None
    assert shown.neighbour(1 << 40, 1) is None

    selected, _image = drawn(shown, replace(view, selection=event["row"]), qtbot)
    assert selected["selection"]["title"] == GEMM
    older, _image = drawn(shown, replace(view, selection=1, generation=5), qtbot)
    assert older["selection"]["row"] == event["row"], "a row of another capture is no selection"
    assert drawn(shown, replace(view, selection=1 << 40), qtbot)[0]["selection"] is None


def test_rows_fold_and_scroll(shown: ShownTimeline, qtbot: QtBot) -> None:
    measures, _image = drawn(shown, VIEW, qtbot)
    folded = next(row for row in measures["rows"] if row["is_open"])
    closed, _image = drawn(shown, replace(VIEW, folds=((folded["key"], False),)), qtbot)
    assert closed["content_px"] < measures["content_px"]
    assert next(row for row in closed["rows"] if row["key"] == folded["key"])["is_open"] is False
    low, _image = drawn(shown, replace(VIEW, height_px=200, top_px=10_000), qtbot)
    assert low["top"] == low["most_top"] > 0
    assert drawn(shown, VIEW, qtbot)[0]["content_px"] == measures["content_px"]


def test_times_outside_the_capture_are_clamped(shown: ShownTimeline, qtbot: QtBot) -> None:
    measures, _image = drawn(shown, replace(VIEW, start_ns=1 << 61, stop_ns=1 << 62), qtbot)
    assert measures["view"] == [0, 100 * MS]
    whole, _image = drawn(shown, replace(VIEW, start_ns=0, stop_ns=0), qtbot)
    assert whole["view"] == whole["activity"]
    later, _image = drawn(shown, replace(VIEW, start_ns=0, stop_ns=10 * MS, follows=True), qtbot)
    assert later["view"] == [90 * MS, 100 * MS]


def test_a_filter_dims_the_rest(shown: ShownTimeline, qtbot: QtBot) -> None:
    plain, dimmed = (drawn(shown, replace(VIEW, names=names), qtbot)[1] for names in ("", "gemm"))
    assert not np.array_equal(pixels(plain), pixels(dimmed))


def test_curves_stay_when_the_resolution_changes(shown: ShownTimeline, qtbot: QtBot) -> None:
    drawn(shown, VIEW, qtbot)
    shown.set_view(replace(VIEW, ratio=2.0))
    shown.picture()
    assert shown.view.canvas.curves_wanted == ()
