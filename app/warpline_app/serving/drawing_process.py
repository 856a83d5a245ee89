"""The other end of the process that draws for pages: starts it, asks it, starts it again when it was killed."""

from __future__ import annotations

import contextlib
import json
import queue
import signal
import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from warpline.i18n import tr
from warpline.model.errors import WarplineError
from warpline.own_python import own_python

MODULE = "warpline_app.serving.drawing"
_PATIENCE_S = 10.0
ANSWER_S = 60.0


class LateAnswer(WarplineError):
    """There was no answer within `ANSWER_S`; who asks again gets it when it is known."""


@dataclass(frozen=True)
class DrawnAnswer:
    """The values of an answer, and the bytes that came with it."""

    values: dict[str, Any]
    body: bytes


class DrawingProcess:
    """A process for one file or recording. Any thread may ask; answers come in any order.

    ``news`` is called with every message that answers nothing, in a thread of this object.
    """

    def __init__(
        self, arguments: list[str], news: Callable[[dict[str, Any]], None] = lambda _values: None
    ) -> None:
        self._arguments = arguments
        self._news = news
        self._lock = threading.Lock()
        self._waiting: dict[int, Future[DrawnAnswer]] = {}
        self._number = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._reader: threading.Thread | None = None
        self._is_over = False
        self._told: dict[str, dict[str, Any]] = {}
        """What a process that is started again has to be told, too."""
        self.title = ""

    @property
    def pid(self) -> int:
        """The process id; 0 while there is none."""
        return self._process.pid if self._process is not None else 0

    @property
    def has_ended(self) -> bool:
        """Whether the process is gone; the next question starts another one."""
        return self._process is None or self._process.poll() is not None

    def begin(self) -> None:
        """Start the process and wait until its file is open. Raises WarplineError when it cannot be opened."""
        with self._lock:
            process, first = self._start()
        try:
            # However long that takes: a trace of another profiler is converted before it is shown.
            values = first.get()
        except BaseException:
            # Ctrl-C while a trace is converted: it removes what it has written so far.
            with contextlib.suppress(OSError, ValueError):  # on Windows, it got the Ctrl-C itself
                process.send_signal(signal.SIGINT)
            self._end()
            raise
        if "title" not in values:
            self._end()
            raise WarplineError(str(values.get("failed") or tr("the process that draws has ended")))
        self.title = str(values["title"])

    def _start(self) -> tuple[subprocess.Popen[bytes], queue.SimpleQueue[dict[str, Any]]]:
        """A process, and what gets its first words; it is not waited for: it answers once its file is open."""
        try:
            process = self._process = subprocess.Popen(
                [*own_python(MODULE), *self._arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                # Ctrl-C in the terminal is for us: this process ends with its input.
                start_new_session=True,
            )
        except OSError as error:
            raise WarplineError(str(error.strerror or error)) from error
        first: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, args=(process, first), daemon=True)
        self._reader.start()
        for what in self._told:
            self._pass_on(what)
        return process, first

    def ask(self, what: str, **values: Any) -> DrawnAnswer:
        """Ask, and wait for the answer. Raises WarplineError when there is none."""
        answer: Future[DrawnAnswer] = Future()
        with self._lock:
            if self._is_over:
                raise WarplineError(tr("the process that draws has ended"))
            if self.has_ended:
                self._end()
                self._start()
            process = self._process
            assert process is not None
            assert process.stdin is not None
            self._number += 1
            number = self._number
            self._waiting[number] = answer
            try:
                process.stdin.write(json.dumps({"id": number, "what": what, **values}).encode() + b"\n")
                process.stdin.flush()
            except OSError as error:
                self._waiting.pop(number, None)
                raise WarplineError(tr("the process that draws has ended")) from error
        try:
            result = answer.result(ANSWER_S)
        except TimeoutError as error:
            raise LateAnswer(tr("there is no answer yet after a minute")) from error
        finally:
            self._waiting.pop(number, None)
        if "failed" in result.values:
            raise WarplineError(str(result.values["failed"]))
        return result

    def tell(self, what: str, **values: Any) -> None:
        """Tell something that has no answer and stays true until the next of its kind."""
        with self._lock:
            self._told[what] = values
            if not self.has_ended:
                self._pass_on(what)

    def _pass_on(self, what: str) -> None:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        with contextlib.suppress(OSError):
            process.stdin.write(json.dumps({"id": 0, "what": what, **self._told[what]}).encode() + b"\n")
            process.stdin.flush()

    def _read(self, process: subprocess.Popen[bytes], first: queue.SimpleQueue[dict[str, Any]]) -> None:
        assert process.stdout is not None
        reason = tr("the process that draws has ended")
        with contextlib.suppress(OSError, ValueError, KeyError):
            values = json.loads(process.stdout.readline() or b"{}")
            reason = str(values.get("failed") or reason)
            first.put(values)
            for line in process.stdout:
                values = json.loads(line)
                body = process.stdout.read(int(values.pop("bytes")))
                number = values.pop("id", None)
                if number is None:
                    self._news(values)
                elif (waiting := self._waiting.get(number)) is not None:
                    waiting.set_result(DrawnAnswer(values, body))
        first.put({})
        for waiting in list(self._waiting.values()):
            with contextlib.suppress(Exception):  # it was answered meanwhile
                waiting.set_exception(WarplineError(reason))

    def end(self) -> None:
        """End the process. Questions that wait get an error."""
        self._is_over = True
        self._end()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(OSError):
            assert process.stdin is not None
            process.stdin.close()
        try:
            process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if self._reader is not None:
            self._reader.join(_PATIENCE_S)
        if process.stdout is not None:
            process.stdout.close()
