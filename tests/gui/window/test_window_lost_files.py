"""The window survives a truncated, changed, replaced, removed or unmounted capture, and shows what happened."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

import warpline_app
from warpline import page_guard
from warpline.storage import CaptureBuilder
from warpline_app.window.capture_page import CapturePage
from warpline_app.window.main_window import MainWindow

OpenPage = Callable[[Path], CapturePage]
KEYS = (Qt.Key.Key_W, Qt.Key.Key_D, Qt.Key.Key_F)
N = 20_000


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture whose columns are mapped: most of it has not been looked at when a window has opened it."""
    path = tmp_path_factory.mktemp("large") / "run.h5"
    with CaptureBuilder(path) as builder:
        for number in range(3):
            track = builder.track(f"process/1/thread/{number}", title=f"thread {number}")
            starts = np.arange(N, dtype=np.int64) * 1000 + number
            builder.add_events(track, "range", starts, 600, [builder.string(f"name {number}")] * N)
        builder.finish()
    return path


@pytest.fixture
def copy(large: Path, tmp_path: Path) -> Path:
    """It, to be spoiled."""
    return Path(shutil.copy(large, tmp_path / "copy.h5"))


def use(qtbot: QtBot, window: MainWindow, page: CapturePage) -> None:
    """Move about, and paint everything."""
    for key in KEYS:
        qtbot.keyClick(page.view, key)
        window.grab()
    qtbot.waitUntil(lambda: page.view.is_idle, timeout=60_000)


def told(window: MainWindow) -> list[str]:
    """What the bars say after the files were looked at."""
    window.file_watch.look()
    return [bar.text for bar in window.message_bars.bars]


@pytest.mark.skipif(not page_guard.LIBRARY.exists(), reason="no compiler made the guard here")
def test_a_truncated_file_loses_its_contents_and_not_the_window(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, copy: Path
) -> None:
    page, size = open_page(copy), copy.stat().st_size
    os.truncate(copy, 5000)
    use(qtbot, window, page)
    capture = page.document.capture
    # Every page of it: the process that has it mapped goes on.
    assert not int(np.asarray(capture.events.duration).sum())
    # That zeros were read is known for good, also when the file is as long as ever.
    os.truncate(copy, size)
    assert capture.fate().value == "lost"
    (text,) = told(window)
    assert text.startswith("copy.h5: the file was truncated")
    assert told(window) == [text]
    use(qtbot, window, page)
    window.workspace.close(page.document)
    assert not told(window)


def test_a_removed_file_stays_visible(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, copy: Path
) -> None:
    page = open_page(copy)
    assert not told(window)
    copy.unlink()
    use(qtbot, window, page)
    (text,) = told(window)
    assert text.startswith("copy.h5: the file was removed")


def test_a_replaced_file_can_be_opened_again(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, copy: Path, large: Path
) -> None:
    page = open_page(copy)
    shutil.copy(large, copy.with_suffix(".new"))
    copy.with_suffix(".new").replace(copy)
    use(qtbot, window, page)
    (text,) = told(window)
    assert text == "copy.h5: the file was replaced; the view shows the old one"
    button = next(found for found in window.message_bars.bars[0].findChildren(QPushButton) if found.text())
    with qtbot.waitSignal(window.tabs.page_opened, timeout=60_000):
        button.click()
    assert not told(window)
    assert len(window.workspace.documents) == 1


def test_an_overwritten_file_is_reported(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, copy: Path
) -> None:
    page = open_page(copy)
    noise = np.random.default_rng(17).bytes(copy.stat().st_size - 8192)
    with copy.open("r+b") as file:
        file.seek(8192)
        file.write(noise)
    os.utime(copy, ns=(1, 1))
    use(qtbot, window, page)
    assert told(window)[-1].startswith("copy.h5: the file changed after")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk that can be taken away."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64m", "none", str(folder)]
    if sys.platform != "linux" or os.geteuid():
        pytest.skip("mounting a disk needs root on Linux")
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("no disk can be mounted here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], capture_output=True, check=False)


def test_an_unmounted_disk_is_reported(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, large: Path, disk: Path
) -> None:
    page = open_page(Path(shutil.copy(large, disk / "run.h5")))
    subprocess.run(["umount", "-l", str(disk)], check=True)
    use(qtbot, window, page)
    (text,) = told(window)
    assert "or its disk is gone" in text


def test_no_paint_event_is_outside_the_guard() -> None:
    root = Path(warpline_app.__file__).parent
    bare = []
    for path in sorted(root.rglob("*.py")):
        text = path.read_text("utf-8")
        for node in ast.walk(ast.parse(text)) if "paintEvent" in text else ():
            if isinstance(node, ast.FunctionDef) and node.name == "paintEvent":
                decorators = {ast.unparse(decorator) for decorator in node.decorator_list}
                if "contained" not in decorators:
                    bare.append(path.name)
    # These call one that is guarded, and nothing else that can raise of ours.
    assert bare == ["canvas.py", "drop_tab_bar.py"]
