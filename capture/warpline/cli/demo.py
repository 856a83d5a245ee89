"""``warpline demo``: record the bundled example and show it."""

from __future__ import annotations

import argparse
import importlib.util
from dataclasses import dataclass
from pathlib import Path

from warpline import resources
from warpline.extras import install_command
from warpline.i18n import english, tr
from warpline.own_python import python_of_programs
from warpline.platform.systems import has_screen

CAPTURE = "demo.h5"
PICTURE = "demo.png"


@dataclass(frozen=True)
class DemoCommand:
    """Records threads that fight for a lock, sleep, read, write and compute; then shows the capture."""

    name: str = "demo"
    help: str = english("record the bundled example")

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "folder",
            nargs="?",
            type=Path,
            default=Path("warpline-demo"),
            metavar="DIR",
            help=tr("where the capture goes (default: warpline-demo)"),
        )
        parser.add_argument(
            "--no-window", action="store_true", help=tr("draw a picture even where a window could open")
        )

    def run(self, args: argparse.Namespace) -> int:
        from warpline.cli.record import summary_line
        from warpline.model.errors import RecordingError
        from warpline.recording.record import record
        from warpline.recording.session import RecordingOptions
        from warpline.recording.sources.registry import default_trace

        folder: Path = args.folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RecordingError(tr("{folder}: {reason}", folder=folder, reason=error.strerror)) from error
        result = record(
            [python_of_programs(), str(resources.path(resources.EXAMPLE))],
            folder / CAPTURE,
            RecordingOptions(trace=default_trace()),
        )
        print(summary_line(result), flush=True)
        if result.path is None or result.exit_status:
            raise RecordingError(tr("the example ended with status {status}", status=result.exit_status))
        return self._show(result.path, folder / PICTURE, picture_only=args.no_window)

    def _show(self, capture: Path, picture: Path, *, picture_only: bool) -> int:
        from warpline.cli import main

        if importlib.util.find_spec("PySide6") is None:
            print(
                tr(
                    "to look at it: {command}, then: warpline {path}",
                    command=install_command("gui"),
                    path=capture.absolute(),
                )
            )
            return 0
        if has_screen() and not picture_only:
            return main(["view", str(capture)])
        status = main(["render", str(capture), "-o", str(picture)])
        if status == 0:
            print(tr("no display here; the picture is {path}", path=picture.absolute()))
        return status


command = DemoCommand()
