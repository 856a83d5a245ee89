"""Watches a recording on another machine: its spool is copied here for as long as somebody looks."""

from __future__ import annotations

import contextlib
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

from warpline.i18n import tr
from warpline.memory_room import require_memory
from warpline.model.errors import Cancelled, RecordingError, WarplineError
from warpline.recording.remote.frames import FrameError, FrameType, values_of
from warpline.recording.remote.near.mirror import Mirror
from warpline.recording.remote.near.transport import Connection, FarMachine
from warpline.recording.session import SESSION_FILE
from warpline.untrusted import visible

_PATIENCE_S = 60.0
_MOST_BYTES = 64 << 30


class SpoolCopy:
    """Copies a recording from another machine. ``spool`` is the copy, ``name`` what it is called there."""

    def __init__(self, connection: Connection, spool: Path) -> None:
        self.spool = spool
        self._connection = connection
        self._has_session, self._over = threading.Event(), threading.Event()
        self._error: Exception | None = None
        self.has_ended = False
        self.name = visible(str(connection.answer().get("name", "")))
        self._thread = threading.Thread(target=self._copy, name="warpline-watch")
        require_memory()
        self._thread.start()

    def check(self) -> None:
        """Raises RecordingError when the recording has ended or the connection is lost."""
        if self._error is not None:
            raise RecordingError(str(self._error)) from self._error
        if self.has_ended:
            raise RecordingError(tr("{name}: the recording has ended", name=self.name))

    def wait(self) -> None:
        """Wait for the first records. Raises RecordingError."""
        if not self._has_session.wait(_PATIENCE_S):
            raise RecordingError(tr("{host} does not answer", host=self._connection.place.title))
        self.check()

    def close(self) -> None:
        """Stop watching."""
        self._over.set()
        self._thread.join()

    def _copy(self) -> None:
        mirror = Mirror(
            self.spool, self.spool.with_suffix(".h5"), self._connection.place.title, most_bytes=_MOST_BYTES
        )
        try:
            while not (self._over.is_set() or self.has_ended):
                for kind, body in self._connection.following():
                    if kind in {FrameType.WHOLE, FrameType.PAGE, FrameType.CHUNK, FrameType.BYTES}:
                        mirror.apply(kind, body)
                    elif kind is FrameType.COMPLETE:
                        mirror.complete(values_of(body).get("sizes"))
                        self.has_ended = True
                if (self.spool / SESSION_FILE).exists():
                    self._has_session.set()
                self._connection.flush()
                self._connection.wait(0.2)
        except (WarplineError, FrameError, OSError, Cancelled) as error:
            self._error = error
        finally:
            mirror.close()
            self._has_session.set()


@contextlib.contextmanager
def watching(place: FarMachine, recording: str | None) -> Iterator[SpoolCopy]:
    """In this context a recording of another machine is copied here; ``recording`` as in `find_recording`.

    Raises RecordingError when nothing is recorded there.
    """
    connection = Connection(place, {"action": "watch", "recording": recording})
    with contextlib.ExitStack() as stack:
        stack.callback(connection.close)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="warpline-watch-")))
        spool = folder / "run.spool"
        spool.mkdir(mode=0o700)
        watched = SpoolCopy(connection, spool)
        stack.callback(watched.close)
        watched.wait()
        yield watched
