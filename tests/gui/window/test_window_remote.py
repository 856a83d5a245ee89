"""New capture on another machine: chosen in the form, looked at in the background, recorded there."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from PySide6.QtGui import QImage
from pytestqt.qtbot import QtBot
from tests.gui.window.test_window_recording import TIMEOUT_MS, open_dialog
from tests.gui.window.test_window_start import texts

from warpline_app.recording.machines import recent_machines, ssh_hosts
from warpline_app.recording.request import RecordingRequest
from warpline_app.remembered.settings import Settings
from warpline_app.window.capture_page import CapturePage
from warpline_app.window.main_window import MainWindow
from warpline_app.window.start.recent_card import RecentCard
from warpline_app.window.start.recent_pictures import RecentPictures

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="recording works on Linux only")

MACHINE = "env ANOTHER=machine"
"""A command that runs programs: this machine by another way."""


@pytest.fixture(autouse=True)
def far_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_a_command_is_recorded_on_another_machine(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, settings: Settings
) -> None:
    dialog = open_dialog(qtbot, window)
    assert dialog.where.currentText() == "This computer"
    dialog.command_mode.setChecked(True)
    dialog.where.setEditText("no-such-command here")
    qtbot.waitUntil(lambda: "no such command" in dialog.sources.failure.text(), timeout=TIMEOUT_MS)
    dialog.where.setEditText(MACHINE)
    qtbot.waitUntil(lambda: dialog.sources.boxes["cpu"].toolTip() != "", timeout=TIMEOUT_MS)
    dialog.command.setText("sh -c 'echo $ANOTHER $GIVEN'")
    dialog.environment.setPlainText("GIVEN=value")
    dialog.sources.set_chosen(("cpu",))
    dialog.output.setText(str(tmp_path / "run.h5"))
    with qtbot.waitSignal(window.tabs.page_opened, timeout=TIMEOUT_MS) as opened:
        dialog.start()
        assert dialog.recording is not None, dialog.problem.text()
        assert dialog.recording.title == f"● run on {MACHINE}"
        text = dialog.recording.text
    assert opened.args is not None
    page = opened.args[0]
    assert isinstance(page, CapturePage)
    qtbot.waitUntil(lambda: window.tabs.count() == 1, timeout=TIMEOUT_MS)
    assert "machine value" in text.text
    assert page.document.capture.meta["host"]["reached_as"] == MACHINE
    assert recent_machines(settings) == [MACHINE]
    pictures = RecentPictures(settings)
    pictures.keep(page.document, QImage(64, 64, QImage.Format.Format_RGB32))
    remembered = pictures.of(page.document.source)
    assert remembered is not None
    assert remembered.machine == MACHINE
    assert any(
        text.startswith(f"{MACHINE} · ") for text in texts(RecentCard(page.document.source, remembered))
    )


def test_hosts_of_sshs_configuration_are_offered(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text('Host box gpu?\n  HostName 10.0.0.1\nhost="other"\nHost *\n User me\n# Host none\n')
    assert ssh_hosts(config) == ["box", "other"]
    assert ssh_hosts(tmp_path / "none") == []


def test_a_request_for_another_machine_names_paths_over_there() -> None:
    request = RecordingRequest(
        where="box",
        script="train.py",
        working_directory="/data",
        environment="A=secret",
        output="/tmp/run.h5",
    ).checked()
    words = request.record_arguments()
    assert words[words.index("--on=box") :] == [
        "--on=box",
        "--chdir",
        "/data",
        "--env=A",
        "--",
        "python3",
        "train.py",
    ]
