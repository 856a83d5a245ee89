"""``warpline import``: turns files of other profilers into a capture."""

from __future__ import annotations

import argparse
import sys

from warpline.cli.progress import ProgressLine
from warpline.i18n import english, tr, tr_n, translated
from warpline.untrusted import listing


class ImportCommand:
    """Detects the format of each file by its content; several files are ranks of one job."""

    name = "import"
    help = english("turn another profiler's files into a capture")

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments."""
        parser.add_argument(
            "files",
            metavar="IN",
            nargs="+",
            help=tr(
                "files of another profiler; several files count as the ranks of one job or, with a "
                "Warpline recording among them, as traces of the same run"
            ),
        )
        parser.add_argument(
            "-o", "--output", metavar="OUT.h5", required=True, help=tr("the capture to write")
        )
        parser.add_argument(
            "--format",
            metavar="NAME",
            help=tr("torch, paddle, chrome, nsys-sqlite ...; by default the content of each file decides"),
        )
        parser.add_argument(
            "--align",
            choices=("auto", "collectives", "steps", "utc", "start"),
            default="auto",
            help=tr(
                "how to align the clocks of several files: by the ends of collectives, by the ends of steps, by "
                "the files' own clocks, or by their starts (default: the first of these that every file allows)"
            ),
        )

    def run(self, args: argparse.Namespace) -> int:
        """Converts the files and prints what was left out."""
        from pathlib import Path

        from warpline.interchange import import_files, is_capture, join_files
        from warpline.interchange.framework.ranks import alignment_reason, clock_text
        from warpline.storage import open_capture

        is_join = len(args.files) > 1 and any(is_capture(Path(file)) for file in args.files)
        with ProgressLine() as line:
            written = (join_files if is_join else import_files)(
                args.files, args.output, format=args.format, align=args.align, progress=line.show
            )
        with open_capture(written) as capture:
            print(
                tr_n("{path}: {count:,} event", "{path}: {count:,} events", len(capture.events), path=written)
            )
            for clock in capture.clocks:
                if clock.method:
                    print(listing([tr("{clock}: aligned by {how}", clock=clock.name, how=clock_text(clock))]))
            if reason := alignment_reason(capture.meta):
                print(listing([tr("why this alignment: {reason}", reason=reason)]))
            for skipped in capture.skipped:
                text = tr(
                    "left out: {what}, {count:,}: {reason}",
                    count=skipped.count,
                    what=translated(skipped.what),
                    reason=translated(skipped.reason),
                )
                print(listing([text]), file=sys.stderr)
            for warning in capture.warnings:
                print(listing([tr("note: {warning}", warning=translated(warning))]), file=sys.stderr)
        return 0


command = ImportCommand()
