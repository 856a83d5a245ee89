"""Colours of the window: light, dark, high contrast, or the desktop's choice.

The surface is calm, the data loud: two greys for the chrome, colour for events. ``selection`` only ever means
selected, ``link`` only ever means linked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from warpline.i18n import english

if TYPE_CHECKING:  # the command line lists themes without loading Qt
    from PySide6.QtGui import QColor, QFont, QPalette

_FAMILIES = {
    "kernel": "#4292f1",
    "communication": "#daaeff",
    "copy_to_device": "#79e3b0",
    "copy_to_host": "#cb5c83",
    "copy_on_device": "#8a5821",
    "set": "#90a2bd",
    "sync": "#e9a251",
    "api": "#656e82",
    "running": "#46b37b",
    "runnable": "#e9bd57",
    "blocked": "#3a414d",
    "uninterruptible": "#7a4a52",
    "wait_lock": "#e0703c",
    "wait_gil": "#d9c64a",
    "wait_condition": "#b583d6",
    "wait_sleep": "#7186ad",
    "wait_file": "#4c97e0",
    "wait_network": "#4fb9b4",
    "wait_child": "#d67aa6",
    "wait_gpu": "#9abf55",
    "core": "#6aa5d8",
    "range": "#a29138",
    "operator": "#0d8bb7",
    "phase": "#f4957a",
    "python": "#66af68",
    "os": "#d0c5fd",
    "memory": "#64cdcb",
    "overhead": "#a24144",
    "neutral": "#8b93a1",
}
_HUES = ("#3252b6", "#d58647", "#248d81", "#b477ae", "#83b924", "#28c7e7", "#f9b2b7", "#67e8ce")
# Neighbouring categories and name hues differ by at least 5 L*, so they stay distinct in grey and for colour-blind
# eyes. No name hue equals a category's colour: both appear in the same picture.


@dataclass(frozen=True, kw_only=True)
class Theme:
    """The colours of one appearance as ``#rrggbb``.

    ``families`` maps colour families of kinds, copy directions and thread states to colours; ``hues`` colour the
    names of operators, ranges and threads.
    """

    name: str
    title: str
    is_dark: bool
    canvas: str
    alternate: str
    header: str
    group: str
    panel: str
    hairline: str
    grid: str
    text: str
    muted: str
    selection: str
    link: str
    warning: str
    ink_dark: str = "#10141a"
    ink_light: str = "#f4f6fa"
    families: Mapping[str, str] = field(default_factory=lambda: MappingProxyType(_FAMILIES))
    hues: tuple[str, ...] = _HUES

    def color(self, token: str, alpha: int = 255) -> QColor:
        """Colour of a token (``canvas``) or colour family (``kernel``). Raises KeyError for an unknown name."""
        from PySide6.QtGui import QColor

        return QColor(_color(self.hex(token), alpha))

    def hex(self, token: str) -> str:
        """``#rrggbb`` of a token or colour family. Raises KeyError for an unknown name."""
        value = self.families.get(token)
        if value is None:
            value = vars(self).get(token)
        if not isinstance(value, str):
            raise KeyError(f"no colour {token!r}")
        return value

    def rgb(self, token: str) -> int:
        """0xffrrggbb of a token or colour family."""
        return to_rgb(self.hex(token))

    def family(self, name: str) -> str:
        """Colour of a family; the ``neutral`` colour for families the theme does not know (a plug-in's kind)."""
        return self.families.get(name, self.families["neutral"])


_NOTE_COLORS = {
    "red": "#d9484f",
    "yellow": "#d9a21b",
    "green": "#2f9e5c",
    "blue": "#3d7fe0",
    "violet": "#9a5fe0",
}


def note_color(theme: Theme, name: str) -> QColor:
    """The colour of a note (`warpline.model.notes.NOTE_COLORS`) in a theme."""
    return _color(_NOTE_COLORS.get(name, theme.text), 255)


@cache
def _color(text: str, alpha: int) -> QColor:
    from PySide6.QtGui import QColor

    color = QColor(text)
    color.setAlpha(alpha)
    return color


DARK = Theme(
    name="dark",
    title=english("Dark"),
    is_dark=True,
    canvas="#181b21",
    alternate="#1c2027",
    header="#1f232b",
    group="#252a33",
    panel="#1b1f26",
    hairline="#2a2f39",
    grid="#242932",
    text="#dfe4ec",
    muted="#8f98a8",
    selection="#2fd0c8",
    link="#f4c95d",
    warning="#e5a550",
)
LIGHT = Theme(
    name="light",
    title=english("Light"),
    is_dark=False,
    canvas="#ffffff",
    alternate="#f7f8fa",
    header="#f3f5f8",
    group="#e8ebf0",
    panel="#fafbfc",
    hairline="#d9dde4",
    grid="#eceff3",
    text="#1d2430",
    muted="#5c6674",
    selection="#008f8a",
    link="#b7791f",
    warning="#a15c00",
    families=MappingProxyType({**_FAMILIES, "blocked": "#c9d0da", "uninterruptible": "#a0525c"}),
)
CONTRAST = replace(
    DARK,
    name="contrast",
    title=english("High contrast, dark"),
    canvas="#000000",
    alternate="#0a0a0a",
    header="#000000",
    group="#1c1c1c",
    panel="#000000",
    hairline="#7a7a7a",
    grid="#3a3a3a",
    text="#ffffff",
    muted="#d0d0d0",
    selection="#00fff0",
    link="#ffd84d",
    warning="#ffb347",
    families=MappingProxyType(
        {
            **_FAMILIES,
            "kernel": "#7db0ff",
            "communication": "#d9a6ff",
            "copy_to_device": "#5ef0b4",
            "copy_to_host": "#ff9dbb",
            "api": "#b8c4d8",
            "running": "#4cf09a",
            "runnable": "#ffe066",
            "blocked": "#6a7380",
        }
    ),
    hues=("#8cc8ff", "#ffb08a", "#9ff09a", "#f0b0f0", "#f5e070", "#80f0ee", "#ff9dab", "#c0c4ff"),
)
CONTRAST_LIGHT = replace(
    LIGHT,
    name="contrast-light",
    title=english("High contrast, light"),
    alternate="#ffffff",
    header="#ffffff",
    group="#e4e4e4",
    panel="#ffffff",
    hairline="#5a5a5a",
    grid="#c4c4c4",
    text="#000000",
    muted="#303030",
    selection="#006b67",
    link="#8a5200",
    warning="#8a3b00",
    families=MappingProxyType(
        {
            **_FAMILIES,
            "kernel": "#2f63c8",
            "communication": "#7c3fb8",
            "copy_to_device": "#167a4f",
            "copy_to_host": "#b0335c",
            "copy_on_device": "#84602a",
            "api": "#4a566b",
            "sync": "#a35f00",
            "running": "#0f7a45",
            "runnable": "#b88400",
            "blocked": "#8a94a3",
            "uninterruptible": "#c06a74",
        }
    ),
    hues=("#2a6ea8", "#a8552a", "#2f7a2a", "#8a3f8a", "#7a6a10", "#177a78", "#a83547", "#5055b0"),
)

SYSTEM = "system"
THEMES = {theme.name: theme for theme in (LIGHT, DARK, CONTRAST, CONTRAST_LIGHT)}
"""The registry of themes by name: menus, preferences and the command line list these."""
THEME_TITLES = {SYSTEM: english("Follow the system"), **{name: theme.title for name, theme in THEMES.items()}}
"""Titles (English) of what can be chosen as a theme."""


def theme_by_name(name: str) -> Theme:
    """The theme of this name; ``system`` follows the desktop. Raises KeyError for an unknown name."""
    if name == SYSTEM:
        from PySide6.QtCore import Qt
        from PySide6.QtGui import QGuiApplication

        app = QGuiApplication.instance()
        if isinstance(app, QGuiApplication) and app.styleHints().colorScheme() == Qt.ColorScheme.Light:
            return LIGHT
        return DARK
    return THEMES[name]


def to_rgb(text: str) -> int:
    """Convert ``#rrggbb`` to 0xffrrggbb."""
    return 0xFF000000 | int(text[1:], 16)


def luminance(rgb: int) -> float:
    """Relative luminance 0–1 of 0xrrggbb (WCAG 2.2)."""
    channels = [((rgb >> shift) & 0xFF) / 255 for shift in (16, 8, 0)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast_ratio(a: int, b: int) -> float:
    """Contrast 1–21 of two colours 0xrrggbb (WCAG 2.2)."""
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@cache
def mix(a: int, b: int, share: float) -> int:
    """``a`` blended with ``share`` of ``b``, as 0xffrrggbb."""
    result = 0xFF000000
    for shift in (16, 8, 0):
        x, y = (a >> shift) & 0xFF, (b >> shift) & 0xFF
        result |= round(x + (y - x) * share) << shift
    return result


@cache
def ui_font(pixel_size: int = 12, *, bold: bool = False) -> QFont:
    """The interface font at a size in pixels. It is shared: copy it before changing it."""
    from PySide6.QtGui import QFont, QFontDatabase

    font = QFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont))
    font.setPixelSize(pixel_size)
    font.setBold(bold)
    return font


def palette(theme: Theme) -> QPalette:
    """The palette for Qt's own widgets."""
    from PySide6.QtGui import QColor, QPalette

    result = QPalette()
    role = QPalette.ColorRole
    for where, token in (
        (role.Window, "header"),
        (role.WindowText, "text"),
        (role.Base, "panel"),
        (role.AlternateBase, "alternate"),
        (role.Text, "text"),
        (role.PlaceholderText, "muted"),
        (role.Button, "group"),
        (role.ButtonText, "text"),
        (role.ToolTipBase, "header"),
        (role.ToolTipText, "text"),
        (role.Mid, "hairline"),
        (role.Dark, "hairline"),
        (role.Link, "link"),
        (role.Highlight, "selection"),
    ):
        result.setColor(where, theme.color(token))
    result.setColor(role.HighlightedText, QColor(theme.ink_dark if theme.is_dark else theme.ink_light))
    for where in (role.WindowText, role.Text, role.ButtonText):
        result.setColor(QPalette.ColorGroup.Disabled, where, theme.color("muted", 150))
    return result


def wash(theme: Theme, token: str = "selection", share: float = 0.22) -> str:
    """The panel colour tinted with a token, as ``#rrggbb``, for highlighted table rows."""
    return f"#{mix(theme.rgb('panel'), theme.rgb(token), share) & 0xFFFFFF:06x}"


def style_sheet(theme: Theme) -> str:
    """Style sheet of the chrome: flat, hairlines, tabs as plain text with an accent underline."""
    selected = wash(theme)
    return f"""
    QMainWindow, QDialog {{ background: {theme.header}; }}
    QToolTip {{ background: {theme.header}; color: {theme.text}; border: 1px solid {theme.hairline}; padding: 4px; }}
    QMenuBar {{ background: {theme.header}; color: {theme.text}; }}
    QMenuBar::item {{ padding: 4px 10px; background: transparent; }}
    QMenuBar::item:selected {{ background: {theme.group}; }}
    QMenu {{ background: {theme.header}; color: {theme.text}; border: 1px solid {theme.hairline}; padding: 4px; }}
    QMenu::item {{ padding: 4px 24px 4px 20px; border-radius: 3px; }}
    QMenu::item:selected {{ background: {selected}; }}
    QMenu::item:disabled {{ color: {theme.muted}; }}
    QMenu::separator {{ height: 1px; background: {theme.hairline}; margin: 4px 6px; }}
    QToolBar {{ background: {theme.header}; border: none; spacing: 6px; padding: 4px 8px; }}
    QStatusBar {{ background: {theme.header}; color: {theme.muted}; border-top: 1px solid {theme.hairline}; }}
    QStatusBar::item {{ border: none; }}
    QPushButton, QToolButton {{ background: {theme.panel}; color: {theme.text}; border: 1px solid {theme.hairline};
        border-radius: 4px; padding: 3px 10px; }}
    QPushButton:hover, QToolButton:hover {{ background: {theme.group}; }}
    QPushButton:pressed, QToolButton:checked {{ background: {selected}; border-color: {theme.selection}; }}
    QPushButton:disabled, QToolButton:disabled {{ color: {theme.muted}; }}
    QLineEdit, QPlainTextEdit, QSpinBox, QComboBox {{ background: {theme.panel}; color: {theme.text};
        border: 1px solid {theme.hairline}; border-radius: 4px; padding: 3px 6px;
        selection-background-color: {theme.selection}; }}
    QSpinBox QLineEdit {{ background: transparent; border: none; padding: 0; }}
    QSpinBox {{ padding: 1px 0; }}
    QSpinBox::up-button, QSpinBox::down-button {{ width: 0; border: none; }}
    QLineEdit:focus, QPlainTextEdit:focus, QSpinBox:focus, QComboBox:focus {{ border-color: {theme.selection}; }}
    QTabWidget::pane {{ border: none; border-top: 1px solid {theme.hairline}; }}
    QTabBar {{ background: {theme.panel}; }}
    QTabBar::tab {{ background: transparent; color: {theme.muted}; padding: 6px 12px; border: none;
        border-bottom: 2px solid transparent; }}
    QTabBar::tab:selected {{ color: {theme.text}; border-bottom: 2px solid {theme.selection}; }}
    QTabBar::tab:hover {{ color: {theme.text}; }}
    QHeaderView::section {{ background: {theme.panel}; color: {theme.muted}; border: none; padding: 4px 8px;
        border-bottom: 1px solid {theme.hairline}; }}
    QAbstractItemView {{ background: {theme.panel}; color: {theme.text}; border: none; outline: none;
        alternate-background-color: {theme.alternate}; gridline-color: {theme.hairline};
        selection-background-color: {selected}; selection-color: {theme.text}; }}
    QSplitter::handle {{ background: {theme.hairline}; }}
    QSplitter::handle:horizontal {{ width: 1px; }}
    QSplitter::handle:vertical {{ height: 1px; }}
    QDockWidget::title {{ background: {theme.panel}; padding: 4px 8px; }}
    QScrollBar {{ background: {theme.panel}; border: none; }}
    QScrollBar:vertical {{ width: 10px; }}
    QScrollBar:horizontal {{ height: 10px; }}
    QScrollBar::handle {{ background: {theme.hairline}; border-radius: 4px; margin: 1px; }}
    QScrollBar::handle:vertical {{ min-height: 24px; }}
    QScrollBar::handle:horizontal {{ min-width: 24px; }}
    QScrollBar::handle:hover {{ background: {theme.muted}; }}
    QScrollBar::add-line, QScrollBar::sub-line {{ width: 0; height: 0; }}
    QScrollBar::add-page, QScrollBar::sub-page {{ background: none; }}
    """
