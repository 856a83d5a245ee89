"""What was recorded, what was not and why, and on which machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QFrame, QGridLayout, QLabel, QScrollArea, QSizePolicy, QVBoxLayout, QWidget

from warpline.i18n import english, tr, tr_n, translated
from warpline.interchange.framework.ranks import alignment_reason, clock_text
from warpline.library.losses import lost_ratio, meaning_of, share_text
from warpline.model.sizes import format_bytes
from warpline.model.times import format_duration
from warpline_app.look.plain import PlainLabel
from warpline_app.look.theme import Theme
from warpline_app.look.wrapped import prose
from warpline_app.open.document import Document
from warpline_app.open.source_titles import source_title
from warpline_app.panels.frame.base import Panel

if TYPE_CHECKING:
    from warpline.storage import Capture


_LEAST_TITLE_PX, _LEAST_VALUE_PX = 110, 120
HOST_TITLES = {
    "name": english("Name"),
    "system": english("System"),
    "machine": english("Machine"),
    "cpus": english("CPUs"),
    "cpu_model": english("CPU model"),
    "memory_bytes": english("Memory"),
    "processor": english("Processor"),
    "architecture": english("Architecture"),
    "cores": english("Cores"),
    "kernel": english("Kernel"),
    "driver": english("Driver"),
    "cuda": english("CUDA"),
}
"""Machine facts written by recorders and importers."""


def _host_text(key: object, value: object) -> str:
    if str(key).endswith("_bytes") and isinstance(value, int):
        return format_bytes(value)
    return str(value)


def run_facts(capture: Capture) -> list[tuple[str, str]]:
    """What was run, when, for how long and where, as far as recorded."""
    meta = capture.meta
    facts: list[tuple[str, str]] = []
    command = meta.get("command_line")
    if isinstance(command, list) and command:
        import shlex

        facts.append((tr("Command"), shlex.join(str(part) for part in command)))
    if meta.get("working_directory"):
        facts.append((tr("Working directory"), str(meta["working_directory"])))
    start_utc = meta.get("start_utc_ns")
    if isinstance(start_utc, int):
        from datetime import UTC, datetime

        try:
            started = datetime.fromtimestamp(start_utc / 1e9, UTC).astimezone()
            facts.append((tr("Started"), started.strftime("%Y-%m-%d %H:%M:%S %Z")))
        except (OverflowError, ValueError, OSError):
            pass  # an invalid clock must not hide the other facts
    facts.append((tr("Length"), format_duration(capture.duration_ns)))
    if len(capture.pauses):
        paused = int((capture.pauses[:, 1] - capture.pauses[:, 0]).sum())
        count = tr_n("{count} pause", "{count} pauses", len(capture.pauses))
        facts.append((tr("Paused"), f"{format_duration(paused)} · {count}"))
    facts += [
        (tr("Clock of {name}", name=clock.name), clock_text(clock))
        for clock in capture.clocks
        if clock.method
    ]
    if reason := alignment_reason(meta):
        facts.append((tr("Reason for clock alignment"), reason))
    facts += _imported(meta.get("imported_from"))
    host = meta.get("host")
    if isinstance(host, dict):
        facts += [
            (
                translated(HOST_TITLES.get(key, str(key).replace("_", " ").capitalize())),
                _host_text(key, value),
            )
            for key, value in host.items()
        ]
    if meta.get("tool"):
        facts.append((tr("Recorder"), str(meta["tool"])))
    facts.append((tr("Events"), f"{len(capture.events):,}"))
    facts += [(tr("Device {index}", index=device.index), device.name) for device in capture.devices]
    return facts


def _imported(value: Any) -> list[tuple[str, str]]:
    if not isinstance(value, list):
        return []
    entries = [entry for entry in value if isinstance(entry, dict)]
    return [
        (tr("Imported from"), f"{entry.get('file', '')}  ({entry.get('format', '')})") for entry in entries
    ]


class SourcesPanel(Panel):
    """Sources with reasons and losses, skipped records, warnings, and the machine."""

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(document, parent)
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        self._body = QWidget()
        self._body.setObjectName("panel")
        area.setWidget(self._body)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(area)
        self._grid = QGridLayout(self._body)
        self._grid.setContentsMargins(14, 10, 14, 12)
        self._grid.setHorizontalSpacing(18)
        self._grid.setVerticalSpacing(5)
        self._row = 0
        self._signs: list[tuple[QLabel, str]] = []
        capture = document.capture
        missing = sum(not source.enabled for source in capture.sources) + bool(
            capture.warnings or capture.notices
        )
        self.set_badge(str(missing) if missing else "")

    def refresh(self) -> None:
        """Fill once: captures do not change."""
        if self._row:
            return
        capture = self.document.capture
        if capture.sources:
            self._head(tr("What was recorded"))
        for source in capture.sources:
            text = translated(source.reason)
            if source.lost:
                ratio = lost_ratio(source.lost, len(capture.events))
                lost = tr_n(
                    "{count:,} record lost ({share} of all): {meaning}",
                    "{count:,} records lost ({share} of all): {meaning}",
                    source.lost,
                    share=share_text(ratio),
                    meaning=meaning_of(ratio),
                )
                text = f"{text} · {lost}" if text else lost
            if not text:
                text = tr("recorded, nothing lost") if source.enabled else tr("not recorded")
            sign = "✓" if source.enabled and not source.lost else "!" if source.enabled else "–"
            self._line(sign, source_title(source.name), text, translated(source.remedy))
        if capture.skipped:
            self._head(tr("Skipped during import"))
        for entry in capture.skipped:
            self._line("!", translated(entry.what), f"{entry.count:,} · {translated(entry.reason)}")
        warnings = (*capture.notices, *map(translated, capture.warnings))
        if warnings:
            self._head(tr("Warnings"))
        for warning in warnings:
            self._line("!", "", warning)
        self._head(tr("Run"))
        for title, value in run_facts(capture):
            self._line("", title, value)
        self._grid.setColumnStretch(2, 1)
        self._grid.setRowStretch(self._row, 1)
        self.apply_theme(self.theme)
        self.set_scope(str(self.document.path))

    def _head(self, text: str) -> None:
        if self._row:
            self._grid.setRowMinimumHeight(self._row, 8)
            self._row += 1
        label = PlainLabel(text)
        label.setObjectName("subhead")
        self._grid.addWidget(label, self._row, 0, 1, 3)
        self._row += 1

    def _line(self, sign: str, title: str, text: str, remedy: str = "") -> None:
        if sign:
            mark = PlainLabel(sign)
            font = QFont(mark.font())
            font.setBold(True)
            mark.setFont(font)
            mark.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignHCenter)
            self._grid.addWidget(mark, self._row, 0)
            self._signs.append((mark, sign))
        name = PlainLabel(prose(title))
        name.setObjectName("" if sign else "muted")
        name.setAlignment(Qt.AlignmentFlag.AlignTop)
        name.setWordWrap(True)
        name.setMinimumWidth(min(name.fontMetrics().horizontalAdvance(title), _LEAST_TITLE_PX))
        value = PlainLabel(f"{text}\n{remedy}" if remedy else text)
        value.setTextFormat(Qt.TextFormat.PlainText)
        value.setWordWrap(True)
        value.setMinimumWidth(_LEAST_VALUE_PX)
        value.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        value.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._grid.addWidget(name, self._row, 1)
        self._grid.addWidget(value, self._row, 2)
        self._row += 1

    def apply_theme(self, theme: Theme) -> None:
        """Signs differ by shape first, then by colour."""
        tokens = {"✓": "running", "!": "warning", "–": "muted"}
        for label, sign in self._signs:
            label.setStyleSheet(f"color: {theme.hex(tokens[sign])};")
