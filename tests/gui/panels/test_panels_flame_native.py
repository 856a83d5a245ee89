"""Native functions in the flame graph: told apart by colour and legend, and explained where they have no line."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot
from tests.gui.native_sample import DEFLATE, FAULT, write_native_sample
from tests.gui.panels.panel_tools import LEFT, OpenPage, panel_of, settle

from warpline.model.frames import StackFrame
from warpline_app.look.theme import DARK, LIGHT
from warpline_app.panels.flame.colors import Code, code_of, color_of_code
from warpline_app.panels.flame.panel import FlamePanel
from warpline_app.panels.source.panel import SourcePanel
from warpline_app.window.capture_page import CapturePage
from warpline_app.window.main_window import MainWindow


@pytest.fixture
def page(open_page: OpenPage, tmp_path: Path) -> CapturePage:
    source = tmp_path / "pack.py"
    source.write_text("def crunch():\n    zlib.compress(data)\n")
    return open_page(write_native_sample(tmp_path / "pack.h5", source))


def box_of(panel: FlamePanel, page: CapturePage, name: str) -> int:
    flame = panel.view.flame
    assert flame is not None
    return next(box for box in range(len(flame)) if flame.text(page.document.capture, box).startswith(name))


def test_native_functions_are_told_apart_and_say_why_they_have_no_line(
    qtbot: QtBot, window: MainWindow, page: CapturePage
) -> None:
    panel = panel_of(qtbot, window, "flame", FlamePanel)
    assert panel.source.currentData() == "on_cpu"
    assert panel.legend.codes == (Code.SOURCE, Code.NATIVE, Code.KERNEL)
    assert panel.legend.isVisible()
    picture = panel.view.grab().toImage()
    scale = picture.devicePixelRatio()
    found = {}
    for name in (DEFLATE, FAULT):
        rect = panel.view.rect_of(box_of(panel, page, name))
        found[name] = picture.pixelColor(int((rect.left() + 2) * scale), int((rect.top() + 2) * scale)).name()
    assert found[DEFLATE] == color_of_code(panel.theme, Code.NATIVE, "libz.so.1").name()
    assert found[FAULT] == color_of_code(panel.theme, Code.KERNEL).name()
    native = box_of(panel, page, DEFLATE)
    assert "known by its symbol only" in panel.view.tip(native)
    qtbot.mouseClick(panel.view, LEFT, pos=panel.view.rect_of(native).center())
    source = panel_of(qtbot, window, "source", SourcePanel)
    qtbot.waitUntil(lambda: "deflate" in source.missing.text(), timeout=60_000)
    assert "libz.so.1" in source.missing.text()
    # A line of Python is still found by its file.
    page.document.state.show_source(StackFrame("crunch", str(page.document.path.parent / "pack.py"), 2))
    settle(qtbot, window)
    assert source.code.line == 2


def test_colours_of_native_functions_are_no_hues_of_names() -> None:
    assert code_of(StackFrame("f", "a.py", 1)) is Code.SOURCE
    for theme in (DARK, LIGHT):
        native = {color_of_code(theme, Code.NATIVE, name).name() for name in ("a", "b", "c", "libz.so.1")}
        assert not native & set(theme.hues)
        assert color_of_code(theme, Code.KERNEL).name() not in native
