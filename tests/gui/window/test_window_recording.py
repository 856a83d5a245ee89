"""File → New capture…: a real program, a real recorder, from the form to the open capture."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import shiboken6
from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QApplication, QLabel, QMessageBox, QPushButton
from pytestqt.qtbot import QtBot

from warpline_app.dialogs.doctor import show_doctor
from warpline_app.dialogs.new_capture import SETTINGS_KEY, NewCaptureDialog
from warpline_app.dialogs.source_choice import SourceChoice
from warpline_app.panels.console.panel import ConsolePanel
from warpline_app.recording.doctor_report import SourceReport, parse_doctor
from warpline_app.recording.recording import Recording
from warpline_app.remembered.settings import Settings
from warpline_app.window.capture_page import CapturePage
from warpline_app.window.close_question import EndQuestion
from warpline_app.window.main_window import MainWindow
from warpline_app.window.recording_page import RecordingPage

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="recording works on Linux only")

Start = Callable[..., RecordingPage]
TIMEOUT_MS = 60_000
WAITS = "import sys, time\nprint('begun', flush=True)\nwhile True: time.sleep(0.01)\n"


def open_dialog(qtbot: QtBot, window: MainWindow) -> NewCaptureDialog:
    # A window manager would have given the keyboard back when the last dialog was closed.
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow, timeout=60_000)
    qtbot.keyClick(window, Qt.Key.Key_N, Qt.KeyboardModifier.ControlModifier)
    dialog = window.findChild(NewCaptureDialog)
    assert dialog is not None
    assert dialog.isVisible()
    # The answer about this machine must not come in the middle of a test and change the boxes.
    assert dialog._job is not None
    qtbot.waitUntil(dialog._job.isFinished, timeout=TIMEOUT_MS)
    QCoreApplication.processEvents()  # finished is not yet told
    # Until then keys may be shortcuts of the window behind it. From here on no event comes before a key.
    dialog.activateWindow()
    qtbot.waitUntil(dialog.isActiveWindow, timeout=TIMEOUT_MS)
    return dialog


def end_by_force(qtbot: QtBot, recording: Recording) -> None:
    if recording.is_running:
        recording.process.kill()
        recording._signal_program(signal.SIGKILL)
        qtbot.waitUntil(lambda: not recording.is_running, timeout=TIMEOUT_MS)


@pytest.fixture
def start(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> Iterator[Start]:
    """Fills in the form for a script with this text, presses Return, and gives the running page."""
    begun: list[RecordingPage] = []

    def run(text: str, arguments: str = "", **changes: str) -> RecordingPage:
        script = tmp_path / "program.py"
        script.write_text(text)
        dialog = open_dialog(qtbot, window)
        dialog.script_mode.setChecked(True)
        dialog.script.setText(str(script))
        dialog.interpreter.setEditText(sys.executable)
        dialog.arguments.setText(arguments)
        dialog.arguments.setModified(True)  # as if typed: another script would bring its own
        dialog.sources.set_chosen(("cpu",))
        for name, value in changes.items():
            getattr(dialog, name).setText(value)
        dialog.output.setText(str(tmp_path / "run.h5"))
        dialog.script.setFocus()
        qtbot.keyClick(dialog.script, Qt.Key.Key_Return)
        assert not dialog.problem.isVisible(), dialog.problem.text()
        assert dialog.recording is not None
        page = window.tabs.page_of(dialog.recording)
        assert isinstance(page, RecordingPage)
        assert window.tabs.currentWidget() is page
        begun.append(page)
        return page

    yield run
    # A test that failed leaves a program, and a window that would ask about it before it closes.
    for page in begun:
        if shiboken6.isValid(page):
            end_by_force(qtbot, page.recording)


def test_a_script_is_recorded_and_its_capture_opens_by_itself(
    qtbot: QtBot, window: MainWindow, start: Start, tmp_path: Path, settings: Settings
) -> None:
    with qtbot.waitSignal(window.tabs.page_opened, timeout=TIMEOUT_MS) as opened:
        page = start(
            "import sys, time\nfor i in range(5):\n    print('step', i, sys.argv[1]); time.sleep(0.02)\n",
            "'two words'",
        )
        assert page.recording.title.endswith("run")
    assert opened.args is not None
    capture_page = opened.args[0]
    assert isinstance(capture_page, CapturePage)
    assert window.tabs.pages == [capture_page]
    # The capture opens when it is written, the recording's tab goes when the recorder has gone.
    qtbot.waitUntil(lambda: window.tabs.count() == 1, timeout=TIMEOUT_MS)
    capture = capture_page.document.capture
    assert capture_page.document.source == tmp_path / "run.h5"
    assert capture.meta["command_line"][-1] == "two words"
    assert len(capture.events) > 0
    assert [name for name in capture.kinds if name in {"thread_state", "cpu_slice"}]
    assert capture_page.document.console_text == "\n".join(f"step {i} two words" for i in range(5))
    # What stands out is the first thing that is seen of it.
    assert window.panels.is_in_front("findings")
    window.panels.show_panel("console")
    qtbot.waitUntil(lambda: isinstance(window.panels.panel("console"), ConsolePanel), timeout=60_000)
    panel = window.panels.panel("console")
    assert isinstance(panel, ConsolePanel)
    qtbot.waitUntil(lambda: "step 4" in panel.view.toPlainText(), timeout=60_000)
    assert not (tmp_path / "run.h5.spool").exists()
    assert settings.record_of(SETTINGS_KEY)["arguments"] == "'two words'"
    again = open_dialog(qtbot, window)
    assert again.script.text() == str(tmp_path / "program.py")
    assert again.arguments.text() == "'two words'"


def test_the_page_shows_output_and_figures_while_it_records_and_pauses(
    qtbot: QtBot, window: MainWindow, start: Start
) -> None:
    page = start(WAITS)
    window.activateWindow()
    # The keyboard belongs to the program: a key pressed at once must not end the recording.
    qtbot.waitUntil(page.input.line.hasFocus, timeout=TIMEOUT_MS)
    qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Space)
    assert page.input.line.text() == " "
    qtbot.waitUntil(lambda: "begun" in page.console.toPlainText(), timeout=TIMEOUT_MS)
    qtbot.waitUntil(lambda: page.figures["events"].text() not in {"–", "0"}, timeout=TIMEOUT_MS)
    assert int(page.figures["pid"].text()) > 1
    assert page.figures["time"].text().endswith(" s")
    assert page.headline.text() == "Recording"
    qtbot.mouseClick(page.pause, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(
        lambda: page.headline.text() == "Paused" and page.pause.text() == "Resume", timeout=TIMEOUT_MS
    )
    qtbot.mouseClick(page.pause, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: page.headline.text() == "Recording", timeout=TIMEOUT_MS)
    with qtbot.waitSignal(window.tabs.page_opened, timeout=TIMEOUT_MS):
        qtbot.mouseClick(page.stop_button, Qt.MouseButton.LeftButton)
    assert len(window.tabs.pages[0].document.capture.pauses) == 1
    qtbot.waitUntil(lambda: window.tabs.count() == 1, timeout=TIMEOUT_MS)
    # The program ended by a signal, because the user stopped it: that is no failure.
    assert not window.message_bars.bars


def test_cancelling_ends_the_program_and_leaves_nothing(
    qtbot: QtBot, window: MainWindow, start: Start, tmp_path: Path
) -> None:
    page = start(WAITS)
    qtbot.waitUntil(lambda: page.figures["pid"].text() != "–", timeout=TIMEOUT_MS)
    pid = int(page.figures["pid"].text())
    qtbot.mouseClick(page.cancel_button, Qt.MouseButton.LeftButton)
    question = question_of(page)
    assert question.discard is not None
    with qtbot.waitSignal(page.recording.ended, timeout=TIMEOUT_MS):
        qtbot.mouseClick(question.discard, Qt.MouseButton.LeftButton)
    assert window.tabs.count() == 0
    assert window.welcome.isVisible()
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix != ".ini") == ["program.py"]
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def close_tab(qtbot: QtBot, window: MainWindow) -> None:
    """Ctrl+W, once the window has the keyboard again that a dialog had."""
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow, timeout=TIMEOUT_MS)
    qtbot.keyClick(window, Qt.Key.Key_W, Qt.KeyboardModifier.ControlModifier)


def question_of(page: RecordingPage) -> EndQuestion:
    (question,) = (box for box in page.findChildren(EndQuestion) if box.isVisible())
    return question


def test_closing_the_tab_asks_and_throws_nothing_away(
    qtbot: QtBot, window: MainWindow, start: Start, tmp_path: Path
) -> None:
    page = start(WAITS)
    qtbot.waitUntil(lambda: page.figures["pid"].text() != "–", timeout=TIMEOUT_MS)
    close_tab(qtbot, window)
    question = question_of(page)
    qtbot.keyClick(question, Qt.Key.Key_Escape)
    qtbot.waitUntil(
        lambda: not [box for box in page.findChildren(EndQuestion) if box.isVisible()], timeout=60_000
    )
    assert page.recording.is_running
    assert not page.recording.is_stopping
    close_tab(qtbot, window)
    with qtbot.waitSignal(window.tabs.page_opened, timeout=TIMEOUT_MS):
        qtbot.mouseClick(question_of(page).end, Qt.MouseButton.LeftButton)
    assert (tmp_path / "run.h5").exists()


def test_a_program_that_reads_is_answered_in_the_window(
    qtbot: QtBot, window: MainWindow, start: Start
) -> None:
    program = "import sys\nprint('name?', flush=True)\nname = input()\nprint('hello', name, flush=True)\n"
    page = start(program + "print(len(sys.stdin.read()), 'more', flush=True)\n")
    qtbot.waitUntil(lambda: "name?" in page.console.toPlainText(), timeout=TIMEOUT_MS)
    qtbot.keyClicks(page.input.line, "Ada")
    qtbot.keyClick(page.input.line, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: "hello Ada" in page.console.toPlainText(), timeout=TIMEOUT_MS)
    assert not page.input.line.text()
    with qtbot.waitSignal(window.tabs.page_opened, timeout=TIMEOUT_MS):
        qtbot.mouseClick(page.input.end, Qt.MouseButton.LeftButton)
    assert "0 more" in window.tabs.pages[0].document.console_text


def test_a_program_that_is_killed_is_still_shown(qtbot: QtBot, window: MainWindow, start: Start) -> None:
    page = start(WAITS)
    qtbot.waitUntil(lambda: page.figures["pid"].text() != "–", timeout=TIMEOUT_MS)
    with qtbot.waitSignal(window.tabs.page_opened, timeout=TIMEOUT_MS):
        os.kill(int(page.figures["pid"].text()), signal.SIGKILL)
    assert window.isVisible()


def test_a_program_that_cannot_be_run_is_explained(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    dialog = open_dialog(qtbot, window)
    dialog.command_mode.setChecked(True)
    dialog.command.setText("/no/such/program --x")
    dialog.output.setText(str(tmp_path / "run.h5"))
    dialog.start()
    assert dialog.recording is not None
    page = window.tabs.page_of(dialog.recording)
    assert isinstance(page, RecordingPage)
    qtbot.waitUntil(lambda: bool(page.message_bars.bars), timeout=TIMEOUT_MS)
    assert "/no/such/program" in page.message_bars.bars[0].text
    assert "No such file" in page.message_bars.bars[0].text
    assert not page.stop_button.isVisible()
    qtbot.mouseClick(page.cancel_button, Qt.MouseButton.LeftButton)
    assert window.tabs.count() == 0


def test_a_program_that_outlives_its_recording_keeps_its_tab(
    qtbot: QtBot, window: MainWindow, start: Start
) -> None:
    with qtbot.waitSignal(window.tabs.page_opened, timeout=TIMEOUT_MS):
        page = start(WAITS, duration="300ms")
    assert window.tabs.count() == 2
    assert page.recording.is_running
    qtbot.waitUntil(lambda: "still running" in page.headline.text(), timeout=TIMEOUT_MS)
    with qtbot.waitSignal(page.recording.ended, timeout=TIMEOUT_MS):
        qtbot.mouseClick(page.stop_button, Qt.MouseButton.LeftButton)
    assert window.tabs.count() == 1


def test_a_form_that_is_not_complete_says_what_is_missing(qtbot: QtBot, window: MainWindow) -> None:
    dialog = open_dialog(qtbot, window)
    dialog.script.clear()
    qtbot.keyClick(dialog.script, Qt.Key.Key_Return)
    assert dialog.isVisible()
    assert dialog.problem.text() == "Choose the script to run."
    assert window.tabs.count() == 0


def test_the_window_asks_before_it_leaves_a_running_recording(
    qtbot: QtBot, window: MainWindow, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = start(WAITS)
    qtbot.waitUntil(lambda: page.figures["pid"].text() != "–", timeout=TIMEOUT_MS)
    asked: list[str] = []

    def answer(box: QMessageBox) -> int:
        asked.append(box.text())
        box.buttons()[-1].click()
        return 0

    monkeypatch.setattr(QMessageBox, "exec", answer)
    monkeypatch.setattr(QMessageBox, "clickedButton", lambda box: box.buttons()[-1])
    window.close()
    assert asked == ["A program is being recorded."]
    assert window.isVisible()
    assert page.recording.is_running
    with qtbot.waitSignal(page.recording.ended, timeout=TIMEOUT_MS):
        page.recording.cancel()


def test_sources_are_greyed_out_with_the_reason(qtbot: QtBot) -> None:
    choice = SourceChoice()
    qtbot.addWidget(choice)
    choice.set_chosen(("cpu", "nvml", "cuda"))
    choice.show_reports(
        (
            SourceReport(
                name="perf",
                title="Perf",
                available=False,
                reason="perf_event_paranoid is 4",
                remedy="sysctl …",
                trace="cpu",
            ),
            SourceReport(
                name="procfs",
                title="Estimated from /proc",
                available=True,
                reason="sampled",
                remedy="",
                trace="cpu",
            ),
            SourceReport(
                name="nvml",
                title="GPU counters",
                available=False,
                reason="no NVIDIA driver",
                remedy="install it",
                trace="nvml",
            ),
        )
    )
    assert choice.boxes["cpu"].isEnabled()
    assert choice.notes["cpu"].text() == "sampled"
    assert "paranoid" in choice.boxes["cpu"].toolTip()
    assert not choice.boxes["nvml"].isEnabled()
    assert choice.notes["nvml"].text() == "no NVIDIA driver"
    assert "install it" in choice.boxes["nvml"].toolTip()
    assert list(choice.chosen) == ["cpu", "cuda"]
    # What was wanted is wanted again on a machine that can.
    choice.show_reports(
        (SourceReport(name="nvml", title="GPU counters", available=True, reason="", remedy="", trace="nvml"),)
    )
    assert list(choice.chosen) == ["cpu", "nvml", "cuda"]


def test_an_answer_of_doctor_is_read_or_refused() -> None:
    answer = {"sources": [{"name": "perf", "available": True, "trace": "cpu"}, 3, {"title": "no name"}]}
    assert parse_doctor(answer) == (
        SourceReport(name="perf", title="perf", available=True, reason="", remedy="", trace="cpu"),
    )
    with pytest.raises(ValueError, match="no sources"):
        parse_doctor([])


def test_a_recording_that_was_killed_opens_from_its_spool(
    qtbot: QtBot, window: MainWindow, start: Start, tmp_path: Path
) -> None:
    page = start(WAITS)
    qtbot.waitUntil(lambda: int(page.recording.status.get("events", 0)) > 200, timeout=TIMEOUT_MS)
    pid = int(page.figures["pid"].text())
    page.recording.process.kill()
    qtbot.waitUntil(lambda: bool(page.message_bars.bars), timeout=TIMEOUT_MS)
    os.kill(pid, signal.SIGKILL)
    assert "warpline recover" in page.message_bars.bars[0].text
    (recover,) = [b for b in page.message_bars.bars[0].findChildren(QPushButton) if b.text() == "Recover"]
    with qtbot.waitSignal(window.tabs.page_opened, timeout=TIMEOUT_MS):
        qtbot.mouseClick(recover, Qt.MouseButton.LeftButton)
    assert window.tabs.count() == 1
    assert window.tabs.pages[0].document.source == tmp_path / "run.h5"
    assert len(window.tabs.pages[0].document.capture.events) > 0
    assert not (tmp_path / "run.h5.spool").exists()


def test_the_doctor_asks_this_python_first_and_every_one_when_told_to(
    qtbot: QtBot, window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def answer(name: str) -> Callable[[object, object], tuple[SourceReport, ...]]:
        def read(_progress: object, _is_cancelled: object) -> tuple[SourceReport, ...]:
            asked.append(name)
            return (
                SourceReport(
                    name="python",
                    title=name,
                    available=True,
                    reason="works with Python 3.11.7",
                    remedy="",
                    trace="python",
                ),
            )

        return read

    monkeypatch.setattr("warpline_app.dialogs.doctor.read_doctor", answer("this"))
    monkeypatch.setattr("warpline_app.dialogs.doctor.read_doctor_of_every_python", answer("every"))
    dialog = show_doctor(window)
    qtbot.waitUntil(lambda: bool(dialog.reports) and dialog.every_python.isEnabled(), timeout=TIMEOUT_MS)
    assert asked == ["this"]
    qtbot.mouseClick(dialog.every_python, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: dialog.reports[0].title == "every", timeout=TIMEOUT_MS)
    assert asked == ["this", "every"]
    assert [label.text() for label in dialog.findChildren(QLabel) if label.objectName() == "subhead"] == [
        "every"
    ]
    dialog.close()
