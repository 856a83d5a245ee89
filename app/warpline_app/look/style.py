"""Style sheet of the widgets around the timeline: tool row, chips, message bars, panel tabs, dialogs, welcome page."""

from __future__ import annotations

from warpline import resources
from warpline_app.look import theme as themes
from warpline_app.look.theme import Theme


def _mixed(theme: Theme, base: str, token: str, share: float) -> str:
    return f"#{themes.mix(theme.rgb(base), theme.rgb(token), share) & 0xFFFFFF:06x}"


def style_sheet(theme: Theme) -> str:
    """What the application's own widgets add to `theme.style_sheet`, addressed by object name."""
    chip = _mixed(theme, "header", "selection", 0.20)
    error = _mixed(theme, "header", "copy_to_host", 0.16)
    warning = _mixed(theme, "header", "warning", 0.16)
    info = _mixed(theme, "header", "kernel", 0.16)
    hover = _mixed(theme, "header", "text", 0.08)
    edge = _mixed(theme, "header", "text", 0.45)
    # Marks on the accent use the ink readable there; marks on the surface use the text ink.
    ink, ink_text = ("dark", "light") if theme.is_dark else ("light", "dark")
    icons = resources.path("icons").as_posix()
    return f"""
    QMainWindow > QWidget {{ background: {theme.header}; }}
    QMenuBar {{ padding: 2px 2px; }}
    QLabel {{ background: transparent; }}
    QDialogButtonBox {{ dialogbuttonbox-buttons-have-icons: 0; }}
    QWidget#toolRow {{ background: {theme.header}; border-bottom: 1px solid {theme.hairline}; }}
    QWidget#toolRow QPushButton {{ background: transparent; padding: 4px 11px; border-radius: 5px; min-height: 16px; }}
    QWidget#toolRow QPushButton:hover {{ background: {hover}; }}
    QWidget#toolRow QLineEdit {{ background: {theme.canvas}; border-radius: 5px; padding: 4px 9px; min-height: 16px; }}
    QLabel#summary, QLabel#scope, QLabel#muted {{ color: {theme.muted}; }}
    QFrame#chip {{ background: {chip}; border: 1px solid {theme.selection}; border-radius: 5px; }}
    QFrame#chip QLabel {{ color: {theme.text}; }}
    QToolButton#flat, QToolButton#chipClose {{ background: transparent; border: none; padding: 1px 5px;
        color: {theme.muted}; border-radius: 3px; }}
    QToolButton#flat:hover, QToolButton#chipClose:hover {{ color: {theme.text}; background: {hover}; }}
    QToolButton#flat::menu-indicator {{ image: none; }}
    QToolButton#choice {{ background: transparent; border: 1px solid {theme.hairline}; border-radius: 5px;
        padding: 3px 9px; color: {theme.text}; }}
    QToolButton#choice:hover {{ background: {hover}; }}
    QToolButton#choice:checked {{ background: {chip}; border-color: {theme.selection}; }}
    QToolButton#choice:disabled {{ color: {theme.muted}; }}
    QToolButton#choice::menu-indicator {{ image: none; }}
    QFrame#messageBar {{ border: 1px solid {edge}; border-radius: 6px; }}
    QFrame#messageBar[level="error"] {{ background: {error}; }}
    QFrame#messageBar[level="warning"] {{ background: {warning}; }}
    QFrame#messageBar[level="info"] {{ background: {info}; }}
    QLabel#messageSign {{ border-radius: 9px; font-weight: bold; color: {theme.ink_dark}; }}
    QLabel#messageSign[level="error"] {{ background: {theme.hex("copy_to_host")}; }}
    QLabel#messageSign[level="warning"] {{ background: {theme.hex("sync")}; }}
    QLabel#messageSign[level="info"] {{ background: {theme.hex("kernel")}; }}
    QWidget#statusLine {{ background: {theme.header}; border-top: 1px solid {theme.hairline}; }}
    QWidget#statusLine QLabel {{ color: {theme.muted}; }}
    QWidget#panelStrip {{ background: {theme.panel}; border-top: 1px solid {theme.hairline}; }}
    QWidget#panelStrip QTabBar {{ background: {theme.panel}; }}
    QWidget#sideTitle {{ background: {theme.group}; }}
    QWidget#panelHost, QWidget#panel {{ background: {theme.panel}; }}
    QWidget#panel QLabel {{ color: {theme.text}; }}
    QWidget#panel QLabel#muted {{ color: {theme.muted}; }}
    QTabBar::close-button {{ image: url("{icons}/close-{ink_text}.svg"); subcontrol-position: right;
        border-radius: 3px; margin: 2px; }}
    QTabBar::close-button:hover {{ background: {hover}; }}
    QTabBar QToolButton {{ background: {theme.header}; border: none; }}
    QTabBar QToolButton:hover {{ background: {hover}; }}
    QTabBar QToolButton::left-arrow {{ image: url("{icons}/left-{ink_text}.svg"); width: 12px; height: 12px; }}
    QTabBar QToolButton::right-arrow {{ image: url("{icons}/right-{ink_text}.svg"); width: 12px; height: 12px; }}
    QToolButton#tabList {{ background: {theme.header}; border: none; padding: 4px 8px; }}
    QToolButton#tabList:hover {{ background: {hover}; }}
    QToolButton#tabList::down-arrow {{ image: url("{icons}/down-{ink_text}.svg"); width: 12px; height: 12px; }}
    QTabWidget#captureTabs::pane {{ border: none; }}
    QTabWidget#captureTabs > QTabBar {{ background: {theme.header}; }}
    QTabWidget#captureTabs > QTabBar::tab {{ padding: 5px 14px; }}
    QWidget#welcome, QWidget#openingPage {{ background: {theme.canvas}; }}
    QLabel#headline {{ font-size: 20px; font-weight: 600; color: {theme.text}; }}
    QLabel#subhead {{ font-weight: 600; color: {theme.text}; }}
    QLabel#verdict {{ font-size: 16px; font-weight: 600; color: {theme.text}; }}
    QPushButton#primary {{ background: {theme.selection}; border-color: {theme.selection};
        color: {theme.ink_dark if theme.is_dark else theme.ink_light}; font-weight: 600; }}
    QPushButton#primary:hover {{ background: {_mixed(theme, "selection", "text", 0.15)}; }}
    QPushButton#primary:disabled {{ background: {theme.group}; border-color: {theme.hairline}; color: {theme.muted}; }}
    QPushButton#link {{ background: transparent; border: none; text-align: left; color: {theme.text};
        padding: 3px 6px; }}
    QPushButton#link:hover {{ background: {hover}; }}
    QPushButton:focus, QToolButton:focus, QCheckBox:focus {{ outline: none; }}
    QPushButton:focus {{ border-color: {theme.selection}; }}
    QProgressBar {{ background: {theme.group}; border: none; border-radius: 3px; max-height: 6px; min-height: 6px; }}
    QProgressBar::chunk {{ background: {theme.selection}; border-radius: 3px; }}
    QFrame#paletteFrame {{ background: {theme.header}; border: 1px solid {theme.hairline}; border-radius: 8px; }}
    QLineEdit#paletteInput {{ border: none; border-bottom: 1px solid {theme.hairline}; border-radius: 0;
        background: transparent; padding: 10px 12px; font-size: 14px; }}
    QListView#paletteList {{ background: {theme.header}; }}
    QPushButton#recentCard {{ background: {theme.panel}; border: 1px solid {theme.hairline}; border-radius: 7px;
        text-align: left; }}
    QPushButton#recentCard:hover, QPushButton#recentCard:focus {{ border-color: {theme.selection}; }}
    QPushButton#recentCard QLabel {{ color: {theme.text}; }}
    QPushButton#recentCard QLabel#muted, QPushButton#recentCard QLabel#recentPicture {{ color: {theme.muted}; }}
    QLabel#recentPicture {{ background: {theme.canvas}; color: {theme.muted}; border-radius: 3px; }}
    QLabel#keyCap {{ background: {theme.group}; border: 1px solid {theme.hairline}; border-radius: 4px;
        padding: 1px 6px; color: {theme.text}; }}
    QGroupBox {{ border: none; margin-top: 18px; font-weight: 600; color: {theme.text}; }}
    QGroupBox::title {{ subcontrol-origin: margin; left: 0; }}
    QCheckBox::indicator, QRadioButton::indicator, QTreeView::indicator {{ width: 14px; height: 14px;
        background: {theme.canvas}; border: 1px solid {edge}; border-radius: 3px; }}
    QRadioButton::indicator {{ border-radius: 8px; }}
    QCheckBox::indicator:checked, QRadioButton::indicator:checked, QTreeView::indicator:checked {{
        background: {theme.selection}; border-color: {theme.selection}; image: url("{icons}/check-{ink}.svg"); }}
    QTreeView::indicator:indeterminate {{ width: 8px; height: 8px; background: {theme.selection};
        border: 4px solid {theme.canvas}; }}
    QRadioButton::indicator:checked {{ image: url("{icons}/dot-{ink}.svg"); }}
    QCheckBox::indicator:disabled {{ background: {theme.group}; border-color: {theme.hairline}; image: none; }}
    QCheckBox:disabled {{ color: {theme.muted}; }}
    QCheckBox:focus, QRadioButton:focus {{ color: {theme.selection}; }}
    QLabel#problem, QWidget#panel QLabel#problem {{ color: {theme.warning}; }}
    QComboBox {{ selection-background-color: {themes.wash(theme)}; selection-color: {theme.text}; }}
    QFileDialog {{ backward-icon: url("{icons}/left-{ink_text}.svg"); forward-icon: url("{icons}/right-{ink_text}.svg");
        filedialog-parent-directory-icon: url("{icons}/up-{ink_text}.svg"); }}
    QFileDialog QToolButton {{ padding: 3px; }}
    QComboBox::drop-down {{ border: none; width: 22px; }}
    QComboBox::down-arrow {{ image: url("{icons}/down-{ink_text}.svg"); width: 10px; height: 10px; }}
    QTreeWidget::item {{ height: 20px; }}
    QTreeWidget#panelTable::item {{ padding: 0 5px; }}
    QTableView#processTable::item {{ padding: 0 15px 0 5px; }}
    QTableView#processTable QHeaderView::section {{ padding: 4px 18px 4px 8px; }}
    QTreeWidget#panelTable QHeaderView::section {{ padding: 4px 8px 4px 6px; }}
    QAbstractScrollArea::corner {{ background: {theme.panel}; border: none; }}
    QListWidget#panelList {{ padding: 4px 0px; }}
    QListWidget#panelList::item {{ height: 22px; padding-left: 10px; }}
    QListWidget#panelList::item:disabled {{ color: {theme.muted}; }}
    QFrame#card {{ border: none; border-bottom: 1px solid {theme.hairline}; border-left: 3px solid transparent;
        background: transparent; }}
    QFrame#card:hover {{ background: {_mixed(theme, "panel", "text", 0.04)}; }}
    QFrame#card:focus {{ border-left-color: {theme.muted}; }}
    QFrame#card[selected="true"] {{ background: {themes.wash(theme, share=0.14)};
        border-left-color: {theme.selection}; }}
    QFrame#card QPushButton#tool {{ background: transparent; padding: 2px 9px; }}
    QFrame#card QPushButton#tool:hover {{ background: {hover}; }}
    QFrame#card QPushButton#tool:focus {{ border-color: {theme.selection}; }}
    QFrame#card QLabel#figure {{ font-weight: 600; }}
    QPlainTextEdit#console {{ border: none; border-radius: 0; background: {theme.canvas}; }}
    """
