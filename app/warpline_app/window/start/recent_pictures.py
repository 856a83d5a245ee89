"""Preview pictures of recent captures, saved beside the settings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QImage

from warpline.untrusted import visible
from warpline_app.open.document import Document
from warpline_app.remembered.settings import RECENT_LIMIT, Settings

PICTURE_SIZE = QSize(296, 92)
_SCALE = 2
_DURATION, _EVENTS, _MACHINE = "duration_ns", "events", "machine"
_LONGEST_MACHINE = 200


@dataclass(frozen=True)
class Remembered:
    """The preview, length and event count of a capture, and the other machine it was recorded on, if any."""

    picture: QImage
    duration_ns: int
    events: int
    machine: str = ""


class RecentPictures:
    """A PNG for each recent file, with its length and number of events as PNG texts.

    Read and write errors are ignored.
    """

    def __init__(self, settings: Settings) -> None:
        self._folder = settings.folder / "recent"

    def keep(self, document: Document, picture: QImage) -> None:
        """Save a preview of an open capture."""
        image = picture.scaled(
            PICTURE_SIZE * _SCALE,
            Qt.AspectRatioMode.KeepAspectRatioByExpanding,
            Qt.TransformationMode.SmoothTransformation,
        ).copy(0, 0, PICTURE_SIZE.width() * _SCALE, PICTURE_SIZE.height() * _SCALE)
        image.setText(_DURATION, str(document.capture.duration_ns))
        image.setText(_EVENTS, str(len(document.capture.events)))
        image.setText(_MACHINE, machine_of(document))
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            image.save(str(self._path(document.source)))
            self._tidy()
        except OSError:
            return

    def of(self, path: Path) -> Remembered | None:
        """The preview of a file; None if unknown, or if the file has changed since."""
        saved = self._path(path)
        try:
            if saved.stat().st_mtime < path.stat().st_mtime:
                return None
        except OSError:
            return None
        image = QImage(str(saved))
        if image.isNull():
            return None
        image.setDevicePixelRatio(_SCALE)
        try:
            return Remembered(
                image, int(image.text(_DURATION)), int(image.text(_EVENTS)), image.text(_MACHINE)
            )
        except ValueError:
            return None

    def _path(self, source: Path) -> Path:
        import hashlib  # loads OpenSSL, which the first frame does not need

        return self._folder / f"{hashlib.sha256(str(source.absolute()).encode()).hexdigest()[:24]}.png"

    def _tidy(self) -> None:
        """Delete previews of files that are no longer recent."""
        previews = sorted(self._folder.glob("*.png"), key=lambda path: path.stat().st_mtime, reverse=True)
        for path in previews[2 * RECENT_LIMIT :]:
            path.unlink(missing_ok=True)


def machine_of(document: Document) -> str:
    """What the user calls the other machine that a capture was recorded on; empty for this one."""
    host = document.capture.meta.get("host")
    name = host.get("reached_as") if isinstance(host, dict) else None
    return visible(name)[:_LONGEST_MACHINE] if isinstance(name, str) else ""
