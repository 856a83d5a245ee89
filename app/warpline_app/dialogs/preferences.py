"""The preferences dialog."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QHBoxLayout,
    QPushButton,
    QWidget,
)

from warpline.i18n import languages, tr, translated
from warpline.i18n.languages import SYSTEM
from warpline.model.errors import StorageError
from warpline.model.sizes import format_bytes
from warpline_app.dialogs.dialog_form import lay_out, make_form
from warpline_app.look.appearance import appearance
from warpline_app.look.plain import PlainLabel, plain
from warpline_app.look.theme import THEME_TITLES
from warpline_app.remembered.settings import Settings

CACHE_GIGABYTES = (1, 5, 20, 50, 100)


class PreferencesDialog(QDialog):
    """Changes take effect at once; there is no OK button."""

    def __init__(self, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("Preferences"))
        self._settings = settings
        self.theme = QComboBox()
        for name, title in THEME_TITLES.items():
            self.theme.addItem(translated(title), name)
        self.theme.setCurrentIndex(self.theme.findData(settings.theme))
        self.theme.currentIndexChanged.connect(self._choose_theme)
        self.language = QComboBox()
        self.language.addItem(tr("Follow the system"), SYSTEM)
        # Languages are listed by their own names.
        for code, title in languages().items():
            self.language.addItem(title, code)
        self.language.setCurrentIndex(self.language.findData(settings.language))
        self.language.currentIndexChanged.connect(self._choose_language)
        self._language_note = PlainLabel()
        self._language_note.setObjectName("muted")
        self.restore = QCheckBox(tr("Reopen the captures of the last session"))
        self.restore.setChecked(settings.restore_session)
        self.restore.toggled.connect(lambda on: setattr(settings, "restore_session", on))
        self.notes = QCheckBox(tr("Keep notes in a file beside the capture"))
        self.notes.setToolTip(tr("Otherwise they are kept in the settings of this computer"))
        self.notes.setChecked(settings.notes_beside_capture)
        self.notes.toggled.connect(lambda on: setattr(settings, "notes_beside_capture", on))
        self.live = QCheckBox(tr("Show the timeline during a recording"))
        self.live.setToolTip(tr("A low-priority process reads along and uses at most a fifth of a core"))
        self.live.setChecked(settings.follows_recordings)
        self.live.toggled.connect(lambda on: setattr(settings, "follows_recordings", on))
        self._build_cache()
        form = make_form()
        form.addRow(tr("Theme"), self.theme)
        form.addRow(tr("Language"), self.language)
        form.addRow("", self._language_note)
        form.addRow(tr("At start"), self.restore)
        form.addRow(tr("Notes"), self.notes)
        form.addRow(tr("Recordings"), self.live)
        form.addRow(tr("Converted files"), self._cache_row)
        form.addRow("", self.cache_note)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        lay_out(self, form, (buttons,), width_px=440)

    def _build_cache(self) -> None:
        """The cache of converted traces, archives and large captures, and its size limit."""
        from warpline.storage import ConversionCache

        self._cache = ConversionCache()
        self.limit = QComboBox()
        self.limit.setAccessibleName(tr("Limit of converted files"))
        limits = sorted({*(giga << 30 for giga in CACHE_GIGABYTES), self._cache.max_bytes})
        for limit in limits:
            self.limit.addItem(tr("at most {size}", size=format_bytes(limit)), limit)
        self.limit.setCurrentIndex(self.limit.findData(self._cache.max_bytes))
        self.limit.currentIndexChanged.connect(self._choose_limit)
        self.clear_button = QPushButton(tr("Clear"))
        self.clear_button.setAutoDefault(False)
        self.clear_button.clicked.connect(self._clear_cache)
        self.cache_note = PlainLabel()
        self.cache_note.setObjectName("muted")
        self.cache_note.setToolTip(
            plain(
                tr(
                    "{folder}; cleared files are converted again when opened",
                    folder=self._cache.folder.parent,
                )
            )
        )
        self._cache_row = QHBoxLayout()
        self._cache_row.addWidget(self.limit, 1)
        self._cache_row.addWidget(self.clear_button)
        self._show_cache()

    def _show_cache(self) -> None:
        from warpline.library.kept_diagnoses import kept_diagnoses
        from warpline.storage.index.name_index_cache import stored_indexes

        entries = (*stored_indexes().values(), *kept_diagnoses().values())
        size = self._cache.size_bytes() + sum(entries)
        self.clear_button.setEnabled(size > 0)
        self.cache_note.setText(
            tr(
                "{size} in use",
                size=format_bytes(size),
            )
            if size
            else tr("empty")
        )

    def _choose_limit(self) -> None:
        try:
            self._cache.set_limit(int(self.limit.currentData()))
        except StorageError as error:
            self.cache_note.setText(str(error))
        else:
            self._show_cache()

    def _clear_cache(self) -> None:
        from warpline.library.kept_diagnoses import forget_diagnoses
        from warpline.storage.index.name_index_cache import forget_indexes

        self._cache.clear()
        forget_indexes()
        forget_diagnoses()
        self._show_cache()

    def _choose_theme(self) -> None:
        choice: str = self.theme.currentData()
        self._settings.theme = choice
        appearance().choose(choice)

    def _choose_language(self) -> None:
        self._settings.language = str(self.language.currentData())
        self._language_note.setText(tr("Takes effect at the next start."))


def show_preferences(settings: Settings, parent: QWidget | None) -> PreferencesDialog:
    """Show the dialog."""
    dialog = PreferencesDialog(settings, parent)
    dialog.open()
    return dialog
