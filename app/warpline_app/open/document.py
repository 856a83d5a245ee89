"""An open capture: the file, its state, and what belongs to it."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from warpline.resources import EXAMPLE
from warpline_app.open.alignment import ClockShifts
from warpline_app.open.messages import MessageList, MessageTarget
from warpline_app.remembered.dismissals import Dismissals
from warpline_app.remembered.hints import HintCount
from warpline_app.remembered.queries import RememberedQueries
from warpline_app.state.timeline_state import TimelineState

if TYPE_CHECKING:
    from warpline.storage import Capture
    from warpline_app.open.kept_notes import KeptNotes


@dataclass(frozen=True)
class LiveEdge:
    """Where a running recording's capture ends (head), and up to where it is final (settled), in capture ns."""

    settled_ns: int
    head_ns: int


class Document(QObject):
    """An open capture with its state, shown in a tab.

    ``source`` is the file the user opened; ``capture`` may be a conversion of it. Views of the capture report problems
    to ``messages``, which the workspace shows while the capture is in front.
    """

    def __init__(
        self,
        capture: Capture,
        title: str = "",
        parent: QObject | None = None,
        *,
        source: Path | None = None,
        messages: MessageTarget | None = None,
    ) -> None:
        """Takes over ``capture``: `close` closes it."""
        super().__init__(parent)
        self.capture = capture
        self.state = TimelineState(*capture.span, self, activity=capture.activity.range_ns)
        # Imports numpy, which the window does not need before a capture is open.
        from warpline.storage.read.view_times import whole_start_ns

        self.state.whole_ns = whole_start_ns(capture)
        self.state.set_origin(self.state.whole_ns)
        self.source: Path = source or self.path
        self._title = title or self.path.name
        self.messages: MessageTarget = messages or MessageList(self)
        self.dismissals = Dismissals(parent=self)
        """Findings the user dismissed for this capture."""
        self.hints = HintCount()
        """Whether the user still needs hints on how to explore."""
        self.queries = RememberedQueries(parent=self)
        """Queries the user asked and saved."""
        from warpline_app.open.derived import DerivedRows

        ref = weakref.ref(self)  # a cycle would keep the file open
        self.derived = DerivedRows(
            lambda: None if (known := ref()) is None else known.capture, self.state, self
        )
        """What rows derived by queries show."""
        self.notes: KeptNotes | None = None
        """Keeps the notes; None for captures that are not shown in a tab."""
        self.alignment = ClockShifts()
        """Shifts of ``capture``'s clocks against its file."""
        self.console_text = ""
        """The program's output, when this capture was recorded from the window."""
        self.was_stopped = False
        """It was recorded from the window, and the user stopped the program."""
        self.live_edge: LiveEdge | None = None
        """Where the capture of a running recording ends; None for any other."""

    @property
    def title(self) -> str:
        """The tab's title."""
        return self._title

    @property
    def path(self) -> Path:
        """The file of the capture."""
        return Path(str(self.capture.path))

    @property
    def is_demo(self) -> bool:
        """Whether it is a recording of the bundled example."""
        command = self.capture.meta.get("command_line")
        return isinstance(command, list) and any(str(word).endswith(EXAMPLE) for word in command)

    def keep(self, capture: Capture) -> None:
        """Keep a capture open after it is replaced, because something still shows it; `release` closes it.

        Only the capture of a running recording is ever replaced.
        """

    def release(self, capture: Capture) -> None:
        """Close a capture that was kept, unless it is shown."""

    def close(self) -> None:
        """Close the file and delete this object. Its views must be gone."""
        self.derived.close()
        self.capture.close()
        # A child of the workspace would live as long as the window and keep the file mapped.
        self.deleteLater()
