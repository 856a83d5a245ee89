"""Desktop integration: desktop entry, file type, icons."""

from __future__ import annotations

import configparser
import subprocess
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import cast
from xml.etree import ElementTree as ET

import pytest
from PySide6.QtGui import QFileOpenEvent, QIcon
from pytestqt.qtbot import QtBot

from warpline import resources
from warpline_app.look.application import DESKTOP_FILE, Application
from warpline_app.look.native_keys import native_keys
from warpline_app.window.run_window import open_handed_file

MIME = "{http://www.freedesktop.org/standards/shared-mime-info}"


def entry(repository: Path) -> configparser.SectionProxy:
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # the way its documentation shows
    parser.read(repository / "packaging" / "linux" / f"{DESKTOP_FILE}.desktop", encoding="utf-8")
    return parser["Desktop Entry"]


def test_the_entry_starts_what_is_installed_and_opens_captures(repository: Path) -> None:
    found = entry(repository)
    scripts = tomllib.loads((repository / "pyproject.toml").read_text())["project"]["gui-scripts"]
    assert found["Exec"].split() == ["warpline-window", "%F"]
    assert "warpline-window" in scripts
    tree = ET.parse(repository / "packaging" / "linux" / f"{DESKTOP_FILE}.mime.xml")
    types = [node.attrib["type"] for node in tree.iter(f"{MIME}mime-type")]
    assert found["MimeType"].rstrip(";").split(";") == types
    assert found["Terminal"] == "false"


@pytest.mark.parametrize("name", ["warpline", "warpline-capture", "check-dark", "down-light", "close-dark"])
def test_icons_are_drawn_at_every_size(qtbot: QtBot, name: str) -> None:
    icon = QIcon(str(resources.path(f"icons/{name}.svg")))
    for size in (16, 48, 256):
        image = icon.pixmap(size, size).toImage()
        assert (image.width(), image.height()) == (size, size)
        assert any(image.pixelColor(x, size // 2).alpha() > 0 for x in range(size))


def test_the_installer_installs_and_removes_everything(repository: Path, tmp_path: Path) -> None:
    script = repository / "packaging" / "linux" / "install-desktop.sh"
    subprocess.run(["sh", str(script), str(tmp_path)], check=True, capture_output=True, timeout=60)
    share = tmp_path / "share"
    placed = {str(path.relative_to(share)) for path in share.rglob("*warpline*") if path.is_file()}
    assert placed >= {
        "applications/warpline.desktop",
        "icons/hicolor/scalable/apps/warpline.svg",
        "icons/hicolor/scalable/mimetypes/application-x-warpline-capture.svg",
        "mime/packages/warpline.xml",
    }
    subprocess.run(
        ["sh", str(script), "--uninstall", str(tmp_path)], check=True, capture_output=True, timeout=60
    )
    assert not (share / "applications" / "warpline.desktop").exists()
    assert not (share / "icons/hicolor/scalable/apps/warpline.svg").exists()


def test_a_file_that_the_desktop_hands_over_is_opened_in_the_active_window(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[list[Path]] = []
    window = SimpleNamespace(isActiveWindow=lambda: True, workspace=SimpleNamespace(open_files=opened.append))
    monkeypatch.setattr("warpline_app.window.main_window.open_windows", lambda: (window,))
    handed: list[str] = []
    application = cast("Application", SimpleNamespace(file_opened=SimpleNamespace(emit=handed.append)))
    assert Application.event(application, QFileOpenEvent(str(tmp_path / "a b.h5")))
    open_handed_file(handed[0])
    assert opened == [[tmp_path / "a b.h5"]]


def test_texts_name_the_platforms_own_control_key(monkeypatch: pytest.MonkeyPatch) -> None:
    assert native_keys("Ctrl+click, Shift+click") == "Ctrl+click, Shift+click"
    monkeypatch.setattr("warpline_app.look.native_keys.QKeySequence.toString", lambda *_arguments: "⌘A")
    assert native_keys("Ctrl+click, Shift+click") == "⌘click, Shift+click"
