"""`warpline info`: the contents of a capture, what was not recorded and why, and whether the file is intact."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpline.i18n import english, tr, tr_n, translated
from warpline.i18n.width import padded, text_width
from warpline.recording.spool.secrets import has_masked
from warpline.untrusted import listing

if TYPE_CHECKING:
    from warpline.storage import Capture

MOST_LINES = 12
"""Lines shown of the standard error of a failed program; the file may have more."""


class InfoCommand:
    """Describes a capture for people or, with ``--json``, for programs."""

    name = "info"
    help = english("show what a capture contains and whether it is intact")

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "file", metavar="FILE", type=Path, help=tr("a capture, or another profiler's trace")
        )
        parser.add_argument("--json", action="store_true", help=tr("print JSON"))
        parser.add_argument("--verify", action="store_true", help=tr("read everything and check every value"))

    def run(self, args: argparse.Namespace) -> int:
        import orjson

        from warpline.cli.progress import ProgressLine
        from warpline.library.info import describe
        from warpline.library.opening import open_or_convert
        from warpline.model.progress import never
        from warpline.storage import verify

        with ProgressLine() as line:
            opened = open_or_convert(args.file, line.show, never)
        with opened.capture as capture:
            # A converted trace is named as the user named it.
            document = describe(capture) | {"path": str(opened.source)}
            defects = list(verify(capture)) if args.verify else []
            if args.verify:
                document["defects"] = defects
            if args.json:
                sys.stdout.write(orjson.dumps(document, option=orjson.OPT_INDENT_2).decode() + "\n")
            else:
                sys.stdout.write(listing(_lines(capture, document)) + "\n")
        return 1 if defects else 0


def _lines(capture: Capture, document: dict[str, Any]) -> list[str]:
    from warpline.interchange.framework.ranks import alignment_reason, clock_text
    from warpline.model import format_duration
    from warpline.storage.read.view_times import far_events

    lines = [
        document["path"],
        tr(
            "  {events} in {duration}, {tracks}, {processes}, {threads}",
            events=tr_n("{count:,} event", "{count:,} events", document["events"]),
            duration=format_duration(capture.duration_ns),
            tracks=_tracks(len(capture.tracks)),
            processes=tr_n("{count} process", "{count} processes", len(capture.processes)),
            threads=tr_n("{count} thread", "{count} threads", len(capture.threads)),
        ),
    ]
    command = capture.meta.get("command_line")
    if command:
        words = [str(word) for word in command]
        lines.append(tr("  command: {command}", command=" ".join(words)))
        if has_masked(words):
            lines.append(
                tr(
                    "  arguments that look like secrets were left out; record with --keep-arguments to keep them"
                )
            )
    lines += _ending(capture)
    for device in capture.devices:
        number = f"GPU {device.index}"
        lines.append(f"  {number}" if device.name in ("", number) else f"  {number}  {device.name}")
    lines += ["", tr("kinds")]
    lines += [f"  {name:<16}{count:>14,}" for name, count in document["kinds"].items()]
    if any(document["links"].values()):
        lines += ["", tr("links")]
        lines += [f"  {name:<16}{count:>14,}" for name, count in document["links"].items()]
    counters = Counter(counter["name"] for counter in document["counters"])
    if counters:
        values = Counter[str]()
        for counter in document["counters"]:
            values[counter["name"]] += counter["samples"]
        lines += ["", tr("counters")]
        width = max(16, *map(text_width, counters)) + 1
        lines += [
            f"  {padded(name, width)}{values[name]:>14,}" + tr("  in {tracks}", tracks=_tracks(count))
            for name, count in counters.items()
        ]
    aligned = [clock for clock in capture.clocks if clock.method]
    if aligned:
        lines += ["", tr("clocks")]
        lines += [f"  {clock.name:<16}{clock_text(clock)}" for clock in aligned]
        if reason := alignment_reason(capture.meta):
            lines.append(f"  {reason}")
    if capture.sources:
        lines += ["", tr("what was recorded")]
        names = [translated(source.name) for source in capture.sources]
        width = max(map(text_width, names)) + 2
        for name, source in zip(names, capture.sources, strict=True):
            state = tr("recorded") if source.enabled else tr("not recorded")
            lost = tr(", {lost:,} lost", lost=source.lost) if source.lost else ""
            reason = f": {translated(source.reason)}" if source.reason else ""
            lines.append(f"  {padded(name, width)}{state}{lost}{reason}")
            if source.remedy and not source.enabled:
                lines.append(f"  {'':<{width}}→ {translated(source.remedy)}")
    if capture.skipped:
        lines += ["", tr("left out")]
        lines += [
            f"  {translated(entry.what)}, {entry.count:,}: {translated(entry.reason)}"
            for entry in capture.skipped
        ]
    if capture.unknown:
        lines += ["", tr("unknown to this Warpline and ignored")]
        lines += [f"  {path}" for path in capture.unknown]
    far = far_events(capture)
    if capture.notices or capture.warnings or far:
        lines += ["", tr("warnings")]
        lines += [f"  {text}" for text in (*far, *capture.notices)]
        lines += [f"  {translated(text)}" for text in capture.warnings]
    if "defects" in document:
        lines += ["", tr("defects") if document["defects"] else tr("every value was checked and is sound")]
        lines += [f"  {text}" for text in document["defects"]]
    return lines


def _tracks(count: int) -> str:
    return tr_n("{count} track", "{count} tracks", count)


def _ending(capture: Capture) -> list[str]:
    """How the program failed, with the end of what it wrote to its standard error."""
    from warpline.library.program_end import how_it_failed, shown_tail

    failure = how_it_failed(capture.program_end)
    if not failure:
        return []
    lines = [tr("  the program {failure}", failure=failure)]
    return lines + [f"  | {line}" for line in shown_tail(capture.program_end, MOST_LINES)]


command = InfoCommand()
