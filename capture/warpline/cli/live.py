"""``warpline live``: watch a recording that runs, in the window."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from warpline.i18n import english, tr
from warpline.model.errors import RecordingError


@dataclass(frozen=True)
class LiveCommand:
    """Opens the window on a recording that was started elsewhere."""

    name: str = "live"
    help: str = english("watch a running recording in the window")

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "recording",
            nargs="?",
            metavar="PID|SPOOL",
            help=tr(
                "process id of the program or the recorder, the capture or its spool directory (default: "
                "the only running recording)"
            ),
        )

    def run(self, args: argparse.Namespace) -> int:
        """Return when the last window is closed."""
        from warpline.cli.registry import load
        from warpline.recording.control import SOCKET_FILE, find_recording

        spool = find_recording(args.recording)
        if not (spool / SOCKET_FILE).exists():
            raise RecordingError(f"{spool}: nothing is recording there")
        # The application registers the command that opens the window.
        return load("view").run(argparse.Namespace(files=[str(spool)]))


command = LiveCommand()
