"""Answers requests for pictures one after the other: the application's side of `warpline.library.picture_process`."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from warpline.library.opening import open_path
from warpline.model.errors import UsageError, WarplineError
from warpline.model.progress import never, unwatched
from warpline.query.kept_rows import Contents, kept_rows
from warpline.query.wire import read_message, write_message
from warpline.storage import Capture
from warpline.storage.notes_file import notes_of
from warpline_app.look.image_files import encoded
from warpline_app.pictures.rendering import Picture, render, require_widgets


def answer_requests(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Draw until ``requests`` ends; each answer has a ``png``, or what ``failed`` and its ``kind``."""
    drawing = _Drawing()
    try:
        while (request := read_message(requests)) is not None:
            try:
                answer: dict[str, object] = {"png": drawing.png(request)}
            except UsageError as error:
                answer = {"failed": str(error), "kind": "usage"}
            except (WarplineError, OSError) as error:
                answer = {"failed": str(error), "kind": "failure"}
            write_message(answers, answer)
    except OSError:
        pass  # nobody reads any more
    finally:
        drawing.close()


class _Drawing:
    """Keeps the capture drawn last open, and what its derived rows show."""

    def __init__(self) -> None:
        self._capture: Capture | None = None
        self._derived: Contents = {}
        self._stamp: tuple[object, ...] = ()

    def png(self, request: Mapping[str, Any]) -> bytes:
        require_widgets()
        path = Path(request["path"])
        capture = self._opened(path)
        start, stop = request["ends_ns"]
        picture = Picture(
            range_ns=(start, stop),
            tracks=tuple(request["tracks"]),
            size=(request["size"][0], request["size"][1]),
            theme=request["theme"],
            notes=notes_of(path, capture.uuid),
            rows=kept_rows(capture, path, known=self._derived),
        )
        return encoded(render(capture, picture, path.name), "png")

    def _opened(self, path: Path) -> Capture:
        stamp: tuple[object, ...] = ()
        with contextlib.suppress(OSError):  # opening says what is wrong
            status = path.stat()
            stamp = path, status.st_mtime_ns, status.st_size, status.st_ino
        if self._capture is None or stamp != self._stamp:
            self.close()
            self._capture, self._stamp = open_path(path, unwatched, never).capture, stamp
        return self._capture

    def close(self) -> None:
        """Close the capture."""
        self._derived.clear()
        if self._capture is not None:
            self._capture.close()
            self._capture = None
