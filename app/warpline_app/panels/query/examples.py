"""What the panel shows before the first query: what it is for, and questions that people ask."""

from __future__ import annotations

import re

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QWidget

from warpline.i18n import tr, translated
from warpline.query.examples import EXAMPLES, Example
from warpline_app.look.plain import plain
from warpline_app.look.widgets import flat_column, muted_label

_OTHER_CAPTURE = re.compile(r"\bFROM b\.\w")


def needs_two_captures(example: Example) -> bool:
    """Whether the query compares with another capture, which the panel does not have."""
    return _OTHER_CAPTURE.search(example.sql) is not None


class ExampleList(QWidget):
    """Explains the panel and lists the examples; ``chosen`` carries the query of one."""

    chosen = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        about = muted_label(
            tr(
                "Ask this capture anything in SQL. One table for each kind of event (kernel, range, thread_state …),"
                " and tracks, threads, links, counters. Choose a question to start from:"
            )
        )
        about.setWordWrap(True)
        about.setContentsMargins(12, 8, 12, 4)
        self.list = QListWidget()
        self.list.setObjectName("panelList")
        self.list.setFrameShape(QListWidget.Shape.NoFrame)
        self.list.setAccessibleName(tr("Example queries"))
        for example in EXAMPLES:
            item = QListWidgetItem(translated(example.title))
            item.setData(Qt.ItemDataRole.UserRole, example.sql)
            if needs_two_captures(example):
                item.setFlags(Qt.ItemFlag.NoItemFlags)
                item.setToolTip(plain(tr('Needs two captures: warpline query before.h5 after.h5 "SELECT …"')))
            self.list.addItem(item)
        self.list.itemClicked.connect(self._choose)
        self.list.itemActivated.connect(self._choose)
        column = flat_column(self)
        column.addWidget(about)
        column.addWidget(self.list, 1)

    def entries(self) -> list[tuple[str, str, bool]]:
        """Each question, its query, and whether it can be asked here."""
        return [(translated(e.title), e.sql, not needs_two_captures(e)) for e in EXAMPLES]

    def _choose(self, item: QListWidgetItem) -> None:
        if item.flags() & Qt.ItemFlag.ItemIsEnabled:
            self.chosen.emit(item.data(Qt.ItemDataRole.UserRole))
