"""Creates the QApplication with name, icon, language and theme, once per process."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QEvent, Signal
from PySide6.QtGui import QFileOpenEvent, QIcon
from PySide6.QtWidgets import QApplication

from warpline import __version__, i18n, resources
from warpline.i18n.languages import ENGLISH
from warpline.platform.systems import name_program
from warpline_app.look.appearance import appearance

if TYPE_CHECKING:
    from PySide6.QtCore import QTranslator

DESKTOP_FILE = "warpline"
PROGRAM_ID = "Warpline.Warpline"
"""Windows' AppUserModelID."""
_STYLE = ("-style", "Fusion")
"""Passed to Qt as an option, because `QApplication.setStyle` would create 566 style constants in Python."""


class Application(QApplication):
    """Qt's application, which says when the desktop hands it a file, as macOS does for one dropped on the icon."""

    file_opened = Signal(str)

    def event(self, event: QEvent) -> bool:
        """Handles events of the application itself."""
        if isinstance(event, QFileOpenEvent):
            self.file_opened.emit(event.file())
            return True
        return super().event(event)


def make_application(
    theme: str, language: str, arguments: Sequence[str] = (), *, is_themed: bool = True
) -> QApplication:
    """The application of this process, created if needed, with this language and theme.

    Both may be ``system``, which follows the desktop. With ``is_themed`` False, the theme is only prepared and the
    first window is created before it is applied.
    """
    existing = QApplication.instance()
    name_program(PROGRAM_ID)
    application = (
        existing if isinstance(existing, QApplication) else Application([sys.argv[0], *_STYLE, *arguments])
    )
    QCoreApplication.setOrganizationName("Warpline")
    QCoreApplication.setApplicationName("Warpline")
    QCoreApplication.setApplicationVersion(__version__)
    application.setDesktopFileName(DESKTOP_FILE)
    application.setWindowIcon(QIcon(str(resources.path("icons/warpline.svg"))))
    speak(application, i18n.install(language))
    (appearance().choose if is_themed else appearance().prepare)(theme)
    appearance().follow_desktop()
    return application


def speak(application: QApplication, language: str) -> QTranslator | None:
    """Install Qt's own translations (dialog buttons, file dialogs). Returns the translator, None if there is none."""
    if language == ENGLISH:
        return None
    from PySide6.QtCore import QLibraryInfo, QLocale, QTranslator

    translator = QTranslator(application)
    folder = QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)
    if translator.load(QLocale(language), "qtbase", "_", folder):
        application.installTranslator(translator)
        return translator
    return None
