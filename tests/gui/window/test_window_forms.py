"""Forms that people fill in again and again: arguments stay with their script, files have readable columns."""

from __future__ import annotations

import os
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QFileDialog,
    QFormLayout,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeView,
    QWidget,
)
from pytestqt.qtbot import QtBot

from warpline_app.dialogs.new_capture import NewCaptureDialog, show_new_capture
from warpline_app.look.file_dialog import FileDialog
from warpline_app.recording.script_arguments import arguments_of, remember_arguments
from warpline_app.remembered.settings import Settings
from warpline_app.window.main_window import MainWindow

TIMEOUT_MS = 30_000
_FIELD = QFormLayout.ItemRole.FieldRole


def test_arguments_are_kept_for_the_latest_scripts(settings: Settings, tmp_path: Path) -> None:
    for number in range(40):
        remember_arguments(settings, str(tmp_path / f"{number}.py"), f"--n {number}")
    remember_arguments(settings, str(tmp_path / "12.py"), "--again")
    assert arguments_of(settings, str(tmp_path / "39.py")) == "--n 39"
    assert arguments_of(settings, str(tmp_path / "12.py")) == "--again"
    assert arguments_of(settings, str(tmp_path / "3.py")) == ""


def type_script(qtbot: QtBot, dialog: NewCaptureDialog, script: Path) -> None:
    dialog.script.setFocus()
    dialog.script.selectAll()
    qtbot.keyClicks(dialog.script, str(script))
    dialog.script.editingFinished.emit()  # as when the keyboard leaves the field


def test_another_script_brings_its_own_arguments(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    train, serve = tmp_path / "train.py", tmp_path / "serve.py"
    settings = window.workspace.settings
    remember_arguments(settings, str(train), "--epochs 2")
    dialog = show_new_capture(window.workspace, window)
    fields = [dialog.form.itemAt(row, _FIELD) for row in range(dialog.form.rowCount())]
    widgets = [field.widget() for field in fields if field is not None]
    assert widgets.index(dialog.arguments) < widgets.index(dialog.interpreter), "arguments are the script's"
    type_script(qtbot, dialog, train)
    assert dialog.arguments.text() == "--epochs 2"
    type_script(qtbot, dialog, serve)
    assert dialog.arguments.text() == ""
    dialog.arguments.setFocus()
    qtbot.keyClicks(dialog.arguments, "--port 80")
    type_script(qtbot, dialog, train)
    assert dialog.arguments.text() == "--port 80", "what was typed stays"
    dialog.reject()


def test_descriptions_of_what_is_recorded_are_whole_where_the_screen_is_wide(window: MainWindow) -> None:
    dialog = show_new_capture(window.workspace, window)
    dialog.resize(1200, dialog.height())
    layout = dialog.sources.layout()
    assert layout is not None
    layout.activate()
    assert not [note.text() for note in dialog.sources.notes.values() if note.is_elided]
    screen_px = dialog.screen().availableGeometry().width()
    assert dialog._wanted_width() == screen_px * 9 // 10 or dialog._wanted_width() <= 1200
    dialog.reject()


def test_files_have_sizes_and_times_as_everywhere_and_none_is_cut(qtbot: QtBot, tmp_path: Path) -> None:
    file = tmp_path / "run.h5"
    file.write_bytes(bytes(3_000_000))
    os.utime(file, (1_700_000_000, 1_700_000_000))
    owner = QWidget()
    qtbot.addWidget(owner)
    dialog = FileDialog(owner, "Open", str(tmp_path))
    assert dialog.testOption(QFileDialog.Option.DontUseNativeDialog)
    dialog.show()
    tree = dialog.findChild(QTreeView, "treeView")
    assert isinstance(tree, QTreeView)
    qtbot.waitUntil(lambda: tree.model().rowCount(tree.rootIndex()) == 1, timeout=TIMEOUT_MS)
    texts = []
    for column in (1, 3):
        index = tree.model().index(0, column, tree.rootIndex())
        option = QStyleOptionViewItem()
        delegate = tree.itemDelegate()
        assert isinstance(delegate, QStyledItemDelegate)
        delegate.initStyleOption(option, index)
        texts.append(option.text)
        assert tree.columnWidth(column) >= tree.fontMetrics().horizontalAdvance(option.text)
    assert texts[0] == "2.861 MiB"
    assert texts[1][:8] == "2023-11-"
    assert tree.isColumnHidden(2)
    dialog.setWindowFlag(Qt.WindowType.Window)
    dialog.close()
