"""``warpline attach``: record a program that is already running."""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpline.cli.limits import long_time_ns
from warpline.cli.record import shortest, status_writer, summary_line
from warpline.cli.recording_options import add_recording_options
from warpline.cli.remote_options import add_place_options, chosen_place
from warpline.i18n import english, tr, translated
from warpline.model.errors import RecordingError
from warpline.recording.session import RecordingOptions


@dataclass(frozen=True)
class AttachCommand:
    """Records a process and its children from outside, and leaves them as they are."""

    name: str = "attach"
    help: str = english("record a program that is already running")

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.epilog = tr(
            "The program is neither stopped nor changed: without --inside Warpline loads nothing into it. What can "
            "only be recorded from a program's start is listed as not recorded, with the reason."
        )
        parser.add_argument("pid", type=process_id, metavar="PID", help=tr("process id of the program"))
        parser.add_argument(
            "-o",
            "--output",
            type=Path,
            metavar="FILE",
            help=tr("the capture (default: attached-PID-TIME.h5)"),
        )
        parser.add_argument(
            "--duration",
            type=long_time_ns,
            metavar="T",
            help=tr("stop recording after this time (10s; default: when the program ends, or Ctrl-C)"),
        )
        parser.add_argument(
            "--inside",
            action="store_true",
            help=tr("have a program of Python 3.14 or later load the agent, for ranges, steps and GPU work"),
        )
        add_place_options(parser)
        add_recording_options(parser)

    def run(self, args: argparse.Namespace) -> int:
        from warpline.recording.attach import attach
        from warpline.recording.sources.registry import default_trace

        output = args.output or Path(f"attached-{args.pid}-{time.strftime('%Y%m%d-%H%M%S')}.h5")
        write = status_writer(args.status_fd)

        def tell(status: dict[str, Any]) -> None:
            write(status)
            if status["state"] == "started" and not args.quiet:
                _say(tr("recording process {pid}; Ctrl-C ends the recording, not the program", pid=args.pid))

        options = RecordingOptions(
            trace=args.trace or default_trace(),
            duration_ns=args.duration,
            keeps_arguments=args.keep_arguments,
        )
        place = chosen_place(args)
        if place is not None and args.inside:
            raise RecordingError(tr("--inside works on this machine only: log in there and attach"))
        if place is None:
            result = attach(args.pid, output, options, spool=args.spool, report=tell, is_inside=args.inside)
        else:
            from warpline.recording.remote.near.begin import FarSettings, attach_on

            result = attach_on(place, args.pid, output, options, FarSettings(), spool=args.spool, report=tell)
        if not args.quiet:
            _say(summary_line(result))
            for source in result.outcome.sources if result.outcome is not None else ():
                if not source.enabled:
                    _say(f"  {source.name}: {tr('not recorded')}: {translated(source.reason)}")
            if result.path is not None and not args.no_check:
                self._say_first_finding(result.path, result.events)
        return 0

    @staticmethod
    def _say_first_finding(path: Path, events: int) -> None:
        from warpline.cli.first_finding import first_finding_line

        line = first_finding_line(path, shortest(path), events)
        if line:
            _say(line)


def process_id(text: str) -> int:
    """``type=`` for a process id."""
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(tr("{text!r} is not a process id", text=text))
    return int(text)


def _say(text: str) -> None:
    print(f"warpline: {text}", file=sys.stderr, flush=True)


command = AttachCommand()
