"""What is asked *why* of: the finding that is lit up, the idle stretch that is selected."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from warpline.frozen import frozen
from warpline_app.state.layout_state import LayoutState
from warpline_app.state.lit import Lit


@frozen
class Gap:
    """A stretch of a row in which nothing happened: capture ns, the row's key, and the events before and after it
    (−1 for none). ``track`` is what waited.
    """

    start_ns: int
    stop_ns: int
    key: str
    track: int
    before: int = -1
    after: int = -1

    @property
    def with_end(self) -> tuple[int, int]:
        """The stretch with the first moment of what ended it: without that nobody can tell what was waited for."""
        return self.start_ns, self.stop_ns + (1 if self.after >= 0 else 0)


class EvidenceState(LayoutState):
    """One signal per field; a setter that changes nothing emits nothing."""

    lit_changed = Signal(object)
    """a Lit: the finding whose evidence is lit up and the instance one is at, or None"""
    gap_changed = Signal(object)
    """a Gap: the idle stretch that is selected, or None"""
    findings_wanted = Signal()
    """somebody wants to see the findings of the selected range"""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._lit: Lit | None = None
        self._gap: Gap | None = None

    @property
    def lit(self) -> Lit | None:
        """The finding whose evidence is lit up, everything else quieter; None for none."""
        return self._lit

    def set_lit(self, value: Lit | None) -> None:
        """Light up the evidence of a finding, go to another instance of it, or leave it with None."""
        if value is not self._lit:
            self._lit = value
            self.lit_changed.emit(value)

    @property
    def gap(self) -> Gap | None:
        """The idle stretch that is selected; None while an event is, or nothing."""
        return self._gap

    def select_gap(self, value: Gap | None) -> None:
        """Select an idle stretch, or none."""
        if value != self._gap:
            self._gap = value
            self.gap_changed.emit(value)

    def ask_findings(self) -> None:
        """Have the findings of the selected range shown."""
        self.findings_wanted.emit()
