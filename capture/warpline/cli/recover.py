"""``warpline recover``: finish a recording whose recorder was killed."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

from warpline.i18n import english, tr, tr_n


@dataclass(frozen=True)
class RecoverCommand:
    """Turns a spool directory that was left behind into a capture, and removes it."""

    name: str = "recover"
    help: str = english("finish a recording whose recorder was killed")

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "spool",
            type=Path,
            metavar="SPOOL",
            help=tr("the folder with the recorded data, such as run.h5.spool beside the intended run.h5"),
        )
        parser.add_argument(
            "-o",
            "--output",
            type=Path,
            metavar="FILE",
            help=tr("the capture to write (default: beside SPOOL, run.h5 for run.h5.spool)"),
        )
        parser.add_argument(
            "--keep",
            action="store_true",
            help=tr("keep SPOOL; otherwise it is removed once the capture is written"),
        )

    def run(self, args: argparse.Namespace) -> int:
        from warpline.library.losses import lost_text
        from warpline.recording.recover import recover, still_running
        from warpline.recording.spool.directory import owner_of

        owner = owner_of(args.spool) if args.spool.is_dir() else ""
        if owner and args.output is not None:
            text = tr("{spool} belongs to {user}: it is read but not removed", spool=args.spool, user=owner)
            print(f"warpline: {text}", file=sys.stderr)
        running = still_running(args.spool)
        done = recover(args.spool, args.output, keep=args.keep)
        if done is None:
            print(
                tr(
                    "{spool}: nothing to recover: its capture is complete already, or nothing had been recorded yet",
                    spool=args.spool,
                )
            )
            return 0
        if running:
            text = tr_n(
                "process {pids} still runs: the capture ends here, and what it does from now on is not recorded",
                "processes {pids} still run: the capture ends here, and what they do from now on is not recorded",
                len(running),
                pids=", ".join(map(str, running)),
            )
            print(f"warpline: {text}", file=sys.stderr)
        print(
            tr(
                "{path}: {events}, {lost}",
                path=done.path,
                events=tr_n("{count:,} event", "{count:,} events", done.events),
                lost=lost_text(done.lost, done.events),
            )
        )
        return 0


command = RecoverCommand()
