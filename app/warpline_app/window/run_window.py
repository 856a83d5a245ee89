"""Starts the window."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from warpline.i18n import tr
from warpline.library.opening import SPOOL_SUFFIX
from warpline.lone_numpy import load_numpy
from warpline.model.errors import RecordingError, UsageError
from warpline.platform.system_packages import require_x11_libraries
from warpline.platform.systems import can_open_windows
from warpline_app.window.quick_start import imports_uncollected, spare_sources

if TYPE_CHECKING:
    from warpline_app.open.workspace import Workspace


def _load_reader() -> None:
    """Import what opening a capture needs before Qt: PySide scans the source of every module imported after it."""
    with contextlib.suppress(ImportError):  # reported in one line when a file is opened
        load_numpy()
        import warpline.storage  # noqa: F401  # imported for its side effect


def tell_failures() -> None:
    """Show uncaught exceptions in the front window, besides the traceback on stderr."""
    former = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        former(kind, error, trace)
        from warpline_app.open.opening import problem_of
        from warpline_app.window.main_window import open_windows

        windows = open_windows()
        if not windows or not isinstance(error, Exception):
            return
        window = next((window for window in windows if window.isActiveWindow()), windows[-1])
        document = window.workspace.current
        problem = problem_of(document.source if document is not None else Path("Warpline"), error)
        window.workspace.messages.show(problem.text, "error", problem.details)

    sys.excepthook = hook


def open_handed_file(path: str) -> None:
    """Opens a file that the desktop handed to the running program, in the active window."""
    from warpline_app.window.main_window import open_windows

    if windows := open_windows():
        window = next((window for window in windows if window.isActiveWindow()), windows[-1])
        window.workspace.open_files([Path(path)])


def open_or_watch(workspace: Workspace, path: Path) -> None:
    """Open a file; watch a recording that runs, which its spool directory stands for."""
    if path.suffix == SPOOL_SUFFIX and path.is_dir():
        # Imported only for recordings.
        from warpline.recording.control import is_recording
        from warpline_app.recording.watched_recording import WatchedRecording

        if is_recording(path):
            try:
                workspace.begin(WatchedRecording(path.absolute(), workspace), has_tab=True)
            except RecordingError as error:
                workspace.messages.show(str(error))
            return
    workspace.open_file(path)


def run_window(paths: Sequence[Path | str]) -> int:
    """Open the window on these files or locations (``ssh://``) and run until it closes; returns the exit status.

    Raises UsageError when there is no display.
    """
    if not can_open_windows():
        raise UsageError(
            tr(
                "no display to open a window; draw a picture with: warpline render FILE -o OUT.png, "
                "print reports with: warpline stats FILE, or connect with: ssh -X"
            )
        )
    require_x11_libraries()
    with imports_uncollected():
        _load_reader()
        spare_sources()
        from warpline_app.look.appearance import appearance
        from warpline_app.look.application import Application, make_application
        from warpline_app.look.collecting import CycleCollector
        from warpline_app.look.files_there import is_there
        from warpline_app.remembered.settings import Settings
        from warpline_app.window import main_window

    settings = Settings()
    application = make_application(settings.theme, settings.language, is_themed=False)
    CycleCollector(application)
    # Ctrl-C in the terminal ends the window at once: Qt's event loop would not run Python's handler.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    window = main_window.MainWindow(settings)
    appearance().choose(settings.theme)
    tell_failures()
    # Before the window is shown: otherwise it would first draw the start page with its pictures.
    files: Sequence[Path | str] = paths or (settings.open_files if settings.restore_session else [])
    for path in files:
        if isinstance(path, str):
            window.workspace.open_location(path)
        elif paths or is_there(path):
            open_or_watch(window.workspace, path)
    window.show()
    if isinstance(application, Application):
        application.file_opened.connect(open_handed_file)
    return application.exec()
