"""The status line: time under the pointer, length of the view, useful keys, sources that were not recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from warpline.i18n import english, tr, tr_n, translated
from warpline.model.times import format_duration, format_time
from warpline.model.tracks import Source
from warpline_app.look.elided import ElidedLabel
from warpline_app.look.native_keys import native_keys
from warpline_app.look.plain import PlainLabel, plain
from warpline_app.open.document import Document
from warpline_app.open.source_titles import source_title

if TYPE_CHECKING:
    from warpline_app.state.timeline_state import TimelineState

SAID_FOR_MS = 6_000
"""How long a message hides the key hints."""
HINTS = (english("W/S zoom"), english("A/D pan"), english("drag select"), english("? help"))
HINTS_OF_EVENT = (
    english(". , next/previous event"),
    english("[ ] follow links"),
    english("F frame selection"),
    english("Esc clear"),
)
HINTS_OF_RANGE = (english("Z zoom to range"), english("Ctrl+E export"), english("Esc clear"))


def not_recorded_text(sources: tuple[Source, ...]) -> str:
    """What was not recorded or was lost, in a few words."""
    missing = [source for source in sources if not source.enabled]
    lost = sum(source.lost for source in sources)
    parts: list[str] = []
    if len(missing) == 1:
        reason = translated(missing[0].reason.split(";")[0].split(".")[0])
        text = f": {reason}" if reason and len(reason) <= 60 else ""
        parts.append(tr("{name} not recorded", name=translated(missing[0].name)) + text)
    elif missing:
        count = len(missing)
        parts.append(tr_n("{count} source not recorded", "{count} sources not recorded", count))
    if lost:
        parts.append(tr_n("{count:,} record lost", "{count:,} records lost", lost))
    return " · ".join(parts)


def not_recorded_reasons(sources: tuple[Source, ...]) -> str:
    """A line for each source that was not recorded or lost records, with the reason."""
    lines = [
        f"{source_title(source.name)}: {translated(source.reason) or tr('not recorded')}"
        for source in sources
        if not source.enabled
    ]
    lines += [
        f"{source_title(source.name)}: {tr_n('{count:,} record lost', '{count:,} records lost', source.lost)}"
        for source in sources
        if source.lost
    ]
    return "\n".join(lines)


def hints_for(state: TimelineState) -> tuple[str, ...]:
    """Keys for the selection, else for navigation."""
    if state.range_selection is not None:
        return HINTS_OF_RANGE
    return HINTS if state.selection is None else HINTS_OF_EVENT


class StatusLine(QWidget):
    """Shows the document in front."""

    reasons_wanted = Signal()
    """the text about unrecorded sources was clicked"""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("statusLine")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._document: Document | None = None
        self._time = PlainLabel()
        self._hints = PlainLabel()
        self._message = ElidedLabel()
        self._silence = QTimer(self)
        self._silence.setSingleShot(True)
        self._silence.setInterval(SAID_FOR_MS)
        self._silence.timeout.connect(lambda: self.show_message(""))
        self._missing = ElidedLabel()
        self._missing.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self._missing.setCursor(Qt.CursorShape.PointingHandCursor)
        self._missing.installEventFilter(self)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 4, 12, 4)
        row.setSpacing(18)
        row.addWidget(self._time)
        row.addWidget(self._message, 4)
        row.addWidget(self._hints)
        row.addWidget(self._missing, 1)

    @property
    def text(self) -> str:
        """The text at the left."""
        return self._time.text()

    @property
    def missing_text(self) -> str:
        """The text about unrecorded sources."""
        return self._missing.text()

    @property
    def hints(self) -> str:
        """The key hints."""
        return self._hints.text()

    @property
    def message(self) -> str:
        """The current message."""
        return self._message.text()

    def show_message(self, text: str) -> None:
        """Show a message for a while; an empty text clears it."""
        self._message.setText(text)
        self._message.setVisible(bool(text))
        self._hints.setVisible(self._document is not None and not text)
        self._silence.stop()
        if text:
            self._silence.start()

    def set_document(self, document: Document | None) -> None:
        """Show this document."""
        if self._document is not None:
            state = self._document.state
            state.cursor_changed.disconnect(self._refresh)
            state.view_changed.disconnect(self._refresh)
            state.range_selection_changed.disconnect(self._refresh)
            state.origin_changed.disconnect(self._refresh)
            state.selection_changed.disconnect(self._refresh)
        self._document = document
        missing = ""
        if document is not None:
            state = document.state
            state.cursor_changed.connect(self._refresh)
            state.view_changed.connect(self._refresh)
            state.range_selection_changed.connect(self._refresh)
            state.origin_changed.connect(self._refresh)
            state.selection_changed.connect(self._refresh)
            missing = not_recorded_text(document.capture.sources)
        self.show_message("")
        self._missing.setText(missing)
        self._missing.setToolTip("")
        self._refresh()

    def _refresh(self, *_values: object) -> None:
        if self._document is None:
            self._time.clear()
            return
        state = self._document.state
        start, stop = state.view
        # A tenth of a pixel on a wide screen: finer digits would only flicker.
        resolution_ns = max(1, (stop - start) // 20_000)
        parts: list[str] = []
        if state.cursor_ns is not None:
            parts.append(format_time(state.cursor_ns - state.origin_ns, resolution_ns))
        parts.append(tr("view {length}", length=format_duration(stop - start)))
        if state.is_origin_moved and state.origin_ns == state.whole_ns:
            parts.append(tr("times as in the whole capture", "timeline"))
        elif state.is_origin_moved:
            parts.append(tr("origin {time}", time=format_time(state.origin_ns - state.home_ns)))
        if state.range_selection is not None:
            low, high = state.range_selection
            parts.append(tr("selected {length}", length=format_duration(high - low)))
        self._time.setText("   ·   ".join(parts))
        self._hints.setText(native_keys("   ".join(translated(hint) for hint in hints_for(state))))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Show the reasons of unrecorded sources under the pointer; a click asks for the details."""
        if watched is self._missing and event.type() == QEvent.Type.ToolTip and self._document is not None:
            # Only now: the titles of sources cost a tenth of a second to import.
            self._missing.setToolTip(plain(not_recorded_reasons(self._document.capture.sources)))
        if (
            watched is self._missing
            and event.type() == QEvent.Type.MouseButtonRelease
            and self._missing.text()
        ):
            self.reasons_wanted.emit()
        return super().eventFilter(watched, event)
