"""The line at the bottom: time under the pointer, length of the view, keys that help now, what is not recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

from warpline.i18n import english, tr, tr_n, translated
from warpline.model.times import format_duration, format_time
from warpline.model.tracks import Source
from warpline_app.look.elided import ElidedLabel
from warpline_app.open.document import Document
from warpline_app.open.source_titles import source_title

if TYPE_CHECKING:
    from warpline_app.state.timeline_state import TimelineState

SAID_FOR_MS = 6_000
"""What is said in passing stays this long, where the keys worth knowing stand otherwise."""
HINTS = (english("W/S zoom"), english("A/D pan"), english("drag select"), english("? help"))
HINTS_OF_EVENT = (
    english(". , next and previous"),
    english("[ ] follow links"),
    english("F frame"),
    english("Esc let go"),
)
HINTS_OF_RANGE = (english("Z zoom to it"), english("Ctrl+E export it"), english("Esc let go"))


def not_recorded_text(sources: tuple[Source, ...]) -> tuple[str, str]:
    """What is not recorded or was lost, in a few words, and as lines with the reasons for a tooltip."""
    missing = [source for source in sources if not source.enabled]
    lost = sum(source.lost for source in sources)
    lines = [
        f"{source_title(source.name)}: {translated(source.reason) or tr('not recorded')}"
        for source in missing
    ]
    lines += [
        f"{source_title(source.name)}: {tr_n('{count:,} record lost', '{count:,} records lost', source.lost)}"
        for source in sources
        if source.lost
    ]
    parts: list[str] = []
    if len(missing) == 1:
        reason = translated(missing[0].reason.split(";")[0].split(".")[0])
        text = f": {reason}" if reason and len(reason) <= 60 else ""
        parts.append(tr("{name} not recorded", name=translated(missing[0].name)) + text)
    elif missing:
        count = len(missing)
        parts.append(tr_n("{count} thing not recorded", "{count} things not recorded", count))
    if lost:
        parts.append(tr_n("{count:,} record lost", "{count:,} records lost", lost))
    return " · ".join(parts), "\n".join(lines)


def hints_for(state: TimelineState) -> tuple[str, ...]:
    """The keys that help now: for what is selected, else for getting about."""
    if state.range_selection is not None:
        return HINTS_OF_RANGE
    return HINTS if state.selection is None else HINTS_OF_EVENT


class StatusLine(QWidget):
    """Follows the document in front."""

    reasons_wanted = Signal()
    """What is not recorded was clicked."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("statusLine")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._document: Document | None = None
        self._time = QLabel()
        self._hints = QLabel()
        self._said = ElidedLabel()
        self._silence = QTimer(self)
        self._silence.setSingleShot(True)
        self._silence.setInterval(SAID_FOR_MS)
        self._silence.timeout.connect(lambda: self.say(""))
        self._missing = ElidedLabel()
        self._missing.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self._missing.setCursor(Qt.CursorShape.PointingHandCursor)
        self._missing.installEventFilter(self)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 4, 12, 4)
        row.setSpacing(18)
        row.addWidget(self._time)
        row.addWidget(self._said, 4)
        row.addWidget(self._hints)
        row.addWidget(self._missing, 1)

    @property
    def text(self) -> str:
        """What is said at the left."""
        return self._time.text()

    @property
    def missing_text(self) -> str:
        """What is said about what is not recorded."""
        return self._missing.text()

    @property
    def hints(self) -> str:
        """The keys that help now."""
        return self._hints.text()

    @property
    def said(self) -> str:
        """What was said in passing and is still to be read."""
        return self._said.text()

    def say(self, text: str) -> None:
        """Show a sentence for a while; an empty one takes away what was said."""
        self._said.setText(text)
        self._said.setVisible(bool(text))
        self._hints.setVisible(self._document is not None and not text)
        self._silence.stop()
        if text:
            self._silence.start()

    def set_document(self, document: Document | None) -> None:
        """Follow this document."""
        if self._document is not None:
            state = self._document.state
            state.cursor_changed.disconnect(self._refresh)
            state.view_changed.disconnect(self._refresh)
            state.range_selection_changed.disconnect(self._refresh)
            state.origin_changed.disconnect(self._refresh)
            state.selection_changed.disconnect(self._refresh)
        self._document = document
        short = long = ""
        if document is not None:
            state = document.state
            state.cursor_changed.connect(self._refresh)
            state.view_changed.connect(self._refresh)
            state.range_selection_changed.connect(self._refresh)
            state.origin_changed.connect(self._refresh)
            state.selection_changed.connect(self._refresh)
            short, long = not_recorded_text(document.capture.sources)
        self.say("")
        self._missing.setText(short)
        self._missing.setToolTip(long)
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
        if state.is_origin_moved:
            parts.append(tr("times count from {time}", time=format_time(state.origin_ns - state.home_ns)))
        if state.range_selection is not None:
            low, high = state.range_selection
            parts.append(tr("selected {length}", length=format_duration(high - low)))
        self._time.setText("   ·   ".join(parts))
        self._hints.setText("   ".join(translated(hint) for hint in hints_for(state)))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """A click on what is not recorded asks for the reasons."""
        if (
            watched is self._missing
            and event.type() == QEvent.Type.MouseButtonRelease
            and self._missing.text()
        ):
            self.reasons_wanted.emit()
        return super().eventFilter(watched, event)
