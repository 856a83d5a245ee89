"""``warpline serve``: the timeline in a browser on this computer, or on another one over ssh."""

from __future__ import annotations

import argparse
from pathlib import Path

from warpline.i18n import english, tr
from warpline.model.errors import RecordingError, UsageError


def port_number(text: str) -> int:
    """Parse ``--port``."""
    try:
        value = int(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(tr("not a number: {text!r}", text=text)) from error
    if not 0 <= value <= 65_535:
        raise argparse.ArgumentTypeError(tr("a port is between 0 and 65535: {text!r}", text=text))
    return value


class ServeCommand:
    """Shows a capture in browsers that know the printed address, until Ctrl-C."""

    name = "serve"

    help: str = english("show the timeline in a browser, read only")

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the file, and options for the server."""
        parser.add_argument(
            "file",
            nargs="?",
            metavar="FILE",
            help=tr("a capture, or another profiler's trace"),
        )
        parser.add_argument(
            "--live",
            action="store_true",
            help=tr(
                "follow a recording that runs: FILE is its capture, spool directory or a process id"
                " (default: the one recording there is)"
            ),
        )
        parser.add_argument(
            "--port",
            type=port_number,
            default=0,
            metavar="N",
            help=tr("port on 127.0.0.1 (default: any that is free)"),
        )
        parser.add_argument(
            "--no-browser", action="store_true", help=tr("print the address, and open no browser")
        )

    def run(self, args: argparse.Namespace) -> int:
        """Return 0 after Ctrl-C."""
        from warpline.recording.control import is_recording
        from warpline_app.serving.serve import file_arguments, live_arguments, serve

        if args.live or (args.file is not None and is_recording(Path(args.file))):
            spool = running_spool(args.file)
            arguments, name = live_arguments(spool), spool.name.removesuffix(".spool")
        elif args.file is None:
            raise UsageError(tr("which capture? warpline serve FILE, or --live for a recording that runs"))
        else:
            path = Path(args.file)
            if not path.exists():
                raise UsageError(tr("{path}: no such file", path=path))
            arguments, name = file_arguments(path), path.name
        return serve(arguments, name, args.port, opens_browser=not args.no_browser)


def running_spool(which: str | None) -> Path:
    """The spool of a recording that runs (see `find_recording`). Raises RecordingError when nothing is recorded."""
    from warpline.recording.control import find_recording, is_recording

    spool = find_recording(which)
    if not is_recording(spool):
        raise RecordingError(tr("{spool}: nothing is recording there", spool=spool))
    return spool


command = ServeCommand()
