"""The process that draws for pages: `warpline serve` starts it, asks it by standard input, and it ends with that.

Questions are lines of JSON with an ``id``. An answer is a line of JSON with the same ``id`` and the number of ``bytes``
that follow it. Lines without an ``id`` are news. The first line says that the capture is open, or why it is not.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from PySide6.QtCore import QObject, Qt, QTimer, Signal

from warpline.model.errors import WarplineError
from warpline_app.open.document import Document
from warpline_app.serving.findings import PageFindings
from warpline_app.serving.live_feed import LiveFeed
from warpline_app.serving.shown_timeline import ShownTimeline
from warpline_app.serving.view_request import ViewRequest

if TYPE_CHECKING:
    from PySide6.QtWidgets import QApplication

LOOK_MS = 8
REST_MS = 5_000
"""An exact picture is drawn after so long even if something is still being computed."""


class AnswerStream:
    """Writes answers and news; any thread may."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def write(self, values: dict[str, Any], body: bytes = b"") -> None:
        """Write one message. Nobody may be there any more to read it, which ends the process soon."""
        line = json.dumps({**values, "bytes": len(body)}).encode() + b"\n"
        try:
            with self._lock:
                self._stream.write(line)
                self._stream.write(body)
                self._stream.flush()
        except OSError:
            pass


class Questions(QObject):
    """Reads questions in a thread and passes them to Qt's."""

    arrived = Signal(str)
    ended = Signal()

    def __init__(self, stream: BinaryIO, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._stream = stream

    def begin(self) -> None:
        """Start the thread."""
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self._stream:
            self.arrived.emit(line.decode("utf-8", "replace"))
        self.ended.emit()


class Drawing(QObject):
    """Answers questions about one document."""

    def __init__(
        self,
        document: Document,
        messages: AnswerStream,
        feed: LiveFeed | None = None,
        parent: QObject | None = None,
    ) -> None:
        """``feed`` lets the document grow, if that is of a running recording."""
        super().__init__(parent)
        self.document = document
        self._feed = feed
        self.timeline = ShownTimeline(document)
        self.findings = PageFindings(document, self)
        self._messages = messages
        self._exact: int | None = None
        """The question that waits for an exact picture."""
        self._waited_ms = 0
        self._view: ViewRequest | None = None
        self._looks = QTimer(self)
        self._looks.setInterval(LOOK_MS)
        self._looks.timeout.connect(self._look)
        if feed is not None:
            feed.changed.connect(self._grown)
            feed.failed.connect(lambda reason: self._messages.write({"news": "stopped", "reason": reason}))

    def _grown(self) -> None:
        self.timeline.adopt()
        self.findings.generation = self.timeline.generation
        self._view = None
        live = self.document.live_edge is not None
        self._messages.write({"news": "grown", "generation": self.timeline.generation, "is_live": live})

    def answer(self, line: str) -> None:
        """Answer a question, at once or when there is something to say."""
        question: dict[str, Any] = {}
        try:
            question = json.loads(line)
            self._answer(int(question["id"]), question)
        except Exception as error:  # without an answer, the page would wait for a minute
            self._messages.write({"id": question.get("id"), "failed": str(error) or type(error).__name__})

    def _answer(self, number: int, question: dict[str, Any]) -> None:
        what = question["what"]
        if what in ("frame", "event"):
            self._show(ViewRequest.of_values(question["view"]), is_glance=what == "event")
        if what == "frame" and question["is_exact"]:
            self._exact, self._waited_ms = number, 0
            self._looks.start()
        elif what == "frame":
            measures, picture = self.timeline.picture()
            self._messages.write({"id": number, "frame": measures}, picture)
        elif what == "event":
            found = self.timeline.event_at(float(question["x"]), float(question["y"]))
            self._messages.write({"id": number, "event": found, "generation": self.timeline.generation})
        elif what == "neighbour":
            row = int(question["row"]) if question["generation"] == self.timeline.generation else -1
            found = self.timeline.neighbour(row, 1 if question["direction"] > 0 else -1)
            self._messages.write({"id": number, "event": found, "generation": self.timeline.generation})
        elif what == "watch":
            if self._feed is not None:
                self._feed.set_watched(bool(question["on"]))
        elif what == "findings":
            self.findings.ask(lambda values: self._messages.write({"id": number, **values}))
        else:
            raise ValueError(f"no question {what!r}")

    def _show(self, view: ViewRequest, *, is_glance: bool) -> None:
        """Set the view; a glance at what is shown already disturbs nothing."""
        if is_glance and view == self._view:
            return
        self._give_up()
        self._view = view
        if self._feed is not None:
            self._feed.follows = view.follows
        self.timeline.set_findings(self.findings.findings)
        self.timeline.set_view(view)

    def _give_up(self) -> None:
        """Another view is wanted before the exact picture of the last one is ready."""
        number, self._exact = self._exact, None
        self._looks.stop()
        if number is not None:
            self._messages.write({"id": number, "superseded": True})

    def _look(self) -> None:
        self._waited_ms += LOOK_MS
        if self._exact is None or not (self.timeline.is_idle or self._waited_ms > REST_MS):
            return
        number, self._exact = self._exact, None
        self._looks.stop()
        try:
            measures, picture = self.timeline.picture()
            self._messages.write({"id": number, "frame": measures}, picture)
        except Exception as error:  # the browser gets the reason instead of waiting
            self._messages.write({"id": number, "failed": str(error) or type(error).__name__})

    def close(self) -> None:
        """Stop drawing and close the capture."""
        self._looks.stop()
        self.findings.stop()
        if self._feed is not None:
            self._feed.stop()
        self.timeline.close()
        self.document.close()


def open_file(path: Path) -> Document:
    """The document of a file. Raises WarplineError and OSError."""
    from warpline.library.opening import open_path
    from warpline.model.progress import never
    from warpline.storage.notes_file import notes_of

    opened = open_path(path, lambda _fraction, _text: None, never)
    document = Document(opened.capture, path.name, source=path)
    document.state.set_notes(notes_of(path, opened.capture.uuid))
    return document


def main(path: Path, *, is_live: bool) -> int:
    """Answer questions about a file, or a recording by its spool, until the standard input ends."""
    # What Qt or a library prints must not get between answers.
    messages = AnswerStream(os.fdopen(os.dup(1), "wb"))
    os.dup2(2, 1)
    from warpline.page_guard import enable
    from warpline_app.pictures.rendering import prepare_offscreen

    enable()
    try:
        application: QApplication = prepare_offscreen(1.0)
        feed = LiveFeed(path) if is_live else None
        drawing = Drawing(open_file(path) if feed is None else feed.document, messages, feed)
    except KeyboardInterrupt:
        return 130
    except (WarplineError, OSError) as error:
        messages.write({"failed": " ".join(str(error).split())})
        return 1
    # From here on, the end of the input ends it, after what is being drawn.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    questions = Questions(sys.stdin.buffer)
    questions.arrived.connect(drawing.answer, Qt.ConnectionType.QueuedConnection)
    questions.ended.connect(application.quit, Qt.ConnectionType.QueuedConnection)
    questions.begin()
    messages.write({"title": drawing.document.title})
    status = application.exec()
    drawing.close()
    return status


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[-1]), is_live="--live" in sys.argv[1:-1]))
