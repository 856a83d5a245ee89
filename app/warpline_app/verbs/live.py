"""Commands on a recording that runs: follow its end, pause it, keep its last seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpline_app.commands.command import A_CAPTURE, Need, WindowCommand
from warpline_app.commands.context import CommandContext
from warpline_app.open.live_document import LiveDocument

if TYPE_CHECKING:
    from warpline_app.recording.recording import Recording

KEPT_NS = 30_000_000_000


def _document(context: CommandContext) -> LiveDocument | None:
    document = context.workspace.current
    return document if isinstance(document, LiveDocument) and document.is_live else None


def _recording(context: CommandContext) -> Recording | None:
    # Imported only while something is recorded.
    if context.workspace.front not in context.workspace.activities:
        return None
    from warpline_app.recording.recording import Recording

    front = context.workspace.front
    return front if isinstance(front, Recording) and front.is_running else None


def _toggle_follow(context: CommandContext) -> None:
    document = _document(context)
    if document is not None:
        document.set_follows(not document.follows)


def _follows(context: CommandContext) -> bool:
    document = _document(context)
    return document is not None and document.follows


def _toggle_pause(context: CommandContext) -> None:
    recording = _recording(context)
    if recording is not None:
        recording.toggle_pause()


def _keep_last(context: CommandContext) -> None:
    recording = _recording(context)
    if recording is not None:
        recording.keep_last(KEPT_NS)


A_LIVE_TIMELINE = Need(lambda context: _document(context) is not None, "No recording is shown while it runs")
A_RECORDING = Need(lambda context: _recording(context) is not None, "Nothing is being recorded in this tab")

LIVE_COMMANDS: tuple[WindowCommand, ...] = (
    WindowCommand(
        "view.follow",
        "Follow recording",
        "View",
        _toggle_follow,
        ("E",),
        needs=(A_CAPTURE, A_LIVE_TIMELINE),
        checked=_follows,
        group="live",
        hint="Keep the end of a running recording in view, or let the view stay",
        words="live tail",
    ),
    WindowCommand(
        "file.pause_recording",
        "Pause or resume recording",
        "File",
        _toggle_pause,
        needs=(A_CAPTURE, A_RECORDING),
        group="live",
        in_menu=False,
    ),
    WindowCommand(
        "file.keep_last",
        "Keep last 30 s of recording",
        "File",
        _keep_last,
        needs=(A_CAPTURE, A_RECORDING, A_LIVE_TIMELINE),
        group="live",
        in_menu=False,
        hint="Save the last 30 seconds as a capture of their own; the recording continues",
    ),
)
