"""File → Open location…: a file on another machine, and what ssh asks on the way."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from PySide6.QtWidgets import QDialogButtonBox, QLineEdit, QPushButton
from pytestqt.qtbot import QtBot
from tests.unit.recording.remote.conftest import NoServer, ssh_server

from warpline_app.dialogs.open_location import OpenLocationDialog, location_of, show_open_location
from warpline_app.dialogs.ssh_question import SshQuestion
from warpline_app.look.ssh_environment import asking_environment
from warpline_app.remembered.settings import Settings
from warpline_app.window.main_window import MainWindow
from warpline_app.window.opening_page import OpeningPage

TIMEOUT_MS = 60_000
KEY_QUESTION = (
    "The authenticity of host 'box' can't be established.\nED25519 key fingerprint is SHA256:abc.\n"
    "Are you sure you want to continue connecting (yes/no/[fingerprint])? "
)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("SSH_ASKPASS", raising=False)
    return tmp_path / "cache"


@pytest.mark.parametrize(
    ("text", "location"),
    [
        ("ssh://box/data/run.h5", "ssh://box/data/run.h5"),
        (" me@box:/data/50%.h5", "ssh://me@box/data/50%25.h5"),
        ("box:run.h5", "ssh://box/~/run.h5"),
        ("box:~/run.h5", "ssh://box/~/run.h5"),
        ("ssh://box/", ""),
        ("ssh://box/folder/", ""),
        ("run.h5", ""),
        ("", ""),
    ],
)
def test_a_location_is_typed_as_for_scp_too(text: str, location: str) -> None:
    assert location_of(text) == location


def program(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Puts a program in the place of ssh."""
    folder.mkdir()
    (folder / "ssh").write_text(f"#!/bin/sh\n{text}\n")
    (folder / "ssh").chmod(0o700)
    monkeypatch.setenv("PATH", str(folder), prepend=":")


def test_a_location_opens_in_a_tab(
    qtbot: QtBot,
    window: MainWindow,
    sample: Path,
    settings: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "sshd").mkdir()
    try:
        with ssh_server(tmp_path / "sshd") as config:
            path = os.environ["PATH"]
            program(tmp_path / "bin", f'PATH={path} exec ssh -F {config} "$@"', monkeypatch)
            dialog = show_open_location(window.workspace, window)
            assert not dialog.open_button.isEnabled()
            dialog.location.setEditText(f"box:{sample}")
            with qtbot.waitSignal(window.workspace.document_opened, timeout=TIMEOUT_MS) as opened:
                dialog.accept()
    except NoServer as error:
        pytest.skip(str(error))
    assert opened.args is not None
    assert opened.args[0].title == sample.name
    assert opened.args[0].source != sample
    assert settings.recent_files == [], "a copy in the cache is no file of the user"
    assert OpenLocationDialog(window.workspace).location.itemText(0) == f"ssh://box{sample}"


def test_fetching_is_cancelled_while_ssh_waits(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "bin", "exec sleep 600", monkeypatch)
    page = window.tabs.currentWidget() if window.workspace.open_location("ssh://box/run.h5") else None
    assert isinstance(page, OpeningPage)
    page.cancel_requested.emit()
    qtbot.waitUntil(lambda: not window.workspace.activities, timeout=TIMEOUT_MS)
    assert window.workspace.items == ()


def test_a_question_about_a_key_is_shown_as_it_is_and_no_is_the_default(qtbot: QtBot) -> None:
    dialog = SshQuestion(KEY_QUESTION)
    qtbot.addWidget(dialog)
    assert dialog.question.text() == KEY_QUESTION.strip()
    assert dialog.answer.isHidden()
    default = next(button for button in dialog.buttons.findChildren(QPushButton) if button.isDefault())
    assert dialog.buttons.buttonRole(default) is QDialogButtonBox.ButtonRole.RejectRole
    assert dialog.text == "yes"


def test_a_password_is_not_shown_and_controls_in_a_question_are(qtbot: QtBot) -> None:
    dialog = SshQuestion("me@box's password:\x1b[2J ")
    qtbot.addWidget(dialog)
    assert "\x1b" not in dialog.question.text()
    assert dialog.answer.echoMode() is QLineEdit.EchoMode.Password
    dialog.answer.setText("secret")
    assert dialog.text == "secret"


def test_ssh_starts_our_program_unless_the_user_has_one(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = asking_environment()
    assert environment["SSH_ASKPASS_REQUIRE"] == "force"
    script = Path(environment["SSH_ASKPASS"])
    assert script.parent == cache / "warpline"
    assert os.access(script, os.X_OK)
    done = subprocess.run(["sh", "-n", str(script)], check=False, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    monkeypatch.setenv("SSH_ASKPASS", "/usr/bin/another")
    assert asking_environment()["SSH_ASKPASS"] == "/usr/bin/another"
