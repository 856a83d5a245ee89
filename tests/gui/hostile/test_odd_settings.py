"""A window opens whatever stands in the settings file, and shows a capture."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QSettings
from pytestqt.qtbot import QtBot
from tests.gui.hostile.odd_settings import spoil
from tests.gui.hostile.random_user import RandomUser, surprises

from warpline.storage import open_capture
from warpline_app.remembered.settings import Settings
from warpline_app.window.main_window import MainWindow

DIALOGS = ("file.open_job", "file.compare_with", "view.apply_view", "view.preferences")
SEEDS = (1, 4, 6, 7)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory, sample: Path) -> Path:
    """A settings file with something under every key."""
    path = tmp_path_factory.mktemp("saved") / "settings.ini"
    settings = Settings(path)
    with open_capture(sample) as capture:
        uuid = capture.uuid
    layout: dict[str, Any] = {
        "version": 1, "view": [0, 10**8], "pins": ["process/71.1"], "order": {"": ["gpu/0"]}, "hidden": ["gpu/0"],
        "expanded": {"process/71.1": True}, "heights": {"process/71.1": 30}, "marks": [[5, "a"]], "origin": 7,
        "arrows": "all",
    }  # fmt: skip
    panels: dict[str, Any] = {
        "bottom": ["summary", "events"], "right": ["details"], "float": {"flame": [5, 5, 300, 200]},
        "known": ["summary", "events", "details", "flame"], "front": ["summary", "details"], "inner": [400, 300],
        "outer": [1100, 300],
    }  # fmt: skip
    records: dict[str, dict[str, Any]] = {
        f"layouts/{uuid}": layout, f"views/{uuid}": {"mine": layout}, f"dismissed/{uuid}": {"gap": "known"},
        f"alignments/{uuid}": {"gpu": 5}, "window/panels": panels, "new_capture": {"mode": "script", "trace": ["perf"]},
        "job/open": {"address": "tcp://host:1", "by_scheduler": True}, "job/map": {"column": "time", "order": "rank"},
    }  # fmt: skip
    for key, value in records.items():
        settings.set_record(key, value)
    settings.add_recent_file(sample)
    settings.open_files = [sample]
    settings.last_folder = "/tmp"
    settings.theme = "dark"
    settings.save()
    return path


def use(window: MainWindow, sample: Path) -> None:
    user = RandomUser(window)
    window.menus["File"].aboutToShow.emit()
    assert user.open(sample) is None
    for command in DIALOGS:
        window.commands.run(command)
        user.close_dialogs()
    window.grab()
    user.leave()
    window.close()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_window_opens_with_garbage_for_settings(
    qtbot: QtBot, saved: Path, sample: Path, tmp_path: Path, seed: int
) -> None:
    path = Path(shutil.copy(saved, tmp_path / "warpline.ini"))
    spoil(path, seed)
    with surprises() as found:
        window = MainWindow(Settings(path))
        window.show()
        use(window, sample)
    assert not found.texts, found.texts[0]


@pytest.mark.parametrize(
    "panels",
    [
        {"bottom": [["summary"], {}], "right": [5, "details"]},
        {"bottom": ["summary"], "right": [], "known": [[]], "front": None},
        {"bottom": ["summary", "summary"], "right": ["summary"], "front": 5},
        {"bottom": [], "right": [], "inner": [2**62, 1], "outer": [1, 2**31]},
        {"bottom": [], "right": [], "known": ["flame"], "float": {"flame": [2**40, 0, 1, 1]}},
    ],
)
def test_panels_are_put_where_they_can_be(
    qtbot: QtBot, settings: Settings, panels: dict[str, Any], sample: Path
) -> None:
    settings.set_record("window/panels", panels)
    window = MainWindow(settings)
    window.show()
    shown = [spec.id for host in (window.panels.bottom, window.panels.right) for spec in host.specs]
    assert len(shown) == len(set(shown))
    window.close()


@pytest.mark.parametrize(
    "text", ["9" * 5000, "[" * 50_000, "{", "5", "", '{"a": NaN, "b": 1' + "0" * 30 + "}"]
)
def test_what_is_no_record_reads_as_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "warpline.ini"
    store = QSettings(str(path), QSettings.Format.IniFormat)
    store.setValue("window/panels", text)
    store.setValue("files/recent", text)
    store.sync()
    settings = Settings(path)
    # A number that no column and no pixel holds is none.
    assert settings.record_of("window/panels").get("b") is None
    assert settings.recent_files == []


def test_recent_files_that_can_be_no_files_are_left_out(
    qtbot: QtBot, settings: Settings, sample: Path
) -> None:
    odd = ["x" * 5000, "/" + "n" * 300, "\0", "~nobody-of-this-name/x", "/proc/1/task/x/y", ""]
    settings._store.setValue("files/recent", json.dumps([*odd, str(sample)]))
    window = MainWindow(settings)
    with surprises() as found:
        window.show()
        window.menus["File"].aboutToShow.emit()
        window.commands.run("file.compare_with")
    assert not found.texts
    assert [card.path for card in window.welcome.recent_cards if card.path.is_file()] == [sample]
