"""Somebody who does everything in a window that can be done with a capture, by events alone; and what goes wrong."""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from PySide6.QtCore import (
    QCoreApplication,
    QEvent,
    QEventLoop,
    QPoint,
    QPointF,
    Qt,
    QTimer,
    QtMsgType,
    qInstallMessageHandler,
)
from PySide6.QtGui import QKeyEvent, QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QApplication, QDialog, QInputDialog, QWidget

from warpline.model.errors import WarplineError
from warpline_app.comparison.page import ComparisonPage
from warpline_app.open.activity import Activity
from warpline_app.open.background import Job, wait_for_jobs
from warpline_app.open.document import Document
from warpline_app.open.opening import OpenProblem
from warpline_app.panels.frame.base import Panel
from warpline_app.panels.frame.floating import FloatingPanel
from warpline_app.panels.frame.registry import all_panels
from warpline_app.window.main_window import MainWindow

_KEY_NAMES = (
    "W S A D F Left Right Up Down Home End Period Comma BracketLeft BracketRight Escape PageDown PageUp "
    "Tab M Return Plus Minus R Z L C J K Space P"
)
KEYS = [getattr(Qt.Key, f"Key_{name}") for name in _KEY_NAMES.split(" ")]
TURNS = (-480, -120, 120, 480, 1200)
_NEVER = (
    *(
        "file.open",
        "file.open_job",
        "file.open_job_files",
        "file.join_ranks",
        "file.new_capture",
        "file.attach",
        "help.doctor",
    ),
    *("file.record_demo", "file.record_again", "file.new_window", "file.close", "file.quit"),
)
"""Commands that do not look at a capture, or would run a program, or end the window."""
_PLATFORM = ("does not support", "depends on a UTF-8 locale")
"""What Qt says of the machine and not of us."""
_EXPECTED = (WarplineError, OSError, MemoryError)
PATIENCE_S = 60.0
_LOOK_MS = 10


class Surprises:
    """What no user should see: exceptions that nobody caught or that work beside the window ended with, words of Qt."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def add(self, text: str) -> None:
        """One of them."""
        self.texts.append(text)


@contextmanager
def surprises() -> Iterator[Surprises]:
    """Those that happen inside."""
    found = Surprises()
    former_hook, former_run = sys.excepthook, Job.run

    def told(kind: type[BaseException], error: BaseException, trace: object) -> None:
        del kind, trace
        found.add("".join(traceback.format_exception(error)))

    def said(kind: QtMsgType, _context: object, text: str) -> None:
        if kind != QtMsgType.QtDebugMsg and not any(words in text for words in _PLATFORM):
            found.add(f"Qt: {text}")

    def run(job: Job) -> None:
        work = job._work

        def watched(*args: object) -> object:
            try:
                return work(*args)  # type: ignore[arg-type]
            except _EXPECTED:
                raise
            except Exception as error:
                found.add("".join(traceback.format_exception(error)))
                raise

        job._work = watched
        former_run(job)

    sys.excepthook, Job.run = told, run  # type: ignore[assignment, method-assign]
    former_said = qInstallMessageHandler(said)
    try:
        yield found
    finally:
        sys.excepthook, Job.run = former_hook, former_run  # type: ignore[method-assign]
        qInstallMessageHandler(former_said)


def until(condition: Callable[[], bool], patience_s: float = PATIENCE_S) -> bool:
    """Let the window work until something is so; False when that takes too long.

    Five times as long where others keep this process from working.
    """
    begun, used = time.monotonic(), time.process_time()
    look = QTimer()
    look.start(_LOOK_MS)
    # Without a limit of time: with one Qt would not wait but ask all the time, and hold up the threads it waits for.
    while not condition():
        waited_s = time.monotonic() - begun
        is_held_up = time.process_time() - used < patience_s / 2
        if waited_s > (5 if is_held_up else 1) * patience_s:
            return False
        QCoreApplication.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents)
    return True


class RandomUser:
    """Uses one window. What is done is the same for the same seed."""

    def __init__(self, window: MainWindow, seed: int = 17) -> None:
        self.window = window
        self.random = Random(seed)
        # Some questions are asked in a loop of their own, which nothing else would end.
        self._answers = QTimer(window)
        self._answers.setInterval(_LOOK_MS)
        self._answers.timeout.connect(self.close_dialogs)
        self._answers.start()

    def open(self, path: Path) -> OpenProblem | None:
        """Open a file or a folder of ranks, and wait until it is seen.

        Returns why it cannot be opened, None when it can. Raises TimeoutError.
        """
        return self._opened(lambda: self.window.workspace.open_file(path), path)

    def compare(self, a: Path, b: Path) -> OpenProblem | None:
        """Likewise two captures side by side."""
        return self._opened(lambda: self.window.workspace.compare(a, b), b)

    def _opened(self, begin: Callable[[], object], path: Path) -> OpenProblem | None:
        outcome: list[object] = []
        workspace = self.window.workspace

        def came(*what: object) -> None:
            outcome.append(what[-1])

        signals = (workspace.document_opened, workspace.item_replaced, workspace.open_failed)
        for signal in signals:
            signal.connect(came)
        try:
            begin()
            if not until(lambda: any(not isinstance(what, Activity) for what in outcome)):
                raise TimeoutError(f"{path} is still being opened")
        finally:
            for signal in signals:
                signal.disconnect(came)
        problems = [what for what in outcome if isinstance(what, OpenProblem)]
        if problems:
            return problems[0]
        self.settle()
        return None

    def settle(self) -> None:
        """Wait until nothing is drawn or computed any more. Raises TimeoutError."""

        def is_settled() -> bool:
            page = self.window.tabs.timeline_page
            if page is None:
                return True
            return (
                page.is_idle
                if isinstance(page, ComparisonPage)
                else page.view.is_idle and self.window.panels.is_settled
            )

        if not until(is_settled):
            raise TimeoutError(f"the window is still at work: {self._at_work()}")

    def _at_work(self) -> str:
        """What of the tab in front has not settled."""
        page = self.window.tabs.timeline_page
        if isinstance(page, ComparisonPage) or page is None:
            return "the comparison"
        view = page.view
        parts = {
            "canvas": not view.canvas.is_settled,
            "work": view.work.is_busy,
            "search": view.search.is_running,
            "indexing": bool(view.scene.indexing),
            "path": view.path.is_busy,
        }
        for panel in page.window().findChildren(Panel):
            if panel.isVisible() and not panel.is_settled:
                parts[f"{type(panel).__name__} ({'busy' if panel.is_busy else 'stale'})"] = True
        return ", ".join(name for name, is_so in parts.items() if is_so) or "a panel that is not there"

    def move_about(self, steps: int) -> None:
        """Keys, wheel, clicks, drags over the timeline in front."""
        for _ in range(steps):
            navigator = self.window.navigator
            if navigator is None:
                return
            canvas, what = navigator.view.canvas, self.random.random()
            at = self._place(canvas)
            if what < 0.45:
                self._key(navigator.view, self.random.choice(KEYS))
            elif what < 0.65:
                self._turn(canvas, at)
            elif what < 0.85:
                self._press(canvas, at, at)
            else:
                self._press(canvas, at, QPointF(self._place(canvas).x(), at.y()))
            QApplication.processEvents()
        self.window.grab()

    def touch(self, steps: int) -> None:
        """Clicks, drags, wheel and keys on anything that is seen on the tab in front."""
        for _ in range(steps):
            page = self.window.tabs.currentWidget()
            if self.window.workspace.front is None or page is None:
                return
            seen = [widget for widget in page.findChildren(QWidget) if widget.isVisible()]
            target, what = self.random.choice([page, *seen]), self.random.random()
            at = self._place(target)
            if what < 0.3:
                self._key(target, self.random.choice(KEYS))
            elif what < 0.5:
                self._turn(target, at)
            else:
                self._press(target, at, at if what < 0.8 else self._place(target))
            QApplication.processEvents()
        self.window.grab()

    def show_panels(self, ids: Iterable[str] | None = None) -> None:
        """Each panel, or these, in front once, until it shows what there is."""
        for panel_id in ids or [spec.id for spec in all_panels()]:
            self.window.panels.show_panel(panel_id)
            self.settle()
            panel = self.window.panels.panel(panel_id)
            if panel is not None:
                panel.grab()

    def run_commands(self, share: float = 1.0) -> None:
        """All that can be asked for, or a share of it; dialogs are looked at and closed."""
        runner = self.window.commands
        for command_id in list(runner.commands):
            if command_id in _NEVER or command_id.startswith("theme.") or self.random.random() >= share:
                continue
            if runner.is_enabled(command_id):
                runner.run(command_id)
            QApplication.processEvents()
            self.close_dialogs()
        if self.window.is_full_screen:
            runner.run("view.full_screen")
        runner.run("view.clear")
        self.settle()

    def close_dialogs(self) -> None:
        """Look at every dialog and popup that is seen, and take it away; questions for a text get one now and then."""
        for widget in QApplication.topLevelWidgets():
            if not widget.isVisible() or isinstance(widget, MainWindow | FloatingPanel):
                continue
            widget.grab()
            if isinstance(widget, QInputDialog) and self.random.random() < 0.5:
                widget.setTextValue("e")
                widget.accept()
            elif isinstance(widget, QDialog):
                widget.reject()
            else:
                widget.close()

    def use_everything(self, steps: int = 40, commands: float = 1.0) -> None:
        """What there is to be done with what is in front: a capture, two, or a job. Raises TimeoutError."""
        front = self.window.workspace.front
        if isinstance(front, Document):
            self.move_about(steps)
            self.show_panels()
        else:
            self.settle()
            self.move_about(steps // 2)
            self.touch(steps)
        self.run_commands(commands)
        self.move_about(steps // 2)
        self.settle()

    def leave(self) -> None:
        """Close everything, and do nothing any more."""
        self._answers.stop()
        self.close_all()

    def close_all(self) -> None:
        """Close what is open, and let it be collected."""
        workspace = self.window.workspace
        for item in workspace.items:
            workspace.close(item)
        wait_for_jobs()
        for _round in range(3):
            QCoreApplication.processEvents()
            QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        workspace.messages.clear()

    # -- events

    def _place(self, canvas: QWidget) -> QPointF:
        return QPointF(
            self.random.randrange(max(1, canvas.width())), self.random.randrange(max(1, canvas.height()))
        )

    def _key(self, target: QWidget, key: Qt.Key) -> None:
        for kind in (QEvent.Type.KeyPress, QEvent.Type.KeyRelease):
            QApplication.postEvent(target, QKeyEvent(kind, key, Qt.KeyboardModifier.NoModifier, ""))

    def _turn(self, canvas: QWidget, at: QPointF) -> None:
        modifiers = Qt.KeyboardModifier
        modifier = self.random.choice(
            [modifiers.NoModifier, modifiers.ControlModifier, modifiers.ShiftModifier]
        )
        turn = QPoint(0, self.random.choice(TURNS))
        wheel = QWheelEvent(
            at, canvas.mapToGlobal(at), QPoint(0, 0), turn, Qt.MouseButton.NoButton, modifier,
            Qt.ScrollPhase.NoScrollPhase, False,
        )  # fmt: skip
        QApplication.postEvent(canvas, wheel)

    def _press(self, canvas: QWidget, at: QPointF, to: QPointF) -> None:
        left, none = Qt.MouseButton.LeftButton, Qt.MouseButton.NoButton
        parts = [
            (QEvent.Type.MouseMove, at, none, none),
            (QEvent.Type.MouseButtonPress, at, left, left),
            (QEvent.Type.MouseMove, to, none, left),
            (QEvent.Type.MouseButtonRelease, to, left, none),
        ]
        for kind, where, button, held in parts:
            event = QMouseEvent(
                kind, where, canvas.mapToGlobal(where), button, held, Qt.KeyboardModifier.NoModifier
            )
            QApplication.postEvent(canvas, event)
