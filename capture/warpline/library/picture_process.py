"""`PictureProcess`: pictures of captures from one process that stays, since starting Qt takes longer than drawing."""

from __future__ import annotations

import contextlib
import queue
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from warpline.i18n import tr
from warpline.library.pictures import DRAW_S, PngPicture
from warpline.memory_room import require_memory
from warpline.model import UsageError, WarplineError
from warpline.model.progress import IsCancelled, check_cancelled, never
from warpline.own_python import own_python
from warpline.query.wire import read_message, write_message

_LOOK_S = 0.05


class PictureProcess:
    """Draws one picture at a time. The process starts with the first, and again after it has ended; `close` ends it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def draw(
        self,
        path: Path,
        ends_ns: tuple[int | None, int | None],
        tracks: Sequence[str],
        size: tuple[int, int],
        theme: str,
        *,
        seconds: float = DRAW_S,
        is_cancelled: IsCancelled = never,
    ) -> PngPicture:
        """The timeline of a file; see `warpline.library.pictures.draw`. The process is ended after ``seconds``.

        Raises UsageError for what cannot be drawn, WarplineError when drawing fails or takes too long, Cancelled.
        """
        request = {
            "path": str(path.absolute()),
            "ends_ns": ends_ns,
            "tracks": list(tracks),
            "size": size,
            "theme": theme,
        }
        process = self._started()
        answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        require_memory()
        threading.Thread(target=_ask, args=(process, request, answers), daemon=True).start()
        stop = time.monotonic() + seconds
        try:
            while True:
                with contextlib.suppress(queue.Empty):
                    answer = answers.get(timeout=_LOOK_S)
                    break
                check_cancelled(is_cancelled)
                if time.monotonic() > stop:
                    raise WarplineError(
                        tr(
                            "{path}: the picture was not finished after {seconds:g} s",
                            path=path,
                            seconds=seconds,
                        )
                    )
        except BaseException:
            self.close()
            raise
        if not isinstance(answer, dict):
            self.close()
            status = process.returncode
            raise WarplineError(tr("{path}: drawing ended with status {status}", path=path, status=status))
        if "failed" in answer:
            raise (UsageError if answer.get("kind") == "usage" else WarplineError)(str(answer["failed"]))
        return PngPicture(answer["png"])

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            # The thread that waits for an answer may still hold it; it ends with the process.
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._process = subprocess.Popen(
                own_python("warpline.library.picture_worker"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        return self._process


def _ask(process: subprocess.Popen[bytes], request: dict[str, Any], answers: queue.SimpleQueue[Any]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    answer: Any = None
    with contextlib.suppress(OSError, ValueError):
        write_message(process.stdin, request)
        answer = read_message(process.stdout)
    answers.put(answer)
