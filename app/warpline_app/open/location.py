"""Opens a file that lies on another machine: fetched over ssh in the background, then opened like any other."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject

from warpline.i18n import tr
from warpline.library.opening import Opened, open_path
from warpline.model.errors import Cancelled
from warpline.model.progress import IsCancelled, Progress
from warpline.model.sizes import format_bytes
from warpline_app.look.ssh_environment import asking_environment
from warpline_app.open.background import Job
from warpline_app.open.opening import Opening, close_opened


def location_opening(location: str, parent: QObject | None) -> Opening:
    """The opening of ``ssh://HOST/PATH``; its tab shows how much has arrived."""

    def work(progress: Progress, is_cancelled: IsCancelled) -> Opened:
        from warpline.recording.remote.near.remote_files import fetch_location

        def check() -> None:
            if is_cancelled():
                raise Cancelled

        def arrived(count: int, size: int) -> None:
            check()
            text = tr("fetched {count} of {size}", count=format_bytes(count, 3), size=format_bytes(size, 3))
            progress(0.9 * count / max(size, 1), text)

        progress(0.0, tr("connecting"))
        copy = fetch_location(location, arrived, check=check, environment=asking_environment())
        opened = open_path(copy, lambda fraction, text: progress(0.9 + 0.1 * fraction, text), is_cancelled)
        opened.capture.activity  # noqa: B018  # found here, not in the window's thread
        return opened

    path = Path(location.rstrip("/").rpartition("/")[2] or location)
    opening = Opening(path, Job(work, parent, discard=close_opened), parent=parent)
    opening.location = location
    return opening
