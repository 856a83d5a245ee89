"""What is known of a panel before it is loaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from PySide6.QtWidgets import QWidget

from warpline.frozen import frozen
from warpline.i18n import tr
from warpline_app.open.document import Document
from warpline_app.panels.frame.base import Panel

Area = Literal["bottom", "right", "float"]
LAST = 1000
"""Position of panels that do not ask for one."""


def _always(_document: Document) -> bool:
    return True


@frozen
class PanelSpec:
    """A panel in the registry: light, so that a window that shows ten tabs loads the one panel that is seen.

    ``load`` imports the panel's module and gives its class, which takes the document and a parent widget. Classes of Qt
    are made on the window's thread; what it needs beside them, named as modules ``ahead``, a thread imports before.
    ``title`` is English. Panels stand in the order of ``position``. ``keys`` show the panel.
    ``shown`` tells whether a new user sees it. A panel that ``lists_events`` is where rows of other panels are listed
    event by event: its `Panel.show_events_of` is called. One that ``greets`` is in front when a capture was opened. One
    that ``shows_source`` is where lines of stacks are read: its `Panel.show_source` is called. ``has_data`` tells at a
    glance, without work, whether a capture can have anything for it: where it cannot, the tab stands back.
    """

    id: str
    title: str
    load: Callable[[], type[Panel]]
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
        """A panel for a capture."""
        return self.load()(document, parent)
