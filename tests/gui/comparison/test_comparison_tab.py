"""The tab of two captures: locked views, matched rows, bars that lead to what they stand for, compared tables."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QPushButton, QRadioButton
from pytestqt.qtbot import QtBot
from tests.gui.comparison.comparison_sample import US, write_run

from warpline.analysis.compare.predictions import prediction_text
from warpline.cli import main
from warpline.model import Flag
from warpline.storage import CaptureBuilder
from warpline_app.comparison.page import ComparisonPage
from warpline_app.comparison.picture import SIZE
from warpline_app.dialogs.compare_with import CompareWithDialog
from warpline_app.dialogs.share_comparison import write_comparison
from warpline_app.open.comparing import ComparedPair, distinct_names
from warpline_app.state.view_lock import LockMode
from warpline_app.window.main_window import MainWindow

_WAIT_MS = 60_000


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("runs")
    return (
        write_run(folder / "before.h5", load_us=500, kernel="gemm_128x64", pid=71),
        write_run(folder / "after.h5", load_us=100, kernel="gemm_256x64", pid=92),
    )


@pytest.fixture
def page(qtbot: QtBot, window: MainWindow, files: tuple[Path, Path]) -> ComparisonPage:
    window.workspace.compare(*files)
    qtbot.waitUntil(lambda: isinstance(window.workspace.front, ComparedPair), timeout=_WAIT_MS)
    found = window.tabs.timeline_page
    assert isinstance(found, ComparisonPage)
    qtbot.waitUntil(lambda: found.is_idle, timeout=_WAIT_MS)
    return found


def settle(qtbot: QtBot, page: ComparisonPage) -> None:
    qtbot.waitUntil(lambda: page.is_idle, timeout=_WAIT_MS)


def test_what_is_compared_is_shown_beginning_at_the_same_place(page: ComparisonPage) -> None:
    found = page.pair.comparison
    assert (found.a.total_ns, found.b.total_ns) == (801 * US, 401 * US)
    a, b = (view.state.view for view in page.views)
    assert a[1] - a[0] == b[1] - b[0]
    assert a[0] - int(found.a.windows.start[0]) == b[0] - int(found.b.windows.start[0])
    assert "-400" in page.controls.result.text()


def test_a_prediction_that_came_true_is_shown_above_the_timelines(page: ComparisonPage) -> None:
    comparison = page.pair.comparison
    assert comparison.predictions
    assert page.controls.verdict_label.text().startswith(prediction_text(comparison.predictions))


def test_keys_move_both_and_go_to_the_one_that_was_clicked(
    qtbot: QtBot, window: MainWindow, page: ComparisonPage
) -> None:
    first, second = page.views
    before = first.state.view
    first.setFocus()
    qtbot.keyClick(first, Qt.Key.Key_W)
    assert first.state.view != before
    assert second.state.view[1] - second.state.view[0] == first.state.view[1] - first.state.view[0]
    qtbot.mouseClick(second.canvas, Qt.MouseButton.LeftButton, pos=second.canvas.rect().center())
    assert window.workspace.current is page.pair.b
    assert window.context.navigator is page.navigators[1]
    here = first.state.view
    qtbot.keyClick(second, Qt.Key.Key_D)
    assert first.state.view[0] > here[0]


def test_alignment_is_a_command_and_a_choice(qtbot: QtBot, window: MainWindow, page: ComparisonPage) -> None:
    commands = window.commands.commands
    assert page.pair.lock.mode is LockMode.STEP
    window.commands.run("compare.freely")
    assert page.controls.mode.currentData() == LockMode.FREE
    view = page.views[1].state.view
    page.views[0].state.set_view(0, 100 * US)
    assert page.views[1].state.view == view
    assert commands["compare.by_mark"].refusal(window.context) is not None
    for side in page.views:
        side.state.add_mark(side.state.view[0] + 10 * US, "here")
    assert commands["compare.by_mark"].refusal(window.context) is None
    window.commands.run("compare.by_mark")
    page.views[0].state.set_view(0, 50 * US)
    marks = [side.state.timed_notes[0][0] - side.state.view[0] for side in page.views]
    assert marks[0] == marks[1]


def test_rows_stand_against_their_counterparts(page: ComparisonPage) -> None:
    a, b = (view.scene.tree for view in page.views)
    pairs = {
        a.get(key).title: b.get(other).title  # type: ignore[union-attr]
        for key in [row.key for row in a.root.walk() if row.key]
        if (other := page.rows.counterpart(0, key)) and b.get(other)
    }
    assert pairs["Main 71"] == "Main 92"
    assert pairs["worker 72"] == "worker 93"
    assert pairs["Stream 7"] == "Stream 7"
    assert pairs["Stream 8"] == "Stream 9"
    main_a = next(row for row in a.root.walk() if row.title == "Main 71")
    main_b = next(row for row in b.root.walk() if row.title == "Main 92")
    assert page.rows.counterpart(1, main_b.key) == main_a.key
    page.views[0].state.set_expanded(main_a.key, False)
    assert page.views[1].state.expanded[main_b.key] is False
    page.controls.match.setChecked(False)
    page.views[0].state.set_expanded(main_a.key, True)
    assert page.views[1].state.expanded[main_b.key] is False
    page.controls.match.setChecked(True)
    assert page.views[1].state.expanded[main_b.key] is True


def test_a_bar_leads_both_timelines_to_its_part(qtbot: QtBot, page: ComparisonPage) -> None:
    waterfall = page.waterfall
    place = waterfall.row_names.index("waiting for the data loader")
    qtbot.mouseClick(waterfall, Qt.MouseButton.LeftButton, pos=waterfall.row_rect(place).center())
    assert waterfall.chosen is not None
    assert waterfall.chosen.difference_ns == -400 * US
    assert any("_next_data" in name for name in waterfall.row_names)
    for view, side in zip(page.views, (page.pair.comparison.a, page.pair.comparison.b), strict=True):
        stretch = side.largest_stretch("loader")
        assert stretch is not None
        assert view.state.view[0] <= stretch[0] < stretch[1] <= view.state.view[1]
        assert view.document.capture.strings.id("enumerate(DataLoader)#_next_data") in view.state.highlight
    settle(qtbot, page)
    picture = waterfall.grab().toImage()
    bar = waterfall.row_rect(place)
    colors = {
        picture.pixelColor(x, bar.center().y()).name()
        for x in range(bar.width() // 3, bar.width() * 2 // 3, 3)
    }
    assert len(colors) > 1


def test_a_row_of_a_table_leads_to_the_longest_event_of_both(qtbot: QtBot, page: ComparisonPage) -> None:
    page.changes.show_report("cuda_gpu_kern_sum")
    settle(qtbot, page)
    table = page.changes.shown
    assert table is not None
    assert [(row.text, row.rules) for row in table.rows if row.rules] == [("gemm_…x…", ("tile",))]
    item = next(place for place, row in enumerate(table.rows) if row.rules)
    page.changes.table.item_selected.emit(item)
    names = [
        view.document.capture.strings[int(view.document.capture.events.name[view.state.selection or 0])]
        for view in page.views
    ]
    assert names == ["gemm_128x64", "gemm_256x64"]
    columns = [column.title for column in page.changes.table.model_.columns]
    assert columns[:4] == ["Name", "A", "B", "Δ"]


def test_differences_are_lit_and_search_is_in_both(
    qtbot: QtBot, window: MainWindow, page: ComparisonPage
) -> None:
    page.controls.highlight.setChecked(True)
    for view, kernel in zip(page.views, ("gemm_128x64", "gemm_256x64"), strict=True):
        strings = view.document.capture.strings
        assert strings.id("enumerate(DataLoader)#_next_data") in view.state.highlight
        assert strings.id(kernel) not in view.state.highlight
    page.controls.highlight.setChecked(False)
    assert not page.views[0].state.highlight
    page.views[0].setFocus()
    window.tool_row.search.setText("collate")
    window.search.search_now()
    qtbot.waitUntil(lambda: all(len(view.search.result.rows) == 6 for view in page.views), timeout=_WAIT_MS)


def test_the_dialog_compares_with_another_tab_in_either_order(
    qtbot: QtBot, window: MainWindow, files: tuple[Path, Path], open_page: object
) -> None:
    for path in files:
        open_page(path)  # type: ignore[operator]
    window.commands.run("file.compare_with")
    dialog = next(child for child in window.findChildren(CompareWithDialog))
    assert dialog.files.count() == 1
    dialog.findChildren(QRadioButton)[1].setChecked(True)
    dialog.compare.click()
    qtbot.waitUntil(lambda: isinstance(window.workspace.front, ComparedPair), timeout=_WAIT_MS)
    pair = window.workspace.front
    assert isinstance(pair, ComparedPair)
    assert [document.title for document in pair.documents] == ["before.h5", "after.h5"]
    window.workspace.close(pair)
    assert len(window.workspace.documents) == 2


def test_files_of_one_name_are_told_apart_by_their_folders() -> None:
    a, b = Path("/runs/rank0/out/trace.json"), Path("/runs/rank1/out/trace.json")
    assert distinct_names(a, b) == ("rank0", "rank1")
    assert distinct_names(a, a.with_name("other.json")) == ("trace.json", "other.json")
    assert distinct_names(a, a) == ("trace.json", "trace.json")


def test_what_cannot_be_compared_is_told_and_leaves_no_tab(
    qtbot: QtBot, window: MainWindow, files: tuple[Path, Path], tmp_path: Path
) -> None:
    with qtbot.waitSignal(window.workspace.open_failed, timeout=_WAIT_MS) as failed:
        window.workspace.compare(files[0], tmp_path / "gone.h5")
    assert failed.args is not None
    assert "gone.h5" in failed.args[0].text
    assert window.workspace.items == ()


def test_a_file_that_was_replaced_is_opened_again_in_its_pair(
    qtbot: QtBot, window: MainWindow, files: tuple[Path, Path], tmp_path: Path
) -> None:
    before = Path(shutil.copy(files[0], tmp_path / "before.h5"))
    window.workspace.compare(before, files[1])
    qtbot.waitUntil(lambda: isinstance(window.workspace.front, ComparedPair), timeout=_WAIT_MS)
    former = window.workspace.front
    Path(shutil.copy(before, tmp_path / "new.h5")).replace(before)
    window.file_watch.look()
    (bar,) = window.message_bars.bars
    assert bar.text == "before.h5: the file was replaced; the view shows the old one"
    next(found for found in bar.findChildren(QPushButton) if found.text()).click()
    qtbot.waitUntil(lambda: isinstance(window.workspace.front, ComparedPair), timeout=_WAIT_MS)
    (pair,) = window.workspace.items
    assert isinstance(pair, ComparedPair)
    assert pair is not former
    assert [document.source for document in pair.documents] == [before, files[1]]
    window.file_watch.look()
    assert not window.message_bars.bars


def test_the_comparison_is_written_as_a_page_and_as_a_picture(
    qtbot: QtBot, window: MainWindow, page: ComparisonPage, tmp_path: Path
) -> None:
    page.changes.show_report("cuda_gpu_kern_sum")
    settle(qtbot, page)
    write_comparison(window.workspace, page, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert "waiting for the data loader" in text
    assert "reduce_kernel" in text
    write_comparison(window.workspace, page, tmp_path / "page.png")
    picture = QImage(str(tmp_path / "page.png"))
    assert picture.size() == page.size() * page.devicePixelRatioF()
    write_comparison(window.workspace, page, tmp_path / "nowhere" / "page.html")
    assert any("Cannot write the comparison" in message.text for message in window.workspace.messages.all)


def test_the_command_line_draws_the_same(qtbot: QtBot, files: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "compared.png"
    assert main(["compare", *map(str, files), "-o", str(out)]) == 0
    picture = QImage(str(out))
    assert (picture.width(), picture.height()) == SIZE
    colors = {picture.pixelColor(x, y).name() for x in range(0, SIZE[0], 7) for y in range(0, SIZE[1], 7)}
    assert len(colors) > 20
    del qtbot


def write_waits(path: Path, wait_us: int) -> Path:
    """A thread that runs and waits for a lock in turns."""
    with CaptureBuilder(path) as b:
        process = b.add_process(71, name="python")
        main = b.add_thread(process, 71, name="Main")
        home, base = "process/71.1", "process/71.1/thread/71.1"
        b.track(home, title="python [71]", role="process", process=process)
        b.track(base, title="Main 71", role="thread", process=process, thread=main, parent=home)
        track = b.track(f"{base}/state", role="state", parent=base, process=process, thread=main)
        at = 0
        for _ in range(5):
            for name, length, flags in (("running", 20, 0), ("blocked", wait_us, Flag.IDLE)):
                b.add_events(
                    track,
                    "thread_state",
                    [at * US],
                    [length * US],
                    [b.string(name)],
                    flags=np.array([flags], np.uint8),
                )
                at += length
        b.set_span(0, at * US)
        b.finish()
    return path


def test_a_bar_of_waits_lights_the_thread_while_it_waited(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    window.workspace.compare(write_waits(tmp_path / "a.h5", 300), write_waits(tmp_path / "b.h5", 30))
    qtbot.waitUntil(lambda: isinstance(window.workspace.front, ComparedPair), timeout=_WAIT_MS)
    page = window.tabs.timeline_page
    assert isinstance(page, ComparisonPage)
    settle(qtbot, page)
    waterfall = page.waterfall
    qtbot.mouseClick(waterfall, Qt.MouseButton.LeftButton, pos=waterfall.row_rect(1).center())
    assert waterfall.chosen is not None
    assert waterfall.chosen.cause == "blocked"
    for view in page.views:
        capture, lit = view.document.capture, view.state.lit
        assert lit is not None
        assert [capture.strings[int(name)] for name in capture.events.name[lit.rows]] == ["blocked"] * 5
        assert view.state.selection in lit.rows.tolist()
        assert not view.state.highlight
    # What is lit next takes its place.
    page.controls.highlight.setChecked(True)
    assert all(view.state.lit is None for view in page.views)


def test_one_ruler_reads_for_both_while_they_move_as_one(qtbot: QtBot, page: ComparisonPage) -> None:
    a, b = page.views
    assert a.ruler.isVisible()
    assert not any(part.isVisible() for part in (b.ruler, b.overview, b.corner))
    a.scene.pan(37)
    one, other = (view.scene.scale.to_px_array(view.scene.ticks().times) for view in page.views)
    assert np.allclose(one, other, atol=1e-6)
    # A mark is read on a ruler, and what moves alone has its own times.
    b.state.add_mark(b.state.view[0] + 1)
    assert b.ruler.isVisible()
    b.state.set_notes(())
    assert not b.ruler.isVisible()
    page.pair.lock.set_mode(LockMode.FREE)
    assert b.ruler.isVisible()
    assert b.overview.isVisible()
    assert b.scene.leader is None
