"""Describes a panel before it is loaded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from importlib import import_module
from typing import Literal

from PySide6.QtWidgets import QWidget

from warpline.i18n import tr
from warpline_app.open.document import Document
from warpline_app.panels.frame.base import Panel

Area = Literal["bottom", "right", "float"]
LAST = 1000
"""Default position."""


def _always(_document: Document) -> bool:
    return True


def panel_class(spec: str, name: str) -> Callable[[], type[Panel]]:
    """A function that imports a panel's class from the module ``panel`` beside the module ``spec``."""

    def load() -> type[Panel]:
        panel: type[Panel] = getattr(import_module(f"{spec.rpartition('.')[0]}.panel"), name)
        return panel

    return load


@dataclass(frozen=True)
class PanelSpec:
    """A panel's registration: light, so that a window with ten tabs loads only the visible panel.

    ``load`` imports the panel's module on the window's thread and returns its class, which takes a document and a
    parent. A thread imports the modules named in ``ahead`` before. ``title`` is English, ``position`` orders the
    tabs, ``keys`` are shortcuts.

    ``shown``: visible to new users. ``lists_events``: lists other panels' rows event by event
    (`Panel.show_events_of`). ``greets``: in front when a capture opens. ``shows_source``: shows lines of stacks
    (`Panel.show_source`). ``has_data``: a quick check whether a capture can have data for it; if not, its tab moves
    to the menu.
    """

    id: str
    title: str
    load: Callable[[], type[Panel]]
    _: KW_ONLY
    position: int = LAST
    area: Area = "bottom"
    keys: tuple[str, ...] = ()
    shown: bool = True
    lists_events: bool = False
    greets: bool = False
    shows_source: bool = False
    has_data: Callable[[Document], bool] = _always
    ahead: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The title in the user's language."""
        return tr(self.title, "panel")

    def make(self, document: Document, parent: QWidget | None = None) -> Panel:
        """Create the panel for a capture."""
        return self.load()(document, parent)
