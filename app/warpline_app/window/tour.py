"""Help → Tour: five steps through the window, each beside the part that it explains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, Qt
from PySide6.QtGui import QColor, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QVBoxLayout, QWidget
from shiboken6 import isValid

from warpline.i18n import english, tr, translated
from warpline_app.commands.keys import key_text
from warpline_app.look.appearance import appearance
from warpline_app.look.painting import contained
from warpline_app.look.plain import PlainLabel
from warpline_app.window.capture_page import CapturePage

if TYPE_CHECKING:
    from warpline_app.open.workspace import Workspace
    from warpline_app.panels.frame.layout import PanelLayout

_WIDTH_PX = 380
_GAP_PX = 12
_BACK = frozenset({Qt.Key.Key_Left, Qt.Key.Key_Backspace, Qt.Key.Key_PageUp})
_NEXT = frozenset(
    {Qt.Key.Key_Right, Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space, Qt.Key.Key_PageDown}
)


@dataclass(frozen=True)
class Toured:
    """A window, and the parts of it that the tour explains."""

    window: QWidget
    workspace: Workspace
    page: CapturePage
    panels: PanelLayout
    search: QWidget


@dataclass(frozen=True)
class Step:
    """A title, what the part is for, and the part."""

    title: str
    text: str
    part: Callable[[Toured], QWidget]


def _panel(panel_id: str, toured: Toured) -> QWidget:
    toured.panels.show_panel(panel_id)
    area = toured.panels.area_of(panel_id)
    return area if area.window() is toured.window else toured.page.view  # a panel may float


STEPS = (
    Step(
        english("The timeline"),
        english(
            "A row for each core, thread, stream and kind of range; time runs to the right. W and S zoom at the"
            " pointer, A and D pan, F shows everything again."
        ),
        lambda toured: toured.page.view.canvas,
    ),
    Step(
        english("Findings: where the time went"),
        english(
            "The strip divides the time by cause. Each finding below it says what to change and how much that could"
            " save. Click one to see it in the timeline, or Explain for the numbers behind it."
        ),
        partial(_panel, "findings"),
    ),
    Step(
        english("Details: what this is, and why it waited"),
        english(
            "Click an event or a gap in the timeline. Details shows what it is, why it waited and what it is linked to;"
            " follow the links with a click, or with [ and ]."
        ),
        partial(_panel, "details"),
    ),
    Step(
        english("Any range of time"),
        english(
            "Drag over the timeline or the ruler to select a range: every panel then counts that range alone. Esc ends"
            " the selection."
        ),
        lambda toured: toured.page.view.ruler,
    ),
    Step(
        english("Find anything"),
        english(
            "{search} finds names, {palette} runs any command by a few letters of its title, and Help has the keys"
            " and the documentation."
        ),
        lambda toured: toured.search,
    ),
)


class _Frame(QWidget):
    """An outline around the part that a step explains; it takes no clicks."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)

    @contained
    def paintEvent(self, painter: QPainter, event: QPaintEvent) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(appearance().theme.selection), 2))
        painter.drawRoundedRect(self.rect().adjusted(1, 1, -2, -2), 6, 6)


class Tour(QFrame):
    """A card with the text of a step. Arrows and Return step, Escape ends the tour."""

    def __init__(self, toured: Toured) -> None:
        window = toured.window
        super().__init__(window)
        self.setObjectName("paletteFrame")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setFixedWidth(_WIDTH_PX)
        self._window, self._toured = window, toured
        self.at = 0
        """The number of the step, from 0."""
        self._target: QWidget | None = None
        self.frame = _Frame(window)
        self.title = PlainLabel()
        self.title.setObjectName("subhead")
        self.text = PlainLabel()
        self.text.setWordWrap(True)
        self.count = PlainLabel()
        self.count.setObjectName("muted")
        self.back = QPushButton(tr("Back", "tour"))
        self.back.clicked.connect(lambda: self.show_step(self.at - 1))
        self.end = QPushButton(tr("Close"))
        self.end.clicked.connect(self.leave)
        self.next = QPushButton()
        self.next.setObjectName("primary")
        self.next.clicked.connect(lambda: self.show_step(self.at + 1))
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        buttons.addWidget(self.count, 1)
        for button in (self.end, self.back, self.next):
            button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
            buttons.addWidget(button)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 14, 14, 12)
        column.setSpacing(10)
        for label in (self.title, self.text):
            column.addWidget(label)
        column.addLayout(buttons)
        window.installEventFilter(self)
        toured.workspace.front_changed.connect(self.leave)
        self.show_step(0)

    def show_step(self, at: int) -> None:
        """Show a step; the one after the last ends the tour."""
        if at >= len(STEPS):
            self.leave()
            return
        self.at = max(0, at)
        step = STEPS[self.at]
        keys = {
            "search": key_text("Ctrl+F"),
            "palette": key_text("Ctrl+Shift+P"),
        }
        self.title.setText(translated(step.title))
        text = translated(step.text)
        self.text.setText(text.format(**keys) if "{" in text else text)
        self.count.setText(tr("{number} of {count}", number=self.at + 1, count=len(STEPS)))
        self.back.setEnabled(self.at > 0)
        self.next.setText(tr("Done") if self.at == len(STEPS) - 1 else tr("Next"))
        self.setAccessibleName(f"{self.title.text()}. {self.text.text()}")
        self._follow(step.part(self._toured))
        self.setFocus()

    def _follow(self, target: QWidget) -> None:
        if self._target is not None:
            self._target.removeEventFilter(self)
        self._target = target
        target.installEventFilter(self)
        self._place()

    def _place(self) -> None:
        """Frame the part, and lie beside it, or inside where there is no room."""
        if self._target is None:
            return
        self.text.setFixedHeight(self.text.heightForWidth(_WIDTH_PX - 30))
        self.adjustSize()
        whole = self._window.rect().adjusted(_GAP_PX, _GAP_PX, -_GAP_PX, -_GAP_PX)
        part = QRect(self._target.mapTo(self._window, QPoint(0, 0)), self._target.size())
        self.frame.setGeometry(part.adjusted(-2, -2, 2, 2))
        size = self.size()
        middle = part.center() - QPoint(size.width() // 2, size.height() // 2)
        places = [
            QPoint(middle.x(), part.top() - size.height() - _GAP_PX),
            QPoint(middle.x(), part.bottom() + _GAP_PX),
            QPoint(part.left() - size.width() - _GAP_PX, middle.y()),
            QPoint(part.right() - size.width() - _GAP_PX, part.bottom() - size.height() - _GAP_PX),
        ]
        clamped = [
            QPoint(
                max(whole.left(), min(place.x(), whole.right() - size.width())),
                max(whole.top(), min(place.y(), whole.bottom() - size.height())),
            )
            for place in places
        ]
        free = [place for place in clamped[:-1] if not QRect(place, size).intersects(part)]
        self.move(free[0] if free else clamped[-1])
        for widget in (self.frame, self):
            widget.show()
            widget.raise_()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow the window's and the part's size."""
        if event.type() in {QEvent.Type.Resize, QEvent.Type.Move, QEvent.Type.Show}:
            self._place()
        return super().eventFilter(watched, event)

    def event(self, event: QEvent) -> bool:
        """Keep the keys of the tour: elsewhere they are shortcuts of the window."""
        is_override = event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent)
        if is_override and Qt.Key(event.key()) in {Qt.Key.Key_Escape, *_BACK, *_NEXT}:  # type: ignore[attr-defined]  # QKeyEvent
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrows and Return step, Escape ends the tour."""
        key = Qt.Key(event.key())
        if key in _NEXT:
            self.show_step(self.at + 1)
        elif key in _BACK:
            self.show_step(self.at - 1)
        elif key == Qt.Key.Key_Escape:
            self.leave()
        else:
            super().keyPressEvent(event)

    def leave(self) -> None:
        """End the tour, and give the keyboard back."""
        self._toured.workspace.front_changed.disconnect(self.leave)
        self._window.removeEventFilter(self)
        if self._target is not None and isValid(self._target):
            self._target.removeEventFilter(self)
        for widget in (self.frame, self):
            widget.hide()
            widget.deleteLater()
        if self._toured.workspace.front is self._toured.page.document:
            self._toured.page.setFocus()


def show_tour(toured: Toured) -> Tour:
    """Show the tour over a window, replacing one that is open."""
    for former in toured.window.findChildren(Tour):
        if former.isVisible():
            former.leave()
    toured.workspace.settings.tour_seen = True
    return Tour(toured)
