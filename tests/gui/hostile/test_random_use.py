"""Random use of two captures leaves no message, no dead key and no cut tab; `random_minutes` does so for longer."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot
from tests.gui.hostile.random_minutes import complaints, use
from tests.gui.hostile.random_user import RandomUser, surprises

from warpline_app.window.main_window import MainWindow

ROUNDS = 4


@pytest.mark.parametrize("seed", [17])
def test_random_use_leaves_no_message_no_dead_key_and_no_cut_tab(
    qtbot: QtBot, window: MainWindow, sample: Path, tmp_path: Path, seed: int
) -> None:
    del qtbot
    window.workspace.settings.tour_seen = True
    other = shutil.copy(sample, tmp_path / "a name that is rather long for the tab of a capture.h5")
    with surprises() as found:
        user = RandomUser(window, seed)
        use(user, [sample, Path(other)], iter(range(ROUNDS)))
        user.close_dialogs()
        problems = complaints(window)
        user.leave()
    assert not problems
    assert not found.texts
