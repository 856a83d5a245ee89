"""The tool row: buttons, search, filter chips, a summary of the capture."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QWidget,
)

from warpline.i18n import tr, tr_n
from warpline.model.times import format_duration
from warpline_app.commands.keys import key_text
from warpline_app.commands.runner import CommandRunner
from warpline_app.look.chip import Chip
from warpline_app.look.elided import ElidedLabel
from warpline_app.look.plain import PlainLabel, plain
from warpline_app.open.document import Document
from warpline_app.open.live_document import LiveDocument
from warpline_app.state.timeline_state import Filter, TimelineState


def chip_texts(value: Filter) -> list[tuple[str, Filter]]:
    """The parts of a filter as text, each with the filter that remains without it."""
    chips: list[tuple[str, Filter]] = []
    if value.names:
        shown = f"/{value.names}/" if value.regex else value.names
        chips.append((tr("name: {text}", text=shown), replace(value, names="")))
    if value.rows:
        chips.append((tr("rows: {text}", text=value.rows), replace(value, rows="")))
    for name in value.kept_names:
        kept = tuple(other for other in value.kept_names if other != name)
        chips.append((tr("name: {text}", text=name), replace(value, kept_names=kept)))
    for name in value.hidden_names:
        still = tuple(other for other in value.hidden_names if other != name)
        chips.append((tr("not {text}", text=name), replace(value, hidden_names=still)))
    for key in value.only:
        rest = tuple(other for other in value.only if other != key)
        chips.append((tr("only {row}", row=key), replace(value, only=rest)))
    chips += [
        (tr("kind: {name}", name=kind), replace(value, kinds=value.kinds - {kind}))
        for kind in sorted(value.kinds)
    ]
    return chips


class SearchBox(QLineEdit):
    """A search text; ``/…/`` is a regular expression. Escape clears it, then returns the focus."""

    left = Signal()
    """Escape in an empty box: the timeline gets the focus back."""
    next_requested = Signal()
    previous_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setPlaceholderText(tr("Search names, /regex/"))
        self.setAccessibleName(tr("Search names"))
        self.setClearButtonEnabled(True)
        self.setFixedWidth(250)

    def event(self, event: QEvent) -> bool:
        """Keep Escape and Return for the box: elsewhere they are shortcuts of the window."""
        own = {Qt.Key.Key_Escape, Qt.Key.Key_Return, Qt.Key.Key_Enter}
        is_override = event.type() == QEvent.Type.ShortcutOverride
        if is_override and isinstance(event, QKeyEvent) and event.key() in own:
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Handle Escape, Return and Shift+Return."""
        if event.key() == Qt.Key.Key_Escape:
            if self.text():
                self.clear()
            else:
                self.left.emit()
        elif event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            back = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
            (self.previous_requested if back else self.next_requested).emit()
        else:
            super().keyPressEvent(event)


def summary_text(document: Document) -> str:
    """A one-line summary of a capture: title, devices, length, number of events."""
    capture = document.capture
    names = list(dict.fromkeys(device.name for device in capture.devices if device.name))
    devices = (
        names[0]
        if len(names) == 1
        else tr_n("{count} device", "{count} devices", len(names))
        if names
        else ""
    )
    if len(capture.devices) > 1 and len(names) == 1:
        devices = f"{len(capture.devices)} × {names[0]}"
    events = tr_n("{count:,} event", "{count:,} events", len(capture.events))
    parts = [document.title, devices, format_duration(capture.duration_ns, 3), events]
    return " · ".join(part for part in parts if part)


class ToolRow(QWidget):
    """Buttons, search box, chips and summary for the document in front."""

    def __init__(self, runner: CommandRunner, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("toolRow")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._runner = runner
        self._document: Document | None = None
        self.buttons: dict[str, QPushButton] = {}
        row = QHBoxLayout(self)
        row.setContentsMargins(10, 6, 12, 6)
        row.setSpacing(7)
        for command_id, title in (
            ("file.open", tr("Open…")),
            ("file.new_capture", tr("New capture…")),
            ("", ""),
            ("view.fit", tr("Fit")),
            ("view.undo", tr("Undo")),
            ("view.arrows", tr("Arrows: {mode}", mode=tr("selection"))),
        ):
            if not command_id:
                row.addSpacing(8)
            elif command_id in runner.commands:
                row.addWidget(self._button(command_id, title))
        row.addSpacing(8)
        self.search = SearchBox()
        row.addWidget(self.search)
        self.matches = PlainLabel()
        self.matches.setObjectName("muted")
        row.addWidget(self.matches)
        self._chips = QHBoxLayout()
        self._chips.setSpacing(6)
        row.addLayout(self._chips)
        self.summary = ElidedLabel(mode=Qt.TextElideMode.ElideMiddle)
        self.summary.setObjectName("summary")
        self.summary.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(self.summary, 1)

    def _button(self, command_id: str, title: str) -> QPushButton:
        button = QPushButton(title)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        button.clicked.connect(lambda: self._runner.run(command_id))
        self.buttons[command_id] = button
        return button

    @property
    def chips(self) -> list[Chip]:
        """The visible chips."""
        items = (self._chips.itemAt(index) for index in range(self._chips.count()))
        return [widget for item in items if item is not None and isinstance(widget := item.widget(), Chip)]

    def set_document(self, document: Document | None) -> None:
        """Show this document."""
        if self._document is not None:
            state = self._document.state
            state.filter_changed.disconnect(self._show_chips)
            state.history_changed.disconnect(self.refresh)
            state.arrows_changed.disconnect(self._show_arrows)
            if isinstance(self._document, LiveDocument):
                self._document.grown.disconnect(self._show_summary)
        self._document = document
        if document is not None:
            state = document.state
            state.filter_changed.connect(self._show_chips)
            state.history_changed.connect(self.refresh)
            state.arrows_changed.connect(self._show_arrows)
            if isinstance(document, LiveDocument):
                document.grown.connect(self._show_summary)
        self.search.setEnabled(document is not None)
        self._show_summary()
        self._show_chips()
        self._show_arrows()
        self.refresh()

    def _show_summary(self) -> None:
        document = self._document
        self.summary.setText(summary_text(document) if document is not None else "")
        self.summary.setToolTip(plain(str(document.path) if document is not None else ""))

    def refresh(self) -> None:
        """Disable buttons that cannot be used now, with the reason."""
        for command_id, button in self.buttons.items():
            command, refusal = self._runner.commands[command_id], self._runner.refusal(command_id)
            keys = f" ({key_text(command.keys[0])})" if command.keys else ""
            button.setEnabled(refusal is None)
            button.setToolTip(
                plain(
                    refusal
                    or (
                        (command.hint_text if command.title_now is None else "")
                        or self._runner.text(command_id)
                    )
                    + keys
                )
            )

    def _state(self) -> TimelineState | None:
        return self._document.state if self._document is not None else None

    def _show_arrows(self, *_values: object) -> None:
        state = self._state()
        button = self.buttons.get("view.arrows")
        if button is not None:
            modes = {"selection": tr("selection"), "all": tr("all in view"), "off": tr("off")}
            button.setText(tr("Arrows: {mode}", mode=modes[state.arrows if state else "selection"]))

    def _show_chips(self, *_values: object) -> None:
        for chip in self.chips:
            self._chips.removeWidget(chip)
            chip.hide()
            chip.deleteLater()
        state = self._state()
        if state is None:
            return
        for text, rest in chip_texts(state.filter):
            self._chips.addWidget(Chip(text, partial(state.set_filter, rest), self))
