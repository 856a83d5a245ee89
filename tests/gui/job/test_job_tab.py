"""The tab of a job: a map that tells, opens and chooses, tables linked to it, and what could not be read."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QGuiApplication, QWheelEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot
from tests.benchmarks.jobs.generate_job import US, JobPlan, write_job
from tests.benchmarks.jobview.made_job import made_job

from warpline.library.jobs import RankState
from warpline_app.job.cell_text import cell_lines
from warpline_app.job.color_scale import missing_color
from warpline_app.job.controls import summary_text
from warpline_app.job.map_canvas import JobMapCanvas
from warpline_app.job.map_export import export_picture, write_csv
from warpline_app.job.page import JobPage
from warpline_app.job.rank_bars import rank_times
from warpline_app.open.document import Document
from warpline_app.open.job.board import Cell, Chosen, JobBoard
from warpline_app.open.job.row_order import RowOrder
from warpline_app.remembered.settings import Settings
from warpline_app.window.main_window import MainWindow

_WAIT_MS = 60_000
RANKS, STEPS = 8, 8
SLOW: Cell = (3, 5)
"""Rank 3 computes 3 ms longer in step 5."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight ranks, of which rank 4 cannot be read and rank 6 has no file."""
    made = tmp_path_factory.mktemp("run") / "job"
    write_job(made, JobPlan(RANKS, STEPS, slow_compute={SLOW: 3_000 * US}))
    (made / "rank_4.h5").write_bytes(b"\x89HDF\r\n\x1a\n and nothing more")
    (made / "rank_6.h5").unlink()
    (made / "latest.h5").symlink_to(made / "gone.h5")
    return made


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def page(qtbot: QtBot, window: MainWindow, folder: Path) -> JobPage:
    window.workspace.open_file(folder)
    return shown(qtbot, window)


def shown(qtbot: QtBot, window: MainWindow) -> JobPage:
    qtbot.waitUntil(lambda: isinstance(window.workspace.front, JobBoard), timeout=_WAIT_MS)
    found = window.tabs.currentWidget()
    assert isinstance(found, JobPage)
    qtbot.waitUntil(lambda: found.canvas.rows.is_whole and found.canvas.width() > 300, timeout=_WAIT_MS)
    return found


def row_of(page: JobPage, rank: int) -> int:
    row = page.board.map.row_of(rank)
    assert row is not None
    return row


def middle(canvas: JobMapCanvas, cell: Cell) -> QPoint:
    return canvas.rect_of(cell).center().toPoint()


def color_at(canvas: JobMapCanvas, cell: Cell) -> QColor:
    """Of a cell, near its corner: no text stands there."""
    picture = canvas.grab().toImage()
    ratio = picture.devicePixelRatio()
    place = canvas.rect_of(cell).topLeft() + QPointF(3, 3)
    return picture.pixelColor(round(place.x() * ratio), round(place.y() * ratio))


def opened(qtbot: QtBot, window: MainWindow) -> Document:
    qtbot.waitUntil(lambda: isinstance(window.workspace.front, Document), timeout=_WAIT_MS)
    document = window.workspace.current
    assert document is not None
    return document


def test_a_folder_of_ranks_is_a_map_in_which_what_is_slow_stands_out(page: JobPage) -> None:
    board = page.board
    assert [one.rank for one in board.map.ranks] == [0, 1, 2, 3, 4, 5, 6, 7]
    assert board.map.shape == (8, STEPS)
    slow, usual = row_of(page, 3), row_of(page, 0)
    board.set_column("computation_ns")
    values = board.map.cells("computation_ns")
    assert values[slow, 5] - values[slow, 4] == 3_000 * US
    bright, dark = color_at(page.canvas, (slow, 5)), color_at(page.canvas, (usual, 5))
    assert bright.lightness() > dark.lightness() + 60
    assert color_at(page.canvas, (usual, 4)) == color_at(page.canvas, (slow, 4))


def test_ranks_that_have_nothing_to_show_say_why(page: JobPage) -> None:
    board = page.board
    failed, missing = row_of(page, 4), row_of(page, 6)
    assert board.map.ranks[failed].state is RankState.FAILED
    assert board.map.ranks[missing].state is RankState.MISSING
    for row in (failed, missing):
        assert color_at(page.canvas, (row, STEPS - 1)).rgb() == missing_color(page.canvas.theme)
        assert len(cell_lines(board, (row, 0))) == 2
    assert board.map.ranks[failed].reason in cell_lines(board, (failed, 0))[1]
    assert "1 failed" in page.controls.summary.text()
    assert board.map.ranks[failed].reason in page.controls.summary.toolTip()


def test_pointing_at_a_cell_tells_rank_step_value_and_how_far_that_is_from_the_others(
    qtbot: QtBot, page: JobPage
) -> None:
    page.board.set_column("computation_ns")
    cell = (row_of(page, 3), 5)
    qtbot.mouseMove(page.canvas, middle(page.canvas, cell))
    assert page.board.hover == cell
    said = "\n".join(cell_lines(page.board, cell))
    assert "rank 3" in said
    assert "step 5" in said
    assert "4.600 ms" in said
    assert "+3.000 ms (+187.5%)" in said


def test_a_click_opens_the_rank_at_the_step(
    qtbot: QtBot, window: MainWindow, page: JobPage, folder: Path
) -> None:
    cell = (row_of(page, 3), 5)
    qtbot.mouseClick(page.canvas, Qt.MouseButton.LeftButton, pos=middle(page.canvas, cell))
    document = opened(qtbot, window)
    assert document.source == folder / "rank_3.h5"
    start = int(page.board.job.steps.starts(3)[5]) + document.capture.span[0]
    length = page.board.map.value("duration_ns", *cell) or 0
    assert document.state.range_selection == (start, start + length)
    low, high = document.state.view
    assert low < start
    assert high - low < 1.2 * length
    # Again, with the capture open already: another step of it.
    window.workspace.bring_to_front(page.board)
    page.canvas.setFocus()
    qtbot.keyClick(page.canvas, Qt.Key.Key_Home)
    qtbot.keyClick(page.canvas, Qt.Key.Key_Return)
    assert window.workspace.current is document
    assert document.state.range_selection is not None
    assert (
        document.state.range_selection[0] == int(page.board.job.steps.starts(3)[0]) + document.capture.span[0]
    )


def test_arrows_walk_and_shift_chooses(qtbot: QtBot, page: JobPage) -> None:
    canvas, board = page.canvas, page.board
    canvas.setFocus()
    qtbot.keyClick(canvas, Qt.Key.Key_Right)
    assert board.current == (0, 0)
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Down):
        qtbot.keyClick(canvas, key)
    assert board.current == (1, 2)
    qtbot.keyClick(canvas, Qt.Key.Key_End)
    assert board.current == (1, STEPS - 1)
    qtbot.keyClick(canvas, Qt.Key.Key_End, Qt.KeyboardModifier.ControlModifier)
    assert board.current == (7, STEPS - 1)
    qtbot.keyClick(canvas, Qt.Key.Key_Up, Qt.KeyboardModifier.ShiftModifier)
    qtbot.keyClick(canvas, Qt.Key.Key_Left, Qt.KeyboardModifier.ShiftModifier)
    assert board.chosen == Chosen(frozenset({6, 7}), STEPS - 2, STEPS - 1)
    assert page.controls.open.text() == "Open 2 ranks on one timeline"
    qtbot.keyClick(canvas, Qt.Key.Key_Escape)
    assert board.chosen == Chosen()


def test_zooming_keeps_what_is_under_the_pointer_and_f_shows_all_again(qtbot: QtBot, page: JobPage) -> None:
    canvas = page.canvas
    canvas.setFocus()
    for _ in range(4):
        qtbot.keyClick(canvas, Qt.Key.Key_W)
    assert canvas.steps.stop - canvas.steps.start < STEPS
    for _ in range(STEPS):
        qtbot.keyClick(canvas, Qt.Key.Key_A)
    assert canvas.steps.start == 0
    qtbot.keyClick(canvas, Qt.Key.Key_D)
    assert canvas.steps.start > 0
    point = QPointF(canvas.area.center())
    cell = canvas.cell_at(point)
    wheel = QWheelEvent(
        point,
        QPointF(canvas.mapToGlobal(point.toPoint())),
        QPoint(),
        QPoint(0, 120),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.ControlModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    seen = canvas.steps.stop - canvas.steps.start
    QApplication.sendEvent(canvas, wheel)
    assert canvas.steps.stop - canvas.steps.start < seen
    assert canvas.cell_at(point) == cell
    qtbot.keyClick(canvas, Qt.Key.Key_F)
    assert canvas.steps.is_whole
    assert canvas.rows.is_whole


def test_a_dragged_rectangle_opens_its_ranks_aligned_on_one_timeline(
    qtbot: QtBot, window: MainWindow, page: JobPage
) -> None:
    canvas = page.canvas
    first, last = middle(canvas, (0, 2)), middle(canvas, (1, 3))
    qtbot.mousePress(canvas, Qt.MouseButton.LeftButton, pos=first)
    qtbot.mouseMove(canvas, first + (last - first) / 2)
    qtbot.mouseMove(canvas, last)
    qtbot.mouseRelease(canvas, Qt.MouseButton.LeftButton, pos=last)
    assert page.board.chosen == Chosen(frozenset({0, 1}), 2, 3)
    assert window.workspace.front is page.board
    qtbot.mouseClick(page.controls.open, Qt.MouseButton.LeftButton)
    document = opened(qtbot, window)
    assert document.title == "job: ranks 0, 1"
    assert {process.rank for process in document.capture.processes} == {0, 1}
    assert [clock.method for clock in document.capture.clocks[1:]] == ["collectives", "collectives"]
    assert document.state.range_selection is not None
    assert document.source not in window.workspace.settings.recent_files


def test_control_clicks_choose_ranks_apart(qtbot: QtBot, page: JobPage) -> None:
    for rank, step in ((0, 1), (3, 1), (2, 4), (0, 2)):
        qtbot.mouseClick(
            page.canvas,
            Qt.MouseButton.LeftButton,
            Qt.KeyboardModifier.ControlModifier,
            middle(page.canvas, (row_of(page, rank), step)),
        )
    assert page.board.chosen == Chosen(frozenset({row_of(page, 2), row_of(page, 3)}), 1, 4)
    qtbot.mouseClick(
        page.canvas,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.ShiftModifier,
        middle(page.canvas, (row_of(page, 2), 6)),
    )
    assert page.board.chosen == Chosen(frozenset({0, 1, 2}), 2, 6)


def test_the_tables_lead_to_the_map_and_follow_it(qtbot: QtBot, page: JobPage) -> None:
    page.tables.show_report("job_stragglers")
    table = page.tables.table("job_stragglers")
    assert table is not None
    table.selectRow(0)
    assert page.board.current is not None
    assert page.board.map.ranks[page.board.current[0]].rank == 3
    page.tables.show_report("job_steps")
    steps = page.tables.table("job_steps")
    assert steps is not None
    page.board.set_current((row_of(page, 0), 6))
    item = steps.current_item()
    assert item is not None
    assert steps.model_.columns[0].text(item) == "6"
    assert table.current_item() is not None
    assert table.model_.columns[0].text(table.current_item() or 0) == "0"


def test_a_finding_leads_to_its_ranks_on_the_map(qtbot: QtBot, page: JobPage) -> None:
    cards = page.tables.cards
    assert cards is not None
    page.tables.show_report("job_findings")
    about = next(card for card in cards.cards if 3 in card.finding.ranks)
    qtbot.mouseClick(about, Qt.MouseButton.LeftButton)
    assert row_of(page, 3) in page.board.chosen.rows
    assert page.board.chosen.last == STEPS - 1
    assert about.property("selected") == "true"


def test_the_choice_boxes_follow_what_is_chosen_elsewhere(window: MainWindow, page: JobPage) -> None:
    window.commands.run("job.by_value")
    assert page.controls.order.currentData() == RowOrder.VALUE.value
    page.board.set_column("communication_ns")
    assert page.controls.column.currentData() == "communication_ns"


def test_two_files_of_a_large_job_are_not_drowned_by_those_that_are_not_there(settings: Settings) -> None:
    job = made_job(128, 2)
    few = replace(
        job,
        ranks=tuple(
            one if one.rank < 2 else replace(one, path=None, state=RankState.MISSING) for one in job.ranks
        ),
        steps=replace(
            job.steps,
            ranks=job.steps.ranks[:2],
            cells={name: cells[:, :2] for name, cells in job.steps.cells.items()},
        ),
    )
    board = JobBoard(few, [Path("job")], settings)
    assert board.map.shape == (2, 2)
    assert "126 without a file" in summary_text(board)


def test_sorting_by_value_puts_what_is_slow_on_top_and_is_remembered(
    qtbot: QtBot, window: MainWindow, page: JobPage, settings: Settings, folder: Path
) -> None:
    page.board.set_column("computation_ns")
    window.commands.run("job.by_value")
    order = [page.board.map.ranks[row].rank for row in page.board.order]
    assert order[0] == 3
    assert set(order[-2:]) == {4, 6}
    assert page.canvas.cell_at(QPointF(middle(page.canvas, (row_of(page, 3), 0)))) == (row_of(page, 3), 0)
    assert page.canvas.rect_of((row_of(page, 3), 0)).top() == page.canvas.area.top()
    window.workspace.close(page.board)
    window.workspace.open_ranks([folder])
    again = shown(qtbot, window)
    assert again.board.column == "computation_ns"
    assert again.board.order_by is RowOrder.VALUE
    assert again.controls.column.currentData() == "computation_ns"


def test_sorting_by_host_keeps_machines_together_and_those_without_one_last(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    made = tmp_path / "hosts"
    # Written by turns; as texts node10 would come before node9.
    write_job(made, JobPlan(6, 2, hosts={rank: f"node{9 + rank % 2}" for rank in range(5)}))
    (made / "rank_1_again.h5").write_bytes((made / "rank_1.h5").read_bytes())
    window.workspace.open_file(made)
    page = shown(qtbot, window)
    box = page.controls.order
    qtbot.keyClicks(box, "by host")
    assert box.currentData() == RowOrder.HOST.value
    box.activated.emit(box.currentIndex())
    ranks = [page.board.map.ranks[row] for row in page.board.order]
    assert [one.rank for one in ranks] == [0, 2, 4, 1, 3, 5]
    assert [one.host for one in ranks] == ["node9"] * 3 + ["node10"] * 2 + [""]
    top = page.canvas.rect_of((row_of(page, 1), 0)).top()
    assert top == page.canvas.rect_of((row_of(page, 4), 0)).bottom()
    # A second file of a rank is named, and no row of its own.
    assert "2 hosts" in page.controls.summary.text()
    assert "1 file left out" in page.controls.summary.text()
    assert "rank_1.h5 is the same rank" in page.controls.summary.toolTip()


def test_the_map_goes_elsewhere_as_values_and_as_a_picture(page: JobPage, tmp_path: Path) -> None:
    page.board.set_column("computation_ns")
    write_csv(page.board, tmp_path / "map.csv")
    with (tmp_path / "map.csv").open(encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["rank", "host", *map(str, range(STEPS))]
    assert [row[0] for row in rows[1:]] == list("01234567")
    assert rows[4][2 + 5] == str(4_600 * US)
    assert rows[5][2:] == [""] * STEPS
    page.board.choose(Chosen(frozenset({row_of(page, 3)}), 5, 5))
    page.input.copy_wanted.emit()
    assert QGuiApplication.clipboard().text() == f"rank\thost\t5\n3\t\t{4_600 * US}"
    for name in ("map.png", "map.svg"):
        export_picture(page.picture, tmp_path / name)
        assert (tmp_path / name).stat().st_size > 1_000


def test_cancelling_takes_the_tab_away_and_leaves_nothing_behind(
    qtbot: QtBot, window: MainWindow, folder: Path
) -> None:
    window.workspace.open_ranks([folder])
    from warpline_app.job.opening_page import JobOpeningPage

    page = window.tabs.currentWidget()
    assert isinstance(page, JobOpeningPage)
    qtbot.mouseClick(page.box.cancel, Qt.MouseButton.LeftButton)
    assert window.workspace.items == ()
    qtbot.waitUntil(lambda: not window.workspace.activities, timeout=_WAIT_MS)


def test_progress_is_told_rank_by_rank(qtbot: QtBot, window: MainWindow, folder: Path) -> None:
    ready: list[int] = []
    opening = window.workspace.open_ranks([folder])
    assert opening is not None
    opening.rank_ready.connect(lambda one: ready.append(one.rank))
    with qtbot.waitSignal(opening.ranks_found, timeout=_WAIT_MS) as found:
        pass
    assert found.args is not None
    assert found.args[0] == (0, 1, 2, 3, 5, 7)
    shown(qtbot, window)
    assert sorted(ready) == [0, 1, 2, 3, 5, 7]


def test_a_folder_without_steps_explains_itself(
    qtbot: QtBot, window: MainWindow, sample: Path, tmp_path: Path
) -> None:
    made = tmp_path / "odd"
    made.mkdir()
    for rank in (0, 1):
        (made / f"rank_{rank}.h5").write_bytes(sample.read_bytes())
    window.workspace.open_ranks([made])
    qtbot.waitUntil(lambda: isinstance(window.workspace.front, JobBoard), timeout=_WAIT_MS)
    found = window.tabs.currentWidget()
    assert isinstance(found, JobPage)
    if not len(found.board.map.steps):
        assert found.map.currentIndex() == 1


def test_bars_divide_the_mean_step_of_each_rank_and_explain_the_longest(qtbot: QtBot, page: JobPage) -> None:
    page.tables.show_report("job_findings")
    bars = page.tables.bars
    assert bars is not None
    times = rank_times(page.board)
    assert times is not None
    assert set(times.rows) == set(range(RANKS)) - {4, 6}
    own = times.own_ns
    # Rank 3 computes 3 ms longer in one of eight steps.
    assert own[3] - own[0] == pytest.approx(3_000 * US / STEPS, rel=0.01)
    text = bars.explanation.text()
    assert "Rank 3 takes longest" in text
    assert "computation takes 375.0 µs more" in text
    qtbot.waitUntil(lambda: bars.bars.height() > 22 * RANKS, timeout=_WAIT_MS)
    assert bars.bars.rows() == [0, 1, 2, 3, 5, 7]
    assert bars.rest.isHidden()
    y = next(y for y in range(bars.bars.height()) if bars.bars.row_at(y) == 5)
    assert bars.bars.bar_text(5).startswith("rank 5")
    qtbot.mouseClick(bars.bars, Qt.MouseButton.LeftButton, pos=QPoint(100, y + 5))
    assert page.board.chosen.rows == {5}
    assert page.board.current is not None
    assert page.board.current[0] == 5
    bars.bars.setFixedHeight(22 + 3 * 22)
    qtbot.waitUntil(bars.rest.isVisible, timeout=_WAIT_MS)
    assert bars.bars.rows()[0] == 3
    assert bars.rest.text() == "The 3 longest of 6 ranks"


def test_remedies_name_tables_by_their_titles(page: JobPage) -> None:
    titles = [page.tables.tabs.tabText(place) for place in range(page.tables.tabs.count())]
    texts = [f"{finding.text} {finding.remedy}" for finding in page.board.job.findings]
    assert not [text for text in texts if "job_" in text]
    assert "Kernels over ranks" in titles
