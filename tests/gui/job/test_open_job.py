"""File → Open job…: which ranks, by whom they are computed, and what of it is remembered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from warpline.model import WarplineError
from warpline_app.dialogs.open_job import OpenJobDialog
from warpline_app.window.main_window import MainWindow

ADDRESS = "tcp://head-node:8786"


@pytest.fixture
def dialog(qtbot: QtBot, window: MainWindow) -> OpenJobDialog:
    return shown(qtbot, window)


def shown(qtbot: QtBot, window: MainWindow) -> OpenJobDialog:
    made = OpenJobDialog(window.workspace, window)
    made.open()
    qtbot.waitExposed(made, timeout=60_000)
    return made


def test_what_is_missing_is_said_before_it_can_be_opened(dialog: OpenJobDialog, tmp_path: Path) -> None:
    assert not dialog.open_button.isEnabled()
    dialog.where.setText(str(tmp_path / "nowhere"))
    assert "Choose a folder" in dialog.open_button.toolTip()
    dialog.set_paths([str(tmp_path)])
    assert dialog.open_button.isEnabled()
    dialog.by_scheduler.setChecked(True)
    for address in ("", "head-node", "head-node:8786"):
        dialog.address.setText(address)
        assert not dialog.open_button.isEnabled()
        assert "tcp://host:8786" in dialog.open_button.toolTip()
    dialog.address.setText(ADDRESS)
    assert dialog.open_button.isEnabled()


def test_names_with_spaces_and_several_files_stand_in_one_field(
    dialog: OpenJobDialog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    several = [tmp_path / "rank 0.h5", tmp_path / "rank 1.h5"]
    for path in several:
        path.touch()
    dialog.set_paths([str(path) for path in several])
    assert dialog.paths == several
    dialog.set_paths([str(several[0])])
    assert dialog.paths == several[:1]
    monkeypatch.setenv("HOME", str(tmp_path))
    dialog.where.setText("~/rank 0.h5")
    assert dialog.paths == several[:1]
    dialog.where.setText("'unfinished")
    assert dialog.paths == []


def test_a_scheduler_computes_what_is_opened_and_its_address_is_remembered(
    qtbot: QtBot,
    window: MainWindow,
    dialog: OpenJobDialog,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[list[Path], dict[str, Any]]] = []

    def open_job(paths: Any, **arguments: Any) -> None:
        asked.append((list(paths), arguments))
        raise WarplineError("no scheduler answers")

    monkeypatch.setattr("warpline.library.jobs.open_job", open_job)
    dialog.set_paths([str(tmp_path)])
    dialog.by_scheduler.setChecked(True)
    dialog.address.setText(ADDRESS)
    with qtbot.waitSignal(window.workspace.open_failed, timeout=60_000):
        qtbot.mouseClick(dialog.open_button, Qt.MouseButton.LeftButton)
    ((paths, arguments),) = asked
    assert paths == [tmp_path]
    assert (arguments["scheduler"], arguments["workers"]) == (ADDRESS, None)
    assert "no scheduler answers" in window.message_bars.bars[0].text
    again = shown(qtbot, window)
    assert again.by_scheduler.isChecked()
    assert again.scheduler == ADDRESS
    again.by_itself.setChecked(True)
    again.set_paths([str(tmp_path)])
    with qtbot.waitSignal(window.workspace.open_failed, timeout=60_000):
        qtbot.keyClick(again, Qt.Key.Key_Return)
    assert (asked[1][1]["scheduler"], asked[1][1]["workers"]) == (None, 1)
    # The address stays, for the next time.
    last = shown(qtbot, window)
    assert last.by_itself.isChecked()
    assert last.address.text() == ADDRESS
    last.reject()
