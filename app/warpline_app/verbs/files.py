"""Commands that open, record, write and close captures."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtGui import QGuiApplication

from warpline.i18n import tr
from warpline_app.commands.command import A_CAPTURE, Need, WindowCommand
from warpline_app.commands.context import CommandContext


def _open(context: CommandContext) -> None:
    from warpline_app.dialogs.open_files import show_open_files

    show_open_files(context.workspace, context.shell.widget)


def _open_location(context: CommandContext) -> None:
    from warpline_app.dialogs.open_location import show_open_location

    show_open_location(context.workspace, context.shell.widget)


def _new_capture(context: CommandContext) -> None:
    from warpline_app.dialogs.new_capture import show_new_capture

    show_new_capture(context.workspace, context.shell.widget)


def _attach(context: CommandContext) -> None:
    from warpline_app.dialogs.attach import show_attach

    show_attach(context.workspace, context.shell.widget)


def shows_errors(action: Callable[[CommandContext], None]) -> Callable[[CommandContext], None]:
    """The action, with its errors shown as messages in the window."""

    def run(context: CommandContext) -> None:
        from warpline.model.errors import WarplineError

        try:
            action(context)
        except WarplineError as error:
            context.workspace.messages.show(str(error), "error")

    return run


@shows_errors
def record_demo(context: CommandContext) -> None:
    """Record the bundled example and open the capture."""
    from warpline_app.recording.example import record_example

    record_example(context.workspace)


def _join_ranks(context: CommandContext) -> None:
    from warpline_app.dialogs.join_ranks import show_join_ranks

    show_join_ranks(context.workspace, context.shell.widget)


@shows_errors
def _record_again(context: CommandContext) -> None:
    from warpline_app.recording.again import record_again

    if context.workspace.current is not None:
        record_again(context.workspace, context.workspace.current)


def _can_record_again(context: CommandContext) -> bool:
    document = context.workspace.current
    if document is None:
        return False
    from warpline_app.recording.again import can_record_again

    return can_record_again(document)


A_RECORDED_COMMAND = Need(_can_record_again, "This capture has no command to record again")


def _is_finished(context: CommandContext) -> bool:
    document = context.workspace.current
    return document is None or document.live_edge is None


A_FINISHED_CAPTURE = Need(
    _is_finished, "The recording still runs; stop it first, or keep its last 30 s and export these"
)


def _export(context: CommandContext) -> None:
    from warpline_app.dialogs.export import show_export

    if context.navigator is not None:
        show_export(context.workspace, context.navigator.view, context.shell.widget)


def _copy_picture(context: CommandContext) -> None:
    if context.navigator is not None:
        picture = context.navigator.view.picture()
        QGuiApplication.clipboard().setImage(picture)
        size = {"width": picture.width(), "height": picture.height()}
        context.workspace.tell(tr("Copied the timeline as a {width} × {height} picture", **size))


def _close_tab(context: CommandContext) -> None:
    if context.workspace.front is not None:
        context.workspace.close(context.workspace.front)
    else:
        context.shell.close_window()


FILE_COMMANDS: tuple[WindowCommand, ...] = (
    WindowCommand(
        "file.open", "Open…", "File", _open, ("Ctrl+O",), hint="Open captures or traces from other profilers"
    ),
    WindowCommand(
        "file.open_location",
        "Open location…",
        "File",
        _open_location,
        hint="Open a capture that lies on another machine, over ssh",
        words="remote ssh host server url",
    ),
    WindowCommand(
        "file.join_ranks",
        "Merge rank traces…",
        "File",
        _join_ranks,
        hint="Merge the traces of a job's processes into one capture on one timeline",
    ),
    WindowCommand(
        "file.new_capture",
        "New capture…",
        "File",
        _new_capture,
        ("Ctrl+N",),
        hint="Run a program and record it",
    ),
    WindowCommand(
        "file.attach",
        "Attach…",
        "File",
        _attach,
        hint="Record a program that is already running",
        words="process pid running program",
    ),
    WindowCommand(
        "file.record_demo",
        "Record demo",
        "File",
        record_demo,
        hint="Record a small example program that waits in many ways, and open the result",
        words="example sample try",
    ),
    WindowCommand(
        "file.record_again",
        "Record again",
        "File",
        _record_again,
        ("Ctrl+R",),
        needs=(A_CAPTURE, A_RECORDED_COMMAND),
        hint="Run this capture's command again with the same settings, and compare",
    ),
    WindowCommand(
        "file.export",
        "Export…",
        "File",
        _export,
        ("Ctrl+E",),
        needs=(A_CAPTURE, A_FINISHED_CAPTURE),
        group="export",
        hint="Write the capture or a part of it in another format",
        words="save as picture screenshot image page csv part",
    ),
    WindowCommand(
        "file.copy_picture",
        "Copy timeline as picture",
        "File",
        _copy_picture,
        ("Ctrl+Alt+C",),
        needs=(A_CAPTURE,),
        group="export",
        hint="Copy the visible timeline to the clipboard as a picture",
        words="screenshot image clipboard",
    ),
    WindowCommand(
        "file.new_window",
        "New window",
        "File",
        lambda context: context.shell.open_window(),
        ("Ctrl+Shift+N",),
        group="window",
    ),
    WindowCommand("file.close", "Close tab", "File", _close_tab, ("Ctrl+W",), group="window"),
    WindowCommand(
        "file.quit",
        "Quit",
        "File",
        lambda context: context.shell.close_all_windows(),
        ("Ctrl+Q",),
        group="quit",
    ),
)
