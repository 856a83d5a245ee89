"""File → Open location…: a file on another machine, over ssh."""

from __future__ import annotations

import re

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QDialog, QWidget

from warpline.i18n import tr
from warpline_app.dialogs.dialog_form import cancel_or, lay_out, make_form
from warpline_app.look.plain import PlainLabel
from warpline_app.open.workspace import Workspace
from warpline_app.recording.machines import ssh_hosts

_SETTINGS = "open/locations"
_MOST_RECENT = 8
_LOCATION = re.compile(r"ssh://[^/\s]+/.*[^/]")
_AS_SCP = re.compile(r"([^/:\s]+):(?!//)(.+[^/])")
"""``HOST:PATH``, as scp takes it; a relative path begins in the home folder there."""


def location_of(text: str) -> str:
    """The location that was typed, also as ``HOST:PATH``; empty for anything else."""
    text = text.strip()
    if _LOCATION.fullmatch(text):
        return text
    match = _AS_SCP.fullmatch(text)
    if match is None:
        return ""
    host, path = match.groups()
    path = path.removeprefix("~/")
    quoted = path.replace("%", "%25").replace("?", "%3F").replace("#", "%23")
    return f"ssh://{host}{quoted}" if path.startswith("/") else f"ssh://{host}/~/{quoted}"


class OpenLocationDialog(QDialog):
    """Asks where the file lies; remembers the last places."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("Open location"))
        self._workspace = workspace
        self.location = QComboBox()
        self.location.setEditable(True)
        self.location.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.location.setAccessibleName(tr("Location"))
        recent = self._recent
        self.location.addItems(recent or [f"ssh://{host}/~/" for host in ssh_hosts()[:_MOST_RECENT]])
        if not recent:
            self.location.setCurrentIndex(-1)
        field = self.location.lineEdit()
        if field is not None:
            field.setPlaceholderText("ssh://HOST/PATH/run.h5")
        self.location.currentTextChanged.connect(self._follow)
        hint = PlainLabel(
            tr(
                "A capture or trace on a machine that your ssh reaches; HOST:PATH is understood too. It is copied once,"
                " and again only when it has changed."
            )
        )
        hint.setObjectName("muted")
        hint.setWordWrap(True)
        form = make_form()
        form.addRow(tr("Location"), self.location)
        form.addRow("", hint)
        buttons, self.open_button = cancel_or(tr("Open"))
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        lay_out(self, form, (buttons,), width_px=600)
        self._follow()

    @property
    def _recent(self) -> list[str]:
        known = self._workspace.settings.record_of(_SETTINGS).get("recent")
        return [text for text in known if isinstance(text, str)] if isinstance(known, list) else []

    def _follow(self) -> None:
        self.open_button.setEnabled(bool(location_of(self.location.currentText())))

    def accept(self) -> None:
        """Open the location."""
        location = location_of(self.location.currentText())
        if not location:
            return
        others = [other for other in self._recent if other != location]
        self._workspace.settings.set_record(_SETTINGS, {"recent": [location, *others][:_MOST_RECENT]})
        self._workspace.open_location(location)
        super().accept()


def show_open_location(workspace: Workspace, parent: QWidget | None) -> OpenLocationDialog:
    """Ask for a location and open it."""
    dialog = OpenLocationDialog(workspace, parent)
    dialog.open()
    return dialog
