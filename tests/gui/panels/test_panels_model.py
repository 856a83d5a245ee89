"""The panel Model: the tree of modules and their areas, linked to the timeline both ways."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QDesktopServices, QMouseEvent
from PySide6.QtWidgets import QApplication, QMenu
from pytestqt.qtbot import QtBot
from tests.gui.panels.panel_tools import LEFT, OpenPage, panel_of, settle

from warpline.model import Flag
from warpline.model.track_factory import TrackSpec
from warpline.storage import CaptureBuilder
from warpline_app.panels.charts.share_view import Part
from warpline_app.panels.model import graph_view
from warpline_app.panels.model.documentation import pages_of
from warpline_app.panels.model.layers import layered, layers_in_a_row
from warpline_app.panels.model.panel import ModelPanel
from warpline_app.window.main_window import MainWindow


@pytest.fixture
def network(tmp_path: Path) -> Path:
    path = tmp_path / "network.h5"
    with CaptureBuilder(path) as builder:
        process = builder.add_process(71, name="python")
        thread = builder.add_thread(process, 71)
        track = builder.add_track(
            TrackSpec(uri="process/71.1/thread/71.1/modules", title="Modules", role="modules"),
            process=process,
            thread=thread,
        )
        builder.add_events(
            track,
            "module",
            np.array([0, 100, 500, 600]) * 1000,
            np.array([1000, 300, 400, 100]) * 1000,
            builder.strings(["net", "net.first", "net.second", "net.second.act"]),
            attributes={
                "class_name": builder.strings(["Net", "Linear", "Block", "ReLU"]),
                "host_kept_bytes": np.array([600, 300, 200, 400]) << 10,
            },
        )
        builder.finish()
    return path


def names(panel: ModelPanel) -> list[str]:
    return [panel.table.full_name(item) for item in panel.table.model_.items_shown().tolist()]


def test_modules_stand_as_a_tree_and_as_areas(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, network: Path
) -> None:
    page = open_page(network)
    panel = panel_of(qtbot, window, "model", ModelPanel)
    # The larger comes first, and names go on where those above end.
    assert names(panel) == ["net", "second", "act", "first"]
    shares = {part.full_name: part.share for part in panel.areas.parts}
    assert shares == pytest.approx({"net": 0.3, "net.first": 0.3, "net.second": 0.3, "net.second.act": 0.1})
    # The more a module took, the stronger its colour.
    colors = {part.full_name: part.color for part in panel.areas.parts}
    assert colors["net"] == colors["net.first"] != colors["net.second.act"]
    strings = page.document.capture.strings
    item = next(i for i in range(4) if panel.table.full_name(i) == "act")
    place = panel.areas.place_of(item)
    qtbot.mouseClick(panel.areas, LEFT, pos=QPoint(place.center()))
    assert {strings[name] for name in page.document.state.highlight} == {"net.second.act"}
    assert panel.table.current_item() == item


def test_areas_and_graph_stand_for_the_memory_that_calls_keep(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, network: Path
) -> None:
    open_page(network)
    panel = panel_of(qtbot, window, "model", ModelPanel)
    panel.measure.setCurrentIndex(panel.measure.findData("host_self_kept_bytes"))
    settle(qtbot, window)
    # Of net.second's 200 KiB its activation keeps 400: it gives back 200 itself.
    shares = {part.full_name: part.share for part in panel.areas.parts if part.share}
    assert shares == pytest.approx({"net": 1 / 8, "net.first": 3 / 8, "net.second.act": 4 / 8})


def test_a_call_on_the_timeline_chooses_its_module(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, network: Path
) -> None:
    page = open_page(network)
    panel = panel_of(qtbot, window, "model", ModelPanel)
    capture = page.document.capture
    row = next(r for r in range(4) if capture.strings[int(capture.events.name[r])] == "net.second")
    page.document.state.select(row)
    settle(qtbot, window)
    chosen = panel.table.current_item()
    assert chosen is not None
    assert panel.table.full_name(chosen) == "second"
    page.document.state.select_range(0, 450_000)
    settle(qtbot, window)
    assert names(panel) == ["net", "first"]


def test_the_graph_shows_who_follows_whom_and_goes_inside(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, network: Path
) -> None:
    pytest.importorskip("grandalf")
    page = open_page(network)
    panel = panel_of(qtbot, window, "model", ModelPanel)
    panel.style_.setCurrentIndex(1)
    settle(qtbot, window)
    graph = panel.graph
    # Of one outermost module, what is in it.
    assert [(node.part.full_name, node.has_more) for node in graph.nodes] == [
        ("net.first", False),
        ("net.second", True),
    ]
    assert graph.edges == [(0, 1, 1)]
    assert [node.part.share for node in graph.nodes] == pytest.approx([0.3, 0.4])
    first, second = (graph.place_of(node.part.item) for node in graph.nodes)
    # Side by side, or below each other in a panel that is higher than wide.
    assert first.right() < second.left() or first.bottom() < second.top()
    qtbot.mouseClick(graph, LEFT, pos=second.center().toPoint())
    strings = page.document.capture.strings
    assert {strings[name] for name in page.document.state.highlight} == {"net.second"}
    assert panel.table.current_item() == graph.nodes[1].part.item
    qtbot.mouseDClick(graph, LEFT, pos=second.center().toPoint())
    assert [node.part.full_name for node in graph.nodes] == ["net.second.act"]
    qtbot.keyClick(graph, Qt.Key.Key_Backspace)
    qtbot.keyClick(graph, Qt.Key.Key_Backspace)
    assert [node.part.full_name for node in graph.nodes] == ["net"]


def test_without_modules_it_says_what_to_record(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    open_page(sample)
    panel = panel_of(qtbot, window, "model", ModelPanel)
    assert "--trace steps" in panel.missing.text()


def test_layers_go_from_left_to_right_and_on_in_a_further_row() -> None:
    pytest.importorskip("grandalf")
    diamond = layered(4, [(0, 1), (0, 2), (1, 3), (2, 3), (3, 0)], 36, 14)
    assert [layer for layer, _y in diamond] == [0, 1, 1, 2]
    assert abs(diamond[1][1] - diamond[2][1]) >= 36 + 14
    apart = layered(3, [(0, 2)], 36, 14)
    assert apart[1][1] - max(apart[0][1], apart[2][1]) >= 36 + 14
    # Four rows of 60 are scaled to 5/6 in 200, three layers of 180 to 3/4 in 400.
    assert layers_in_a_row(7, (180, 60), (400, 200)) == 2
    assert layers_in_a_row(7, (180, 60), (2000, 200)) == 7


def test_without_a_layout_the_graph_says_what_to_install(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, network: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph_view, "can_lay_out", lambda: False)
    open_page(network)
    panel = panel_of(qtbot, window, "model", ModelPanel)
    panel.style_.setCurrentIndex(1)
    assert panel.graph.nodes
    assert panel.graph.edges
    assert not panel.graph.grab().isNull()


def test_the_flow_of_a_node_stands_out_while_it_is_pointed_at(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, network: Path
) -> None:
    pytest.importorskip("grandalf")
    open_page(network)
    panel = panel_of(qtbot, window, "model", ModelPanel)
    panel.style_.setCurrentIndex(1)
    graph = panel.graph
    graph.show_graph([_node(number) for number in range(4)], [(0, 1, 1), (1, 2, 1), (3, 2, 1)], "graph")
    assert graph.flow_of(1) == ({0, 1}, {0, 1, 2})
    assert graph.flow_of(-1) == ({0, 1, 2}, {0, 1, 2, 3})

    def ink(item: int) -> int:
        image = graph.grab(graph.place_of(item).toRect()).toImage()
        return image.pixelColor(image.width() // 2, image.height() - 4).lightness()

    before = [ink(item) for item in range(4)]
    for item in (1, 0):
        place = graph.place_of(item).center().toPoint()
        moved = QMouseEvent(
            QEvent.Type.MouseMove, place, graph.mapToGlobal(place), Qt.MouseButton.NoButton, Qt.MouseButton.NoButton,
            Qt.KeyboardModifier.NoModifier,
        )  # fmt: skip
        QApplication.sendEvent(graph, moved)
        assert graph.hovered == item
        lit = [ink(other) == before[other] for other in range(4)]
        assert lit == [other in graph.flow_of(item)[1] for other in range(4)]
    QApplication.sendEvent(graph, QEvent(QEvent.Type.Leave))
    assert graph.hovered == -1
    assert [ink(item) for item in range(4)] == before


def _node(number: int) -> graph_view.Node:
    return graph_view.Node(Part(number, f"layer {number}", 0.25, "#3060c0", f"net.{number}"), False)


def test_a_layer_leads_to_its_documentation(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, network: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_page(network)
    panel = panel_of(qtbot, window, "model", ModelPanel)
    opened: list[str] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url.toString()))
    titles = {}
    for item in range(4):
        menu = QMenu()
        qtbot.addWidget(menu)
        actions = panel.table.fill_menu(menu, item)
        titles[panel.table.full_name(item)] = [key for key in actions if key.startswith("page_")]
        if "page_Paddle" in actions:
            actions["page_Paddle"].trigger()
    # Both frameworks have these classes; classes of the program's own have no page.
    assert titles == {
        "net": [],
        "second": [],
        "act": ["page_PyTorch", "page_Paddle"],
        "first": ["page_PyTorch", "page_Paddle"],
    }
    assert opened[-1] == "https://www.paddlepaddle.org.cn/documentation/docs/en/api/paddle/nn/Linear_en.html"


@pytest.mark.parametrize(
    ("name", "others", "frameworks"),
    [
        ("Linear", {"Conv2D"}, ["Paddle"]),
        ("Linear", {"Conv2d", "LeNet"}, ["PyTorch"]),
        ("Linear", {"Conv2d", "Conv2D"}, ["PyTorch", "Paddle"]),
        ("Conv2d", set(), ["PyTorch"]),
        ("LeNet", {"Conv2d"}, []),
    ],
)
def test_other_layers_tell_the_framework(name: str, others: set[str], frameworks: list[str]) -> None:
    assert [framework for framework, _ in pages_of(name, frozenset({name, *others}))] == frameworks


def test_a_network_without_a_run_shows_its_parameters(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, tmp_path: Path
) -> None:
    path = tmp_path / "net.h5"
    with CaptureBuilder(path) as builder:
        builder.add_events(
            builder.track("modules", title="Layers"),
            "module",
            np.array([0, 1, 3]) * 1000,
            np.array([6, 1, 2]) * 1000,
            builder.strings(["Net", "body", "head"]),
            flags=int(Flag.ESTIMATED),
            attributes={
                "class_name": builder.strings(["Net", "Conv2D", "Linear"]),
                "parameters": np.array([100, 30, 70]),
                "output_shapes": builder.strings(["[1, 2]", "[1, 8]", "[1, 2]"]),
            },
        )
        builder.finish()
    open_page(path)
    panel = panel_of(qtbot, window, "model", ModelPanel)
    assert names(panel) == ["Net", "body", "head"]
    assert panel.measure.itemData(0) == "self_parameters"
    assert "times are not recorded" in panel.note.text()
    panel.show_inside(0)
    assert [(node.part.name, round(node.part.share, 2)) for node in panel.graph.nodes] == [
        ("body", 0.3),
        ("head", 0.7),
    ]
