"""The window in Chinese: every panel, dialog and menu is read, and no English word is left that is no term."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QAbstractItemModel, QAbstractListModel, QAbstractTableModel, QModelIndex, Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QComboBox,
    QFileDialog,
    QGroupBox,
    QHeaderView,
    QLabel,
    QLineEdit,
    QMenu,
    QPlainTextEdit,
    QTabBar,
    QWidget,
)
from pytestqt.qtbot import QtBot
from tests.gui.wait_sample import write_wait_sample

from warpline import i18n, resources
from warpline.analysis.framework.registry import reports
from warpline.i18n.po import read_po
from warpline.storage import Capture
from warpline_app.look.application import speak
from warpline_app.panels.events.panel import EventsPanel
from warpline_app.panels.frame.registry import all_panels
from warpline_app.panels.summary.panel import SummaryPanel
from warpline_app.session.settings import Settings
from warpline_app.timeline.model.search import SearchQuery, find_events
from warpline_app.window.capture_page import CapturePage
from warpline_app.window.main_window import MainWindow

WORD = re.compile(r"[A-Za-z][A-Za-z']+")
NO_WORDS = re.compile(
    r"<[^>]*>|(?:/[\w.*~-]+)+|\(&\w\)|\*\.[\w.-]+|https?://\S+|--?[\w-]+"
    r"|[TAQK](Avg|Med|Min|Max|StdDev)|(Grd|Blk|Grid|Block)[XYZ]+|MEMORY_OPER|CudaRuntime|MemcpyAsync"
)
"""Tags, paths, letters of menus, patterns of files, addresses, options; columns and rows of Nsight and Paddle."""
KEYS_AND_UNITS = (
    "Ctrl Shift Alt Esc Tab Return Enter Space Home End PgUp PgDown Up Down Left Right Backspace Del Ins"
    " ns us ms min KiB MiB GiB TiB Hz kHz MHz"
)
PROPER = (
    "Warpline English Python PySide numpy PushPop PythonUserDefined pyenv conda venv Lock acquire threading"
)
DIALOGS = (
    "view.preferences",
    "help.keys",
    "help.about",
    "file.new_capture",
    "file.export",
    "help.palette",
    "file.open",
)


@pytest.fixture
def chinese(settings: Settings) -> Iterator[MainWindow]:
    application = QApplication.instance()
    assert isinstance(application, QApplication)
    translator = speak(application, i18n.install("zh_CN"))
    assert translator is not None
    window = MainWindow(settings)
    window.resize(1600, 1000)
    window.show()
    yield window
    window.close()
    application.removeTranslator(translator)
    i18n.use(None)


def terms() -> set[str]:
    """Words that stay as they are: those a translator left in Chinese sentences, keys, units and names."""
    kept: set[str] = set()
    for entry in read_po(resources.path("translations/zh_CN.po")):
        if entry.text:
            for text in entry.translations:
                kept.update(WORD.findall(text))
    return {
        word.casefold() for word in (*kept, *WORD.findall(f"{KEYS_AND_UNITS} {PROPER} {platform.platform()}"))
    }


def words_of(capture: Capture) -> set[str]:
    """What the recorded program calls its things."""
    own = {str(capture.path), *(str(value) for value in capture.meta.values())}
    state = capture.kinds["thread_state"].code
    named = set(capture.events.name[capture.events.kind != state].tolist())
    own.update(capture.strings[code] for code in named)
    own.update(process.name + " " + process.command for process in capture.processes)
    own.update(thread.name for thread in capture.threads)
    own.update(device.name for device in capture.devices)
    own.update(text for source in capture.sources for text in (source.reason, source.remedy))
    own.update(capture.warnings)
    own.update(track.uri for track in capture.tracks)
    return {word.casefold() for text in own for word in WORD.findall(text)}


def cells(model: QAbstractItemModel, above: QModelIndex) -> Iterator[str]:
    """Titles and texts of a table or tree, of its first rows."""
    columns = 1 if isinstance(model, QAbstractListModel) else model.columnCount(above)
    for section in range(columns):
        yield str(model.headerData(section, Qt.Orientation.Horizontal) or "")
    for row in range(min(model.rowCount(above), 60)):
        for column in range(columns):
            index = model.index(row, column, above)
            yield str(model.data(index) or "")
            yield str(model.data(index, Qt.ItemDataRole.ToolTipRole) or "")
            if not isinstance(model, QAbstractListModel | QAbstractTableModel) and model.rowCount(index):
                yield from cells(model, index)


def texts_of(top: QWidget) -> Iterator[tuple[str, str]]:
    """(kind of widget, text) of everything that is seen in a window, tooltips included."""
    for widget in (top, *top.findChildren(QWidget)):
        if not widget.isVisibleTo(top) or isinstance(widget, QHeaderView):
            continue
        kind = type(widget).__name__
        found = [widget.toolTip(), widget.accessibleName(), widget.windowTitle() if widget.isWindow() else ""]
        if isinstance(widget, QLabel | QAbstractButton):
            found.append(widget.text())
        elif isinstance(widget, QLineEdit):
            found += [widget.placeholderText()]
        elif isinstance(widget, QGroupBox):
            found.append(widget.title())
        elif isinstance(widget, QTabBar):
            found += [widget.tabText(place) for place in range(widget.count())]
        elif isinstance(widget, QComboBox):
            found += [widget.itemText(place) for place in range(widget.count())]
        elif isinstance(widget, QPlainTextEdit):
            found.append(widget.placeholderText())
        elif isinstance(top, QFileDialog):
            continue  # names of files
        elif isinstance(widget, QAbstractItemView) and widget.model() is not None:
            found += cells(widget.model(), QModelIndex())
        yield from ((kind, text) for text in found if text)


def menu_texts(menu: QMenu) -> Iterator[tuple[str, str]]:
    for action in menu.actions():
        yield "menu", action.text().partition("\t")[0].replace("&", "")
        yield "menu", action.toolTip().replace("&", "")
        below = action.menu()
        if isinstance(below, QMenu):
            yield from menu_texts(below)


def english_in(found: Iterator[tuple[str, str]], allowed: set[str]) -> list[str]:
    """Texts with a Latin word that is no term."""
    result = []
    for kind, text in found:
        plain = NO_WORDS.sub(" ", text.replace("\u200b", ""))
        left = [word for word in WORD.findall(plain) if word.casefold() not in allowed]
        if left:
            result.append(f"{kind}: {text!r}: {left}")
    return list(dict.fromkeys(result))


def test_no_english_is_left_in_menus_and_on_the_start_page(chinese: MainWindow) -> None:
    allowed = terms()
    found = english_in(texts_of(chinese), allowed)
    for menu in chinese.menus.values():
        menu.aboutToShow.emit()
        found += english_in(menu_texts(menu), allowed)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("which", ["sample", "waits"])
def test_no_english_is_left_in_any_panel(
    qtbot: QtBot, chinese: MainWindow, sample: Path, tmp_path: Path, which: str
) -> None:
    (tmp_path / "fight.py").write_text("line\n" * 9)
    path = sample if which == "sample" else write_wait_sample(tmp_path / "waits.h5", tmp_path / "fight.py")
    with qtbot.waitSignal(chinese.tabs.page_opened, timeout=20_000):
        chinese.workspace.open_file(path)
    page = chinese.tabs.timeline_page
    assert isinstance(page, CapturePage)
    capture = page.document.capture
    allowed = terms() | words_of(capture) | {word.casefold() for word in WORD.findall(str(path))}

    def wait() -> None:
        qtbot.waitUntil(lambda: page.view.is_idle and chinese.panels.is_settled, timeout=20_000)

    wait()
    found: list[str] = []
    rows = list(page.view.scene.tree.root.walk())
    found += english_in((("row", row.title) for row in rows if row.title), allowed)
    kinds = sorted({int(code) for code in capture.events.kind.tolist()})
    firsts = [int(capture.kinds[capture.kind_of_code[code]].rows[0]) for code in kinds]
    for spec in all_panels():
        chinese.panels.show_panel(spec.id)
        wait()
        panel = chinese.panels.panel(spec.id)
        assert panel is not None
        found += english_in(texts_of(panel), allowed)
        if isinstance(panel, SummaryPanel):
            for report in reports():
                if report.needs and not set(report.needs) & set(capture.kinds):
                    continue
                panel.choose(report.name)
                wait()
                found += english_in(texts_of(panel), allowed)
    for row in firsts:
        page.document.state.select(row)
        wait()
        details = chinese.panels.panel("details")
        assert details is not None
        found += english_in(texts_of(details), allowed)
    found += english_in(texts_of(chinese), allowed)
    for name in DIALOGS if which == "sample" else ():
        before = set(QApplication.topLevelWidgets())
        chinese.commands.run(name)
        QApplication.processEvents()
        for dialog in [
            widget for widget in QApplication.topLevelWidgets() if widget.isVisible() and widget not in before
        ]:
            found += english_in(texts_of(dialog), allowed)
            dialog.close()
    found = list(dict.fromkeys(found))
    assert not found, "\n".join(found)


def test_states_of_threads_are_found_and_listed_in_chinese(
    qtbot: QtBot, chinese: MainWindow, sample: Path
) -> None:
    with qtbot.waitSignal(chinese.tabs.page_opened, timeout=20_000):
        chinese.workspace.open_file(sample)
    document = chinese.workspace.current
    assert document is not None
    blocked = document.capture.strings.id("blocked")
    assert blocked is not None
    assert blocked in find_events(document.capture, SearchQuery("阻塞")).names
    chinese.panels.show_panel("events")
    qtbot.waitUntil(lambda: chinese.panels.is_settled, timeout=20_000)
    panel = chinese.panels.panel("events")
    assert isinstance(panel, EventsPanel)
    panel.kind.setCurrentIndex(panel.kind.findData("thread_state"))
    panel.filter_column("name", "阻塞")
    qtbot.waitUntil(lambda: chinese.panels.is_settled, timeout=20_000)
    model = panel.table.model_
    texts = {str(model.data(model.index(row, 2))) for row in range(model.rowCount())}
    assert texts == {"阻塞"}
