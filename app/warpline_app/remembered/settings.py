"""Typed access to what the application remembers between runs."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

from PySide6.QtCore import QByteArray, QSettings

from warpline.i18n import languages
from warpline.i18n.languages import SYSTEM
from warpline.untrusted import bounded, read_json
from warpline_app.look.theme import SYSTEM as SYSTEM_THEME
from warpline_app.look.theme import THEME_TITLES

RECENT_LIMIT = 12
_OBJECTS = (b"@Variant(", b"@DateTime(")
_ESCAPE = re.compile(rb'\\(?:[0abfnrtv"\\]|x([0-9a-f]{1,4})(?![0-9A-Fa-f]))')
"""Escapes that Qt writes for special characters."""
_DIGITS = frozenset("0123456789abcdefABCDEF")
"""Characters that Qt escapes after another escape."""


def _forget_objects(file: Path) -> bool:
    """Remove lines that hold Qt objects, openly or disguised; returns whether there were any.

    Warpline stores no such objects. Damaged ones make Qt abort the process, and Qt would unpickle those marked as
    Python objects, which can run any code.
    """
    try:
        lines = re.findall(rb"[^\r\n]*[\r\n]*", file.read_bytes())
        kept = [line for line in lines if not _may_hold_object(line)]
        if len(kept) == len(lines):
            return False
        from warpline.interchange.export.output_files import writing

        with writing(file) as out:
            out.write(b"".join(kept))
    except OSError:
        return False
    return True


def _may_hold_object(line: bytes) -> bool:
    """Whether Qt might read an object from a line.

    Qt drops quotes and the blanks after them, decodes numeric escapes, and joins lines at a backslash. Any escape that
    Warpline never needs counts as a disguised object.
    """
    plain = _ESCAPE.sub(_meaning, line)
    if b"\\" in plain or plain.count(b'"') % 2:
        return True
    plain = plain.translate(None, b'" \t\r\n\v\f')
    return any(mark in plain for mark in _OBJECTS)


def _meaning(escape: re.Match[bytes]) -> bytes:
    """The escaped character if it could belong to a marker; a backslash for an escape that is never needed."""
    char = chr(int(escape[1], 16)) if escape[1] else "\0"
    if char in _DIGITS:
        return char.encode()
    return b"\\" if " " <= char <= "~" else b"\0"


class _Flag:
    """A boolean setting."""

    def __init__(self, key: str, default: bool) -> None:
        self._key, self._default = key, default

    def __get__(self, settings: Settings, _owner: type[Settings]) -> bool:
        return settings.flag(self._key, self._default)

    def __set__(self, settings: Settings, on: bool) -> None:
        settings.set_flag(self._key, on)


class Settings:
    """Typed access to an ini file; ``path`` None means the user's own.

    A missing or malformed value reads as its default: users may edit the file.
    """

    def __init__(self, path: Path | None = None) -> None:
        if path is None:
            self._store = QSettings(
                QSettings.Format.IniFormat, QSettings.Scope.UserScope, "Warpline", "Warpline"
            )
        else:
            self._store = QSettings(str(path), QSettings.Format.IniFormat)
        # Ignore system-wide files.
        self._store.setFallbacksEnabled(False)
        if _forget_objects(Path(self._store.fileName())):
            self._store.sync()

    @classmethod
    def kept_nowhere(cls) -> Self:
        """Settings that start from the defaults and are never written to disk."""
        # No file can be created below a device. With the device itself as the path, Qt would replace it when run as
        # root.
        settings = cls(Path(os.devnull, f"{uuid4().hex}.ini"))
        settings.notes_beside_capture = False
        return settings

    @property
    def folder(self) -> Path:
        """The folder of the file; other remembered data goes beside it."""
        return Path(self._store.fileName()).parent

    def save(self) -> None:
        """Write to disk now."""
        self._store.sync()

    # appearance

    @property
    def theme(self) -> str:
        """The name of a theme, or ``system`` to follow the desktop."""
        value = self._value("appearance/theme", SYSTEM_THEME)
        return value if isinstance(value, str) and value in THEME_TITLES else SYSTEM_THEME

    @theme.setter
    def theme(self, choice: str) -> None:
        self._store.setValue("appearance/theme", choice)

    @property
    def language(self) -> str:
        """The language of the window, ``system`` or one of `i18n.languages`; used from the next start."""
        value = self._value("appearance/language", SYSTEM)
        # Read the catalogues only if a language was chosen.
        return value if isinstance(value, str) and value != SYSTEM and value in languages() else SYSTEM

    @language.setter
    def language(self, choice: str) -> None:
        self._store.setValue("appearance/language", choice)

    notes_beside_capture = _Flag("notes/beside_capture", True)
    """Whether notes are kept in a file beside the capture; else in the settings."""
    follows_recordings = _Flag("recording/live", True)
    """Whether a recording shows its timeline while it runs."""
    shows_legend = _Flag("appearance/legend", True)
    """Whether the legend of thread states is shown."""
    shows_critical_path = _Flag("appearance/critical_path", False)
    """Whether the critical path is shown above the rows."""
    restore_session = _Flag("session/restore", False)
    """Whether the captures of the last session are reopened at the next start."""

    tour_seen = _Flag("help/tour_seen", False)
    """Whether the tour was shown, so that it does not begin by itself again."""

    # files

    @property
    def recent_files(self) -> list[Path]:
        """Recently opened captures, newest first; some may no longer exist."""
        return [Path(item) for item in self._strings("files/recent")]

    def add_recent_file(self, path: Path) -> None:
        """Move a capture to the front of the recent ones."""
        path = path.absolute()
        others = [item for item in self.recent_files if item != path]
        self._set_strings("files/recent", [str(item) for item in [path, *others][:RECENT_LIMIT]])

    def clear_recent_files(self) -> None:
        """Clear the list of recent captures."""
        self._store.remove("files/recent")

    @property
    def recent_commands(self) -> list[str]:
        """Ids of the commands run from the palette, newest first."""
        return self._strings("palette/recent")

    def add_recent_command(self, command_id: str) -> None:
        """Move a command to the front of the recent ones."""
        others = [item for item in self.recent_commands if item != command_id]
        self._set_strings("palette/recent", [command_id, *others][:RECENT_LIMIT])

    @property
    def open_files(self) -> list[Path]:
        """The captures open when the last window closed."""
        return [Path(item) for item in self._strings("session/files")]

    @open_files.setter
    def open_files(self, paths: list[Path]) -> None:
        self._set_strings("session/files", [str(path) for path in paths])

    @property
    def last_folder(self) -> str:
        """The start folder of file dialogs; empty for the working directory."""
        value = self._value("files/last_folder", "")
        return value if isinstance(value, str) else ""

    @last_folder.setter
    def last_folder(self, folder: str) -> None:
        self._store.setValue("files/last_folder", folder)

    # window and dialogs

    def flag(self, key: str, default: bool) -> bool:
        """A boolean; an ini file returns text, a value just written is still a bool."""
        value = self._value(key, default)
        return value.lower() in {"true", "1"} if isinstance(value, str) else bool(value)

    def set_flag(self, key: str, on: bool) -> None:
        """Save a boolean."""
        self._store.setValue(key, on)

    def bytes_of(self, key: str) -> QByteArray | None:
        """A saved blob of Qt (geometry, splitter sizes), or None."""
        value = self._value(key)
        return value if isinstance(value, QByteArray) and not value.isEmpty() else None

    def set_bytes(self, key: str, value: QByteArray) -> None:
        """Save a blob of Qt."""
        self._store.setValue(key, value)

    def record_of(self, key: str) -> dict[str, Any]:
        """A small JSON object, empty if missing or unreadable."""
        record = self._json(key)
        return record if isinstance(record, dict) else {}

    def set_record(self, key: str, value: dict[str, Any]) -> None:
        """Save a small JSON object."""
        self._store.setValue(key, json.dumps(value))

    def _value(self, key: str, default: Any = None) -> Any:
        """The stored value, or the default if Qt cannot read it."""
        try:
            return self._store.value(key, default)
        except Exception:  # reading a damaged value may raise anything
            return default

    def _strings(self, key: str) -> list[str]:
        items = self._json(key)
        return [item for item in items if isinstance(item, str)] if isinstance(items, list) else []

    def _json(self, key: str) -> Any:
        """The value of a JSON text, with out-of-range numbers removed; None if there is none."""
        value = self._value(key)
        try:
            return bounded(read_json(value)) if isinstance(value, str) else None
        except ValueError:
            return None

    def _set_strings(self, key: str, items: list[str]) -> None:
        self._store.setValue(key, json.dumps(items))
