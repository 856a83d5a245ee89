"""Which panels there are: one line each. A panel's module is imported when the panel is first shown."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from PySide6.QtWidgets import QWidget

from warpline.i18n import tr

if TYPE_CHECKING:
    from warpline_app.panels.frame.panel import Panel
    from warpline_app.session.document import Document

Area = Literal["bottom", "right", "float"]


@dataclass(frozen=True)
class PanelSpec:
    """A panel before it is loaded.

    ``factory`` is ``module:class`` under ``warpline_app.panels``; the class takes the document and a parent widget.
    ``title`` is English. ``keys`` show the panel. ``shown`` tells whether a new user sees it.
    """

    id: str
    title: str
    factory: str
    area: Area = "bottom"
    keys: tuple[str, ...] = ()
    shown: bool = True

    @property
    def text(self) -> str:
        """The title in the user's language."""
        return tr(self.title, "panel")

    def load(self) -> type[Panel]:
        """The class, its module imported if it is not there yet; may be called in any thread."""
        module_name, _, class_name = self.factory.partition(":")
        panel: type[Panel] = getattr(
            importlib.import_module(f"warpline_app.panels.{module_name}"), class_name
        )
        return panel

    def make(self, document: Document, parent: QWidget | None = None) -> Panel:
        """A panel for a capture."""
        return self.load()(document, parent)


PANELS: tuple[PanelSpec, ...] = (
    PanelSpec("summary", "Summary", "summary.panel:SummaryPanel", keys=("Ctrl+1",)),
    PanelSpec("events", "Events", "events.panel:EventsPanel", keys=("Ctrl+2",)),
    PanelSpec("flame", "Flame graph", "flame.panel:FlamePanel", keys=("Ctrl+3",)),
    PanelSpec("steps", "Steps", "steps.panel:StepsPanel", keys=("Ctrl+4",)),
    PanelSpec("histogram", "Histogram", "histogram.panel:HistogramPanel", keys=("Ctrl+5",)),
    PanelSpec("memory", "Memory", "memory.panel:MemoryPanel", keys=("Ctrl+6",)),
    PanelSpec("counters", "Counters", "counters.panel:CountersPanel", keys=("Ctrl+7",)),
    PanelSpec("sources", "Recorded", "sources.panel:SourcesPanel", keys=("Ctrl+8",)),
    PanelSpec("console", "Console", "console.panel:ConsolePanel", keys=("Ctrl+9",)),
    PanelSpec("details", "Details", "details.panel:DetailsPanel", area="right", keys=("Ctrl+D",)),
)
