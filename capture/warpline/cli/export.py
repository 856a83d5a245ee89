"""``warpline export``: a capture, or a part of it, in another format."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpline.cli.arguments import add_range_option, add_run_queries_option, add_track_option
from warpline.cli.progress import ProgressLine
from warpline.i18n import english, tr, tr_n
from warpline.model import UsageError, format_duration

if TYPE_CHECKING:
    from warpline.storage import Capture
    from warpline.storage.columns.derived_events import ShownRow

_SHOWN = frozenset({"html", "png", "svg"})
"""Formats that show derived rows."""


class _InsteadOf(argparse.Action):
    """``-o OUT``, as other commands have it, instead of the argument OUT."""

    def __init__(self, *args: Any, place: argparse.Action, **options: Any) -> None:
        super().__init__(*args, **options)
        self._place = place

    def __call__(
        self,
        _parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        _option: str | None = None,
    ) -> None:
        """Keep the value; the argument is no longer required."""
        setattr(namespace, self.dest, values)
        self._place.required = False


class ExportCommand:
    """Exports a capture; the name of OUT sets the format."""

    name = "export"
    help = english("write a capture, or a part of it, in another format")

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments."""
        parser.add_argument("file", metavar="FILE", help=tr("a capture"))
        out = parser.add_argument(
            "out",
            metavar="OUT",
            help=tr(
                "the file to write; its name sets the format: .h5 .json .json.gz .csv .parquet .png .svg .html; "
                "an existing folder gets one CSV file per kind of event"
            ),
        )
        parser.add_argument("-o", "--output", action=_InsteadOf, place=out, help=argparse.SUPPRESS)
        add_range_option(parser)
        add_track_option(parser)
        parser.add_argument(
            "--compress",
            action="store_true",
            help=tr("for .h5: write the archive form, which is smaller and slower to open"),
        )
        parser.add_argument(
            "--anonymize",
            action="store_true",
            help=tr(
                "put pseudonyms in place of paths, hosts, users, arguments and process names; print first what is kept"
            ),
        )

        add_run_queries_option(parser)

    def run(self, args: argparse.Namespace) -> int:
        """Writes the file and prints the number of events."""
        from warpline.interchange.export.exporter import ExportOptions
        from warpline.interchange.export.exporting import export_capture
        from warpline.interchange.export.preview import estimate
        from warpline.interchange.export.registry import exporter_for
        from warpline.interchange.export.selection import ExportSelection
        from warpline.model.track_patterns import match_tracks
        from warpline.storage import open_capture
        from warpline.storage.notes_file import notes_of

        if args.output is not None and args.out is not None:
            raise UsageError(
                tr("one file at a time: {first} or {second}?", first=args.output, second=args.out)
            )
        out = Path(args.output if args.out is None else args.out)
        exporter = exporter_for(out)
        if args.compress and exporter.name != "capture":
            raise UsageError(
                tr("--compress is for captures (.h5); name the file .json.gz or .csv.gz instead")
            )
        with open_capture(args.file) as capture:
            origin = capture.span[0]
            start, stop = (None if time is None else origin + time for time in args.range)
            selection = ExportSelection(start, stop, match_tracks(capture.tracks, args.track))
            expected = estimate(capture, selection, exporter)
            # Each counter contributes at least the value that holds at the start.
            if not expected.events and expected.samples <= len(capture.counters):
                raise UsageError(
                    tr(
                        "{path}: this part has no events; the capture lasts {length}",
                        path=args.file,
                        length=format_duration(capture.duration_ns),
                    )
                )
            if args.anonymize:
                from warpline.interchange.export.pseudonyms import what_changes

                print("\n".join(what_changes(capture)), flush=True)
            with ProgressLine() as line:
                notes = notes_of(Path(args.file), capture.uuid)
                rows = (
                    () if args.anonymize else _rows(capture, Path(args.file), exporter.name, args.run_queries)
                )
                options = ExportOptions(
                    compress=args.compress, anonymize=args.anonymize, notes=notes, rows=rows
                )
                written = export_capture(capture, out, selection, options, progress=line.show)
        count = f"{expected.events:,}"
        print(
            tr_n(
                "{path}: {number} event",
                "{path}: {number} events",
                expected.events,
                path=written,
                number=count,
            )
        )
        return 0


def _rows(capture: Capture, source: Path, format_name: str, runs_all: bool) -> tuple[ShownRow, ...]:
    """The derived rows that a format shows, or keeps with their queries."""
    from warpline.cli.arguments import tell_foreign_queries
    from warpline.query.kept_rows import kept_rows
    from warpline.storage.notes_file import rows_of

    if format_name == "capture":
        return tuple((row, "") for row in rows_of(source, capture.uuid))
    if format_name not in _SHOWN:
        return ()
    rows = kept_rows(capture, source, runs_all=runs_all)
    tell_foreign_queries(rows)
    return rows


command = ExportCommand()
