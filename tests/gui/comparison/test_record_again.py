"""Record again: the same command once more, what it changed, and the series it belongs to."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot
from tests.unit.recording.recording_tools import python, record

from warpline_app.comparison.changes import SERIES
from warpline_app.comparison.page import ComparisonPage
from warpline_app.open.comparing import ComparedPair
from warpline_app.open.document import Document
from warpline_app.open.series import read_series
from warpline_app.recording import recording
from warpline_app.remembered.series_notes import SeriesNotes
from warpline_app.remembered.settings import Settings
from warpline_app.window.capture_page import CapturePage
from warpline_app.window.main_window import MainWindow

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="recording works on Linux only")
_WAIT_MS = 60_000
_PROGRAM = """
    import pathlib, sys, time
    place = pathlib.Path("fails")
    time.sleep(0.05)
    sys.exit(7 if place.exists() else 0)
"""


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    options = ("--quiet", "--trace", "cpu")
    assert record(tmp_path, *python(_PROGRAM), options=options).returncode == 0
    return tmp_path / "run.h5"


@pytest.fixture(params=[recording.RUNS_ON_AFTER_MS, 1])
def soon(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The recorder may need longer to end than it is given, on a busy machine."""
    monkeypatch.setattr(recording, "RUNS_ON_AFTER_MS", request.param)


def test_the_command_is_recorded_anew_and_compared(
    qtbot: QtBot,
    window: MainWindow,
    open_page: Callable[[Path], CapturePage],
    recorded: Path,
    settings: Settings,
    soon: None,
) -> None:
    del soon
    open_page(recorded)
    window.commands.run("file.record_again")
    qtbot.waitUntil(lambda: isinstance(window.workspace.front, ComparedPair), timeout=_WAIT_MS)
    page = window.tabs.timeline_page
    assert isinstance(page, ComparisonPage)
    assert [document.path.name for document in page.pair.documents] == ["run.h5", "run-2.h5"]
    qtbot.waitUntil(lambda: page.is_idle, timeout=_WAIT_MS)
    page.changes.show_report(SERIES)
    qtbot.waitUntil(lambda: page.is_idle, timeout=_WAIT_MS)
    view = page.changes.series
    assert [run.path.name for run in view.series.runs] == ["run.h5", "run-2.h5"]
    assert all(view.series.value_ns(run) > 50_000_000 for run in view.series.runs)
    view.write_note(view.series.runs[1], "batch 64 → 128")
    assert SeriesNotes(settings, view.series.id).of(recorded.with_name("run-2.h5")) == "batch 64 → 128"
    assert "batch 64 → 128" in view.about(view.series.runs[1])
    with qtbot.waitSignal(view.run_chosen, timeout=60_000) as chosen:
        view.run_chosen.emit(view.series.runs[0].path)
    assert chosen.args == [recorded]
    qtbot.waitUntil(lambda: not window.workspace.is_opening, timeout=_WAIT_MS)


def test_a_program_that_fails_is_shown_and_not_compared(
    qtbot: QtBot, window: MainWindow, open_page: Callable[[Path], CapturePage], recorded: Path, soon: None
) -> None:
    del soon
    open_page(recorded)
    recorded.with_name("fails").touch()
    window.commands.run("file.record_again")
    again = recorded.with_name("run-2.h5")
    qtbot.waitUntil(
        lambda: isinstance(window.workspace.front, Document) and window.workspace.front.source == again,
        timeout=_WAIT_MS,
    )
    told = " ".join(message.text for message in window.workspace.messages.all)
    assert "status 7" in told
    assert [run.exit_status for run in read_series(again, lambda: False).runs] == [0, 7]


def test_a_folder_that_is_gone_is_told_at_once(
    qtbot: QtBot, window: MainWindow, open_page: Callable[[Path], CapturePage], tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    assert record(home, "true", options=("--quiet",)).returncode == 0
    kept = (home / "run.h5").rename(tmp_path / "run.h5")
    home.rmdir()
    open_page(kept)
    window.commands.run("file.record_again")
    assert any("home" in message.text for message in window.workspace.messages.all)
    assert len(window.workspace.items) == 1


def test_what_others_recorded_cannot_be_recorded_again(
    window: MainWindow, open_page: Callable[[Path], CapturePage], sample: Path
) -> None:
    open_page(sample)
    refusal = window.commands.commands["file.record_again"].refusal(window.context)
    assert refusal == "This capture has no command to record again"


def test_points_of_a_series_are_where_they_are_clicked(
    qtbot: QtBot, window: MainWindow, recorded: Path, settings: Settings
) -> None:
    from warpline_app.comparison.series_view import SeriesView

    series = read_series(recorded, lambda: False)
    view = SeriesView()
    qtbot.addWidget(view)
    view.resize(500, 200)
    view.show_series(series, SeriesNotes(settings, series.id), (recorded,))
    view.show()
    point = view.point_of(0).toPoint()
    assert view.rect().contains(point)
    picture = view.grab().toImage()
    assert picture.pixelColor(point) != picture.pixelColor(point.x() + 40, point.y() + 10)
    qtbot.mouseClick(view, Qt.MouseButton.LeftButton, pos=point)
    # Lines stand at round times, evenly apart.
    ticks = view.ticks_ns()
    assert len(ticks) >= 2
    assert {int(str(ticks[1])[0])} <= {1, 2, 5}
    assert set(str(ticks[1])[1:]) <= {"0"}
    assert len({after - before for before, after in itertools.pairwise(ticks)}) == 1
    del window
