"""Panels of other distributions: found by their entry point, and no harm when they are broken."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot
from tests.gui.panels.panel_tools import panel_of, settle
from tests.gui.sample import MS

from warpline import plugins
from warpline_app.panels.frame.base import Panel
from warpline_app.panels.frame.failed import FailedPanel
from warpline_app.panels.frame.registry import all_panels
from warpline_app.remembered.settings import Settings
from warpline_app.window.main_window import MainWindow

PACKAGE = "warpline_panel_of_a_test"
ENTRY_POINTS = f"""[warpline.panels]
count = {PACKAGE}.spec:spec
impostor = {PACKAGE}.impostor:spec
gone = {PACKAGE}.nowhere:spec
number = {PACKAGE}.spec:__doc__
"""
IMPOSTOR = """
from warpline_app.panels.frame.panel_spec import PanelSpec
spec = PanelSpec("summary", "Not the summary", None, keys=("Ctrl+1",))
"""


def example(repository: Path) -> list[str]:
    """The two modules of docs/development.md."""
    text = (repository / "docs" / "development.md").read_text(encoding="utf-8")
    section = text.split("\n## Add a panel\n")[1].split("\n## ")[0]
    return [
        block.replace("warpline_app.panels.count", PACKAGE)
        for block in re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    ]


@pytest.fixture
def installed(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The example of the documentation as a distribution of its own, with three that are broken."""
    spec, panel = example(repository)
    site = tmp_path / "site"
    package, info = site / PACKAGE, site / f"{PACKAGE}-1.0.dist-info"
    package.mkdir(parents=True)
    info.mkdir()
    for name, text in (("__init__", ""), ("spec", spec), ("panel", panel), ("impostor", IMPOSTOR)):
        (package / f"{name}.py").write_text(text, encoding="utf-8")
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {PACKAGE}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(str(site))
    plugins.forget()
    all_panels.cache_clear()
    yield
    plugins.forget()
    all_panels.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]


@pytest.fixture
def window(qtbot: QtBot, installed: None, settings: Settings) -> MainWindow:
    """A window that was made after the distribution was installed."""
    made = MainWindow(settings)
    made.resize(1280, 800)
    with qtbot.waitExposed(made, timeout=60_000):
        made.show()
    made.activateWindow()
    return made


def open_sample(qtbot: QtBot, window: MainWindow, sample: Path) -> None:
    with qtbot.waitSignal(window.tabs.page_opened, timeout=60_000):
        window.workspace.open_file(sample)
    settle(qtbot, window)


def test_our_panels_are_found_by_their_folders() -> None:
    ids = [spec.id for spec in all_panels()]
    assert ids[:4] == ["findings", "summary", "events", "flame"]
    assert len(ids) == len(set(ids)) >= 10
    keys = [key for spec in all_panels() for key in spec.keys]
    assert len(keys) == len(set(keys))
    assert [spec.id for spec in all_panels() if spec.lists_events] == ["events"]
    assert [spec.id for spec in all_panels() if spec.greets] == ["findings"]
    for spec in all_panels():
        assert issubclass(spec.load(), Panel)


def test_a_panel_of_another_distribution_has_a_tab_a_key_and_follows_the_selection(
    qtbot: QtBot, window: MainWindow, sample: Path
) -> None:
    ids = [spec.id for spec in all_panels()]
    assert ids[ids.index("steps") : ids.index("histogram") + 1] == ["steps", "count", "histogram"]
    open_sample(qtbot, window, sample)
    qtbot.keyClick(
        window, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    )
    assert window.panels.is_in_front("count")
    settle(qtbot, window)
    panel = window.panels.panel("count")
    assert panel is not None
    label = panel.label  # type: ignore[attr-defined]  # of the example
    document = window.workspace.current
    assert document is not None
    assert label.text() == f"{len(document.capture.events):,} events"
    document.state.select_range(0, 2 * MS)
    settle(qtbot, window)
    within = int(label.text().removesuffix(" events"))
    assert 0 < within < len(document.capture.events)


@pytest.mark.usefixtures("installed")
def test_ids_and_keys_of_ours_are_not_taken() -> None:
    (summary,) = [spec for spec in all_panels() if spec.id == "summary"]
    assert summary.title == "Summary"
    assert summary.keys == ("Ctrl+1",)


@pytest.mark.parametrize(
    ("broken", "reason"), [("gone", "No module named"), ("number", "it is not of type PanelSpec")]
)
def test_a_broken_entry_point_says_why_in_its_tab_and_nowhere_else(
    qtbot: QtBot,
    window: MainWindow,
    sample: Path,
    monkeypatch: pytest.MonkeyPatch,
    broken: str,
    reason: str,
) -> None:
    told: list[str] = []
    monkeypatch.setattr(sys, "excepthook", lambda _kind, error, _trace: told.append(str(error)))
    open_sample(qtbot, window, sample)
    assert not window.panels.is_shown(broken), "nobody who does not ask for it sees it"
    failed = panel_of(qtbot, window, broken, FailedPanel)
    assert reason in failed.reason.text()
    assert len(told) == 1
    assert reason in told[0]
    panel_of(qtbot, window, "steps", Panel)
    assert len(told) == 1
