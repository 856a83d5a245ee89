"""What is opened, recorded, written and closed."""

from __future__ import annotations

from PySide6.QtGui import QGuiApplication

from warpline.i18n import tr
from warpline_app.commands.command import A_CAPTURE, Need, WindowCommand
from warpline_app.commands.context import CommandContext


def _open(context: CommandContext) -> None:
    from warpline_app.dialogs.open_files import show_open_files

    show_open_files(context.workspace, context.shell.widget)


def _new_capture(context: CommandContext) -> None:
    from warpline_app.dialogs.new_capture import show_new_capture

    show_new_capture(context.workspace, context.shell.widget)


def _record_demo(context: CommandContext) -> None:
    from warpline.model.errors import WarplineError
    from warpline_app.recording.example import record_example

    try:
        record_example(context.workspace)
    except WarplineError as error:
        context.workspace.messages.show(str(error), "error")


def _join_ranks(context: CommandContext) -> None:
    from warpline_app.dialogs.join_ranks import show_join_ranks

    show_join_ranks(context.workspace, context.shell.widget)


def _record_again(context: CommandContext) -> None:
    from warpline.model.errors import WarplineError
    from warpline_app.recording.again import record_again

    document = context.workspace.current
    if document is None:
        return
    try:
        record_again(context.workspace, document)
    except WarplineError as error:
        context.workspace.messages.show(str(error), "error")


def _was_recorded_here(context: CommandContext) -> bool:
    document = context.workspace.current
    if document is None:
        return False
    from warpline_app.recording.again import can_record_again

    return can_record_again(document)


A_RECORDING_OF_OURS = Need(_was_recorded_here, "This capture does not tell how to record it again")


def _export(context: CommandContext) -> None:
    from warpline_app.dialogs.export import show_export

    if context.navigator is not None:
        show_export(context.workspace, context.navigator.view, context.shell.widget)


def _copy_picture(context: CommandContext) -> None:
    if context.navigator is not None:
        picture = context.navigator.view.picture()
        QGuiApplication.clipboard().setImage(picture)
        size = {"width": picture.width(), "height": picture.height()}
        context.workspace.tell(tr("Copied: the timeline as a picture of {width} × {height} pixels", **size))


def _new_window(context: CommandContext) -> None:
    context.shell.open_window()


def _close_tab(context: CommandContext) -> None:
    if context.workspace.front is not None:
        context.workspace.close(context.workspace.front)
    else:
        context.shell.close_window()


def _quit(context: CommandContext) -> None:
    context.shell.close_all_windows()


FILE_COMMANDS: tuple[WindowCommand, ...] = (
    WindowCommand(
        "file.open", "Open…", "File", _open, ("Ctrl+O",), hint="Open captures or traces of other profilers"
    ),
    WindowCommand(
        "file.join_ranks",
        "Merge Traces of Several Ranks…",
        "File",
        _join_ranks,
        hint="Make one capture, on one timeline, of the traces that each process of a job wrote",
    ),
    WindowCommand(
        "file.new_capture",
        "New Capture…",
        "File",
        _new_capture,
        ("Ctrl+N",),
        hint="Run a program and record what it does",
    ),
    WindowCommand(
        "file.record_demo",
        "Record the Demo",
        "File",
        _record_demo,
        hint="Record a small program that waits in many ways, and look at it",
    ),
    WindowCommand(
        "file.record_again",
        "Record Again",
        "File",
        _record_again,
        ("Ctrl+R",),
        needs=(A_CAPTURE, A_RECORDING_OF_OURS),
        hint="Run the command of this capture anew, with the same settings, and compare",
    ),
    WindowCommand(
        "file.export",
        "Export…",
        "File",
        _export,
        ("Ctrl+E",),
        needs=(A_CAPTURE,),
        group="export",
        hint="Write the capture, or a part of it, in another format",
    ),
    WindowCommand(
        "file.copy_picture",
        "Copy Picture",
        "File",
        _copy_picture,
        ("Ctrl+Alt+C",),
        needs=(A_CAPTURE,),
        group="export",
        hint="Put the timeline, as it stands, into the clipboard as a picture",
    ),
    WindowCommand("file.new_window", "New Window", "File", _new_window, ("Ctrl+Shift+N",), group="window"),
    WindowCommand("file.close", "Close Tab", "File", _close_tab, ("Ctrl+W",), group="window"),
    WindowCommand("file.quit", "Quit", "File", _quit, ("Ctrl+Q",), group="quit"),
)
