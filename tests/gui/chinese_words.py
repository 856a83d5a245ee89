"""Texts of windows, and the English words among those that shall be Chinese."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator

import numpy as np
from PySide6.QtCore import QAbstractItemModel, QAbstractListModel, QAbstractTableModel, QModelIndex, Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
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

from warpline import resources
from warpline.i18n.po import read_po
from warpline.storage import Capture

WORD = re.compile(r"[A-Za-z][A-Za-z']+")
NO_WORDS = re.compile(
    r"<[^>]*>|(?:/[\w.*~-]+)+|\(&\w\)|\*[\w.*-]+|https?://\S+|--?[\w-]+"
    r"|[TAQK](Avg|Med|Min|Max|StdDev)|(Grd|Blk|Grid|Block)[XYZ]+|MEMORY_OPER|CudaRuntime|MemcpyAsync"
)
"""Tags, paths, letters of menus, patterns of files, addresses, options; columns and rows of Nsight and Paddle."""
KEYS_AND_UNITS = (
    "Ctrl Shift Alt Esc Tab Return Enter Space Home End PgUp PgDown Up Down Left Right Backspace Del Ins"
    " ns us ms min KiB MiB GiB TiB Hz kHz MHz"
)
PROPER = (
    "Warpline English Python PySide numpy PushPop PythonUserDefined ProfileStep pyenv conda venv Lock acquire"
    " threading SIGKILL batch_cost reader_cost"
)


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
    states = [kind.code for name, kind in capture.kinds.items() if name == "thread_state"]
    named = set(capture.events.name[~np.isin(capture.events.kind, states)].tolist())
    own.update(capture.strings[code] for code in named)
    own.update(process.name + " " + process.command for process in capture.processes)
    own.update(thread.name for thread in capture.threads)
    own.update(device.name for device in capture.devices)
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
        if isinstance(widget.window(), QFileDialog) and widget.window() is not top:
            continue  # another window, above this one
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
