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
            "files",
            nargs="*",
            metavar="FILE",
            help=tr("a capture, or another profiler's trace; ssh://HOST/PATH for one on another machine"),
        )

    def run(self, args: argparse.Namespace) -> int:
        """Return when the last window is closed."""
        from warpline_app.window.run_window import run_window

        return run_window([name if name.startswith("ssh://") else Path(name) for name in args.files])


command = ViewCommand()
