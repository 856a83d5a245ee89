"""``warpline view``: opens the window; the default when files are given without a command."""

from __future__ import annotations

import argparse
from pathlib import Path

from warpline.i18n import english, tr


class ViewCommand:
    """Opens captures and other profilers' traces in the window."""

    name = "view"

    help: str = english("open captures in the window")

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the files; without any, the window shows the start page."""
        parser.add_argument(
            "files", nargs="*", metavar="FILE", type=Path, help=tr("a capture, or another profiler's trace")
        )

    def run(self, args: argparse.Namespace) -> int:
        """Return when the last window is closed."""
        from warpline_app.window.run_window import run_window

        return run_window(args.files)


command = ViewCommand()
