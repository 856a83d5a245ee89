"""``warpline view``: opens the window; the default when files are given without a command."""

from __future__ import annotations

import argparse
import sys
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

        return run_window([_here(name) for name in args.files])


def _here(name: str) -> Path:
    """The file itself, or a copy of one on another machine."""
    if not name.startswith("ssh://"):
        return Path(name)
    from warpline.recording.remote.near.remote_files import fetch_location

    def tell(arrived: int, size: int) -> None:
        if sys.stderr is not None and sys.stderr.isatty():
            print(f"\r{name}: {arrived * 100 // max(size, 1)} % ", end="", file=sys.stderr, flush=True)

    copy = fetch_location(name, tell)
    if sys.stderr is not None and sys.stderr.isatty():
        print("\r", end="", file=sys.stderr)
    return copy


command = ViewCommand()
