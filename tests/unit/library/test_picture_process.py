"""Pictures from a process that stays: equal to those of a process of their own, with a time limit."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from tests.unit.library.library_tools import write_run

from warpline.library import picture_process
from warpline.library.picture_process import PictureProcess
from warpline.library.pictures import draw
from warpline.model.errors import Cancelled, UsageError, WarplineError

NOWHERE = (None, None)


def test_one_process_draws_what_others_draw_and_outlives_what_cannot_be_drawn(tmp_path: Path) -> None:
    pytest.importorskip("PySide6.QtWidgets")
    path = write_run(tmp_path / "run.h5")
    process = PictureProcess()
    try:
        first = process.draw(path, NOWHERE, [], (400, 200), "light")
        assert first == draw(path, NOWHERE, [], (400, 200), 1.0, "light")
        kept = process._process
        with pytest.raises(UsageError, match="no data in that range"):
            process.draw(path, (10**15, None), [], (400, 200), "light")
        with pytest.raises(WarplineError, match=re.escape(str(tmp_path / "none.h5"))):
            process.draw(tmp_path / "none.h5", NOWHERE, [], (400, 200), "light")
        assert process.draw(path, (0, 10**8), ["gpu/*"], (400, 200), "dark") != first
        assert process._process is kept
        assert kept is not None
        # One that was killed is started again.
        kept.kill()
        kept.wait()
        assert process.draw(path, NOWHERE, [], (400, 200), "light") == first
    finally:
        process.close()


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> PictureProcess:
    """A process that reads and never answers."""
    command = [sys.executable, "-c", "import sys; sys.stdin.buffer.read()"]
    monkeypatch.setattr(picture_process, "own_python", lambda _module: command)
    return PictureProcess()


def test_a_picture_that_takes_too_long_is_given_up(silent: PictureProcess, tmp_path: Path) -> None:
    with pytest.raises(WarplineError, match=r"not finished after 0\.1 s"):
        silent.draw(tmp_path / "run.h5", NOWHERE, [], (400, 200), "light", seconds=0.1)
    assert silent._process is None


def test_a_cancelled_picture_ends_the_process(silent: PictureProcess, tmp_path: Path) -> None:
    with pytest.raises(Cancelled):
        silent.draw(tmp_path / "run.h5", NOWHERE, [], (400, 200), "light", is_cancelled=lambda: True)
    assert silent._process is None


def test_a_process_that_ends_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(picture_process, "own_python", lambda _module: [sys.executable, "-c", "exit(3)"])
    with pytest.raises(WarplineError, match="drawing ended"):
        PictureProcess().draw(tmp_path / "run.h5", NOWHERE, [], (400, 200), "light")
