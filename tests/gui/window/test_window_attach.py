"""File → Attach…: the list of processes, the keyboard, and a recording of a program that runs on."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from warpline.model.errors import UsageError
from warpline.model.tracks import Source
from warpline.recording import process_list
from warpline.recording.process_list import RunningProcess
from warpline_app.dialogs import attach
from warpline_app.dialogs.attach import AttachDialog
from warpline_app.dialogs.new_capture import NewCaptureDialog
from warpline_app.dialogs.process_table import ProcessTable
from warpline_app.open import background
from warpline_app.open.background import Job
from warpline_app.window.capture_page import CapturePage
from warpline_app.window.main_window import MainWindow
from warpline_app.window.recording_page import RecordingPage

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="recording works on Linux only")

TIMEOUT_MS = 60_000
PROGRAM = """
import sys, threading, time
def work():
    while True:
        sum(range(1000)); time.sleep(0.002)
threading.Thread(target=work, daemon=True).start()
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def program() -> Iterator[subprocess.Popen[str]]:
    """A program that works until its input ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "the-program-under-test"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    process.stdout.readline()
    yield process
    process.kill()
    process.communicate(timeout=60)


def process(pid: int, name: str, cores: float | None = None) -> RunningProcess:
    return RunningProcess(pid=pid, user="ada", name=name, command=f"{name} --now", threads=2, cores=cores)


def typed(text: str) -> None:
    """Type into whatever has the keyboard."""
    from pytestqt.qt_compat import qt_api

    for letter in text:
        qt_api.QtTest.QTest.keyClick(QApplication.focusWidget(), letter)


def test_a_program_is_found_by_typing_recorded_and_left_running(
    qtbot: QtBot, window: MainWindow, program: subprocess.Popen[str], tmp_path: Path
) -> None:
    qtbot.waitUntil(window.isActiveWindow, timeout=TIMEOUT_MS)
    # From the palette, as from the menu.
    qtbot.keyClick(
        window, Qt.Key.Key_P, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    )
    typed("attach")
    qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Return)
    dialog = window.findChild(AttachDialog)
    assert dialog is not None
    qtbot.waitUntil(lambda: bool(dialog.table.model.rows), timeout=TIMEOUT_MS)
    assert not dialog.attach_button.isEnabled()
    typed(f"python under-test {program.pid}")
    assert dialog.table.current is not None
    assert dialog.table.current.pid == program.pid
    python = dialog.sources.notes["python"]
    qtbot.waitUntil(lambda: f"Python 3.{sys.version_info.minor}" in python.text(), timeout=TIMEOUT_MS)
    assert "CUDA" in dialog.others.text()
    dialog.sources.set_chosen(("cpu",))
    dialog.output.setText(str(tmp_path / "run.h5"))
    qtbot.keyClick(dialog.search, Qt.Key.Key_Return)
    assert dialog.recording is not None
    page = window.tabs.page_of(dialog.recording)
    assert isinstance(page, RecordingPage)
    qtbot.waitUntil(lambda: page.figures["events"].text() not in {"–", "0"}, timeout=TIMEOUT_MS)
    assert page.figures["pid"].text() == str(program.pid)
    assert not page.input.isVisible(), "the program's input is not ours"
    window.activateWindow()
    qtbot.waitUntil(page.stop_button.hasFocus, timeout=TIMEOUT_MS)
    assert "runs on" in page.stop_button.toolTip()
    with qtbot.waitSignal(window.tabs.page_opened, timeout=TIMEOUT_MS) as opened:
        page.recording.stop()
        page.recording.stop()  # twice: kills a program of ours, and no other
    assert opened.args is not None
    assert isinstance(opened.args[0], CapturePage)
    assert {each.pid for each in opened.args[0].document.capture.processes} == {program.pid}
    assert program.poll() is None
    qtbot.waitUntil(lambda: not window.workspace.activities, timeout=TIMEOUT_MS)


def test_arrows_choose_and_letters_in_the_table_search(
    qtbot: QtBot, window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = [process(7, "train", 0.1), process(8, "serve", 2.0), process(9, "train", 0.2)]
    monkeypatch.setattr(process_list.ProcessList, "read", lambda _self, **_without: list(listed))
    monkeypatch.setattr(attach, "what_joins", lambda _pid, _names: ())
    monkeypatch.setattr(attach, "read_doctor", lambda _progress, _cancelled: ())
    dialog = attach.show_attach(window.workspace, window)
    table = dialog.table
    qtbot.waitUntil(lambda: len(table.model.rows) == 3, timeout=TIMEOUT_MS)
    keys = [(Qt.Key.Key_Down, 8), (Qt.Key.Key_Down, 9), (Qt.Key.Key_PageDown, 7), (Qt.Key.Key_Up, 9)]
    for key, pid in keys:  # the busiest first
        qtbot.keyClick(dialog.search, key)
        assert table.current is not None
        assert table.current.pid == pid
    table.view.setFocus()
    typed("ser")
    assert dialog.search.text() == "ser"
    assert table.current is not None
    assert table.current.pid == 8
    typed("x")
    assert table.empty.isVisible()
    assert table.empty.text() == "No process matches “serx”."
    assert not dialog.attach_button.isEnabled()
    qtbot.keyClick(dialog.search, Qt.Key.Key_Return)
    assert dialog.isVisible()
    qtbot.keyClick(dialog.search, Qt.Key.Key_Escape)
    assert dialog.search.text() == ""
    assert table.view.isVisible()
    qtbot.keyClick(dialog.search, Qt.Key.Key_Escape)
    assert not dialog.isVisible()


def test_a_refresh_keeps_the_selection_and_the_order(qtbot: QtBot) -> None:
    table = ProcessTable()
    qtbot.addWidget(table)
    assert table.empty.text() == "Reading processes…"
    for _ in range(2):
        table.show_processes([process(7, "a", 0.1), process(8, "b", 0.5)])
    table.step(0)
    table.step(1)
    assert table.current is not None
    assert table.current.pid == 7
    table.show_processes([process(7, "a", 9.0), process(8, "b", 0.5), process(6, "c", 1.0)])
    assert table.current.pid == 7
    assert table.view.currentIndex().row() == 1, "rows stay where the pointer may be"
    table.show_processes([process(6, "c", 1.0)])
    assert not table.view.selectionModel().hasSelection()
    table.show_processes([])
    assert table.empty.text() == "No other program is running here."


def test_the_last_match_of_a_search_ends(qtbot: QtBot) -> None:
    table = ProcessTable()
    qtbot.addWidget(table)
    table.show_processes([process(7, "a"), process(8, "b")])
    table.filter("b")
    table.show_processes([process(7, "a")])
    assert table.empty.text() == "No process matches “b”."


def test_a_late_refusal_is_of_the_process_it_was_asked_for(
    qtbot: QtBot, window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first reading of processes fails, too: the next one comes all the same."""
    listed = [process(7, "train", 2.0), process(8, "serve", 0.1)]
    readings = iter([OSError("too many open files")])
    asked, goes_on = threading.Event(), threading.Event()
    looking: list[Job] = []  # lists of processes are read all the time, too

    def read(_self: object, **_without: object) -> list[RunningProcess]:
        for error in readings:
            raise error
        return listed

    def joins(pid: int, _names: object) -> tuple[Source, ...]:
        if pid == 7:
            looking.extend(job for job in list(background._running) if job.isCurrentThread())
            asked.set()
            goes_on.wait(60)
            raise UsageError("process 7 is another user's")
        return ()

    monkeypatch.setattr(process_list.ProcessList, "read", read)
    monkeypatch.setattr(attach, "what_joins", joins)
    monkeypatch.setattr(attach, "read_doctor", lambda _progress, _cancelled: ())
    monkeypatch.setattr(attach, "REFRESH_MS", 1)
    dialog = attach.show_attach(window.workspace, window)
    qtbot.waitUntil(lambda: len(dialog.table.model.rows) == 2, timeout=TIMEOUT_MS)
    dialog.table.step(0)
    qtbot.waitUntil(asked.is_set, timeout=TIMEOUT_MS)
    dialog.table.step(1)
    with qtbot.waitSignal(looking[0].failed, timeout=TIMEOUT_MS):
        goes_on.set()
    assert dialog.attach_button.isEnabled()
    assert not dialog.problem.isVisible()
    dialog.table.step(-1)
    qtbot.waitUntil(dialog.problem.isVisible, timeout=TIMEOUT_MS)
    assert not dialog.attach_button.isEnabled()


def test_new_capture_leads_to_attach(qtbot: QtBot, window: MainWindow) -> None:
    window.commands.run("file.new_capture")
    dialog = window.findChild(NewCaptureDialog)
    assert dialog is not None
    qtbot.mouseClick(dialog.attach_button, Qt.MouseButton.LeftButton)
    assert not dialog.isVisible()
    attached = window.findChild(AttachDialog)
    assert attached is not None
    assert attached.isVisible()
    attached.reject()
