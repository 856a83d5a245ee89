"""The theme shared by all windows, and its change signal."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QApplication

from warpline_app.look import style
from warpline_app.look import theme as themes
from warpline_app.look.theme import Theme


class Appearance(QObject):
    """Applies a theme to the application and notifies custom-painted widgets.

    One per process (see `appearance`): palette and style sheet belong to the QApplication.
    """

    theme_changed = Signal(object)
    """a Theme"""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._choice = "system"
        self._theme: Theme = themes.DARK
        self._applied = False

    @property
    def theme(self) -> Theme:
        """The theme in use."""
        return self._theme

    @property
    def choice(self) -> str:
        """The chosen theme name, or ``system``."""
        return self._choice

    def choose(self, name: str) -> None:
        """Switch to this theme; ``system`` follows the desktop. Raises KeyError for an unknown name."""
        theme = themes.theme_by_name(name)
        self._choice = name
        self._apply(theme)

    def prepare(self, name: str) -> None:
        """Announce the theme to custom-painted widgets before `choose` applies it.

        Widgets created before a style sheet exists are styled once instead of at every reparenting, which saves a
        third of the cost of a window.
        """
        self._choice, self._theme = name, themes.theme_by_name(name)

    def follow_desktop(self) -> None:
        """Follow the desktop's changes while the choice is ``system``."""
        application = QApplication.instance()
        if isinstance(application, QApplication):
            application.styleHints().colorSchemeChanged.connect(self._desktop_changed)

    def _desktop_changed(self) -> None:
        if self._choice == "system":
            self._apply(themes.theme_by_name("system"))

    def _apply(self, theme: Theme) -> None:
        if self._applied and theme == self._theme:
            return
        self._theme = theme
        self._applied = True
        application = QApplication.instance()
        if isinstance(application, QApplication):
            application.setPalette(themes.palette(theme))
            application.setStyleSheet(themes.style_sheet(theme) + style.style_sheet(theme))
        self.theme_changed.emit(theme)


_shared: Appearance | None = None


def appearance() -> Appearance:
    """The appearance of this process."""
    global _shared
    if _shared is None:
        _shared = Appearance()
    return _shared
