"""What a person can choose once and for all."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QLabel,
    QVBoxLayout,
    QWidget,
)

from warpline.i18n import tr
from warpline_app.appearance import appearance
from warpline_app.settings import LanguageChoice, Settings, ThemeChoice

if TYPE_CHECKING:
    from warpline_app.window import MainWindow

THEMES: tuple[tuple[str, str], ...] = (
    ("system", "Follow the system"),
    ("light", "Light"),
    ("dark", "Dark"),
    ("contrast", "High contrast, dark"),
    ("contrast-light", "High contrast, light"),
)
# A language is named in itself: who looks for it can read it.
LANGUAGES: tuple[tuple[str, str], ...] = (
    ("system", "Follow the system"),
    ("en", "English"),
    ("zh_CN", "简体中文"),
)


class PreferencesDialog(QDialog):
    """Every change takes effect at once; there is nothing to confirm."""

    def __init__(self, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("Preferences"))
        self._settings = settings
        self.theme = QComboBox()
        for name, title in THEMES:
            self.theme.addItem(tr(title, "preferences"), name)
        self.theme.setCurrentIndex(self.theme.findData(settings.theme))
        self.theme.currentIndexChanged.connect(self._choose_theme)
        self.language = QComboBox()
        for name, title in LANGUAGES:
            self.language.addItem(tr(title, "preferences"), name)
        self.language.setCurrentIndex(self.language.findData(settings.language))
        self.language.currentIndexChanged.connect(self._choose_language)
        self._language_note = QLabel()
        self._language_note.setObjectName("muted")
        self.restore = QCheckBox(tr("Open the captures of the last session again"))
        self.restore.setChecked(settings.restore_session)
        self.restore.toggled.connect(lambda on: setattr(settings, "restore_session", on))
        form = QFormLayout()
        form.setHorizontalSpacing(18)
        form.setVerticalSpacing(10)
        form.addRow(tr("Theme"), self.theme)
        form.addRow(tr("Language"), self.language)
        form.addRow("", self._language_note)
        form.addRow(tr("At start"), self.restore)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(20, 18, 18, 14)
        layout.setSpacing(16)
        layout.addLayout(form)
        layout.addStretch(1)
        layout.addWidget(buttons)
        self.setMinimumWidth(440)

    def _choose_theme(self) -> None:
        choice = cast("ThemeChoice", self.theme.currentData())
        self._settings.theme = choice
        appearance().choose(choice)

    def _choose_language(self) -> None:
        self._settings.language = cast("LanguageChoice", self.language.currentData())
        self._language_note.setText(tr("Used from the next start on."))


def show_preferences(window: MainWindow) -> PreferencesDialog:
    """Show the dialog."""
    dialog = PreferencesDialog(window.settings, window)
    dialog.open()
    return dialog
