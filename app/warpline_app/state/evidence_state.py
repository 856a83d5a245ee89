"""The evidence part of a timeline's state: the finding whose evidence is highlighted, the selected idle gap."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal

from warpline_app.state.layout_state import LayoutState
from warpline_app.state.lit import Lit


@dataclass(frozen=True, kw_only=True)
class Gap:
    """An idle gap of a row, in capture ns: the row's key, the track that waited, the events before and after (−1:
    none).
    """

    start_ns: int
    stop_ns: int
    key: str
    track: int
    before: int = -1
    after: int = -1

    @property
    def with_end(self) -> tuple[int, int]:
        """The gap and the first nanosecond of the event that ended it: without it, nothing shows what was waited
        for.
        """
        return self.start_ns, self.stop_ns + (1 if self.after >= 0 else 0)


class EvidenceState(LayoutState):
    """Adds evidence; one signal per field. A setter that changes nothing emits nothing."""

    lit_changed = Signal(object)
    """a Lit: the highlighted finding and its current instance, or None"""
    gap_changed = Signal(object)
    """a Gap: the selected idle gap, or None"""
    findings_wanted = Signal()
    """show the findings of the selected range"""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._lit: Lit | None = None
        self._gap: Gap | None = None

    @property
    def lit(self) -> Lit | None:
        """The finding whose evidence is highlighted while everything else is dimmed, or None."""
        return self._lit

    def set_lit(self, value: Lit | None) -> None:
        """Highlight the evidence of a finding, move to another of its instances, or end it with None."""
        if value is not self._lit:
            self._lit = value
            self.lit_changed.emit(value)

    @property
    def gap(self) -> Gap | None:
        """The selected idle gap; None while an event or nothing is selected."""
        return self._gap

    def select_gap(self, value: Gap | None) -> None:
        """Select an idle gap, or none."""
        self._assign("gap", value)

    def ask_findings(self) -> None:
        """Ask for the findings of the selected range to be shown."""
        self.findings_wanted.emit()
