"""Argument types and options that several commands share, so that they read and fail alike everywhere."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from warpline.i18n import tr, tr_n
from warpline.model.times import parse_range, parse_time

if TYPE_CHECKING:
    from warpline.storage.columns.derived_events import ShownRow

TimeRange = tuple[int | None, int | None]
"""Start and end in nanoseconds since the start of the capture; None where an end was left open."""


def time_ns(text: str) -> int:
    """``type=`` for a time or a duration: ``1.5s``, ``20ms``, ``300us``, ``5ns``; integer nanoseconds, not negative."""
    try:
        value = parse_time(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if value < 0:
        raise argparse.ArgumentTypeError(tr("a time cannot be negative: {text!r}", text=text))
    return value


def time_range(text: str) -> TimeRange:
    """``type=`` for ``A:B``; either side may be left out."""
    try:
        return parse_range(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def size_px(text: str) -> tuple[int, int]:
    """``type=`` for ``WxH`` in pixels."""
    width, cross, height = text.lower().replace("×", "x").partition("x")
    if not (cross and width.isascii() and width.isdigit() and height.isascii() and height.isdigit()):
        raise argparse.ArgumentTypeError(tr("not a size: {text!r} (write for example 1600x900)", text=text))
    size = int(width), int(height)
    if not all(1 <= side <= 32_767 for side in size):
        raise argparse.ArgumentTypeError(tr("a side must be between 1 and 32767 pixels: {text!r}", text=text))
    return size


def add_range_option(parser: argparse.ArgumentParser) -> None:
    """``--range A:B`` as ``args.range``: a :data:`TimeRange`, (None, None) when not given."""
    parser.add_argument(
        "--range",
        type=time_range,
        default=(None, None),
        metavar="A:B",
        help=tr(
            "only this part; times take units and count from the start of the capture (1.2s:1.3s, :500ms)"
        ),
    )


def add_run_queries_option(parser: argparse.ArgumentParser) -> None:
    """``--run-queries`` as ``args.run_queries``."""
    parser.add_argument(
        "--run-queries",
        action="store_true",
        help=tr(
            "also run the queries of derived rows beside the capture that somebody else wrote; "
            "they read the capture and nothing else"
        ),
    )


def tell_foreign_queries(rows: Sequence[ShownRow]) -> None:
    """Say on stderr how many derived rows show nothing because somebody else wrote their query."""
    from warpline.query.kept_rows import foreign_count

    count = foreign_count(rows)
    if count:
        text = tr_n(
            "{count} derived row is empty: somebody else wrote its query; --run-queries runs it",
            "{count} derived rows are empty: somebody else wrote their queries; --run-queries runs them",
            count,
        )
        print(text, file=sys.stderr)


def add_track_option(parser: argparse.ArgumentParser) -> None:
    """``--track GLOB``, repeatable, as ``args.track``: a list of patterns over track URIs, empty for all tracks."""
    parser.add_argument(
        "--track",
        action="append",
        default=[],
        metavar="GLOB",
        help=tr(
            "only tracks whose URI matches (gpu/0/*, *thread/74*; warpline info --json lists them);"
            " may be given several times"
        ),
    )
