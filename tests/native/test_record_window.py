"""What ``warpline record`` made of a program on the simulated GPU, in the window: kernels on streams, their arrows."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("PySide6")

import numpy as np
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot
from tests.native.conftest import Record

from warpline.storage import open_capture
from warpline_app.look.theme import DARK
from warpline_app.open.document import Document
from warpline_app.timeline.widgets.view import TimelineView

PROGRAM = """
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
cuda.cuInit(0)
for _ in range(3):
    cuda.simulatedLaunch(ctypes.c_char_p(b"axpy"), 7, ctypes.c_uint64(40_000_000))
    cuda.simulatedGraph(3, 4, 9, ctypes.c_uint64(10_000_000))
    cuda.simulatedSynchronize(7)
"""


def pixels(widget: QWidget) -> np.ndarray:
    """What is painted, 0xffrrggbb."""
    image = widget.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
    return np.frombuffer(image.constBits(), np.uint32).reshape(image.height(), -1).copy()


@pytest.fixture
def view(qtbot: QtBot, record: Record) -> Iterator[TimelineView]:
    path: Path = record(sys.executable, "-c", PROGRAM, options=("--trace", "cpu,cuda"))
    made = TimelineView(Document(open_capture(path)), theme=DARK)
    made.resize(1270, 900)
    with qtbot.waitExposed(made, timeout=60_000):
        made.show()
    qtbot.waitUntil(lambda: made.is_idle, timeout=60_000)
    yield made
    made.shut_down()
    made.close()
    made.document.close()
    made.deleteLater()


def test_arrows_lead_from_the_calls_to_the_kernels_on_their_streams(view: TimelineView, qtbot: QtBot) -> None:
    capture = view.document.capture
    first, last = (int(edge) for edge in capture.event_times(capture.kinds["kernel"].rows)[0][[0, -1]])
    view.state.set_view(min(first, last) - 50_000_000, max(first, last) + 100_000_000)
    streams = [track for track in capture.tracks if track.role == "stream"]
    assert {track.stream for track in streams} == {7, 9}
    launches = {
        capture.strings[int(capture.events.name[row])]: row for row in capture.kinds["cuda_api"].rows.tolist()
    }
    for name, kernels in (("cudaLaunchKernel", 1), ("cudaGraphLaunch", 4)):
        view.state.select(None)
        view.scene.reveal_event(launches[name])
        qtbot.waitUntil(lambda: view.is_idle, timeout=60_000)
        before = pixels(view.canvas)
        view.state.select(launches[name])
        qtbot.waitUntil(lambda: view.is_idle, timeout=60_000)
        assert len(view.canvas.overlay.selection_links.links) == kernels
        after = pixels(view.canvas)
        drawn = (after == view.theme.rgb("link")) & (before != after)
        assert int(np.count_nonzero(drawn)) > 30
