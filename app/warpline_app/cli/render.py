"""``warpline render``: draws the timeline into a picture, without a display."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING

from warpline.cli.arguments import (
    add_range_option,
    add_run_queries_option,
    add_track_option,
    size_px,
    tell_foreign_queries,
)
from warpline.i18n import english, tr
from warpline.model.errors import UsageError
from warpline_app.look.theme import THEMES

if TYPE_CHECKING:
    from PySide6.QtGui import QImage

    from warpline.storage import Capture
    from warpline_app.pictures.rendering import Picture

MAX_SCALE = 8.0


def scale_factor(text: str) -> float:
    """Parse ``--scale``."""
    try:
        value = float(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(tr("not a number: {text!r}", text=text)) from error
    if not 0.5 <= value <= MAX_SCALE:
        raise argparse.ArgumentTypeError(tr("scale must be between 0.5 and 8: {text!r}", text=text))
    return value


class RenderCommand:
    """Draws into a file what the window would show."""

    name = "render"

    help: str = english("render the timeline as a picture, without a display")

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the file, the output, and options for the part and the size."""
        parser.add_argument(
            "file", metavar="FILE", type=Path, help=tr("a capture, or another profiler's trace")
        )
        parser.add_argument(
            "-o", "--output", metavar="OUT.png", type=Path, required=True, help=tr("the picture to write")
        )
        add_range_option(parser)
        add_track_option(parser)
        parser.add_argument(
            "--size",
            type=size_px,
            default=(1600, 900),
            metavar="WxH",
            help=tr("in pixels (default 1600x900)"),
        )
        parser.add_argument(
            "--scale",
            type=scale_factor,
            default=1.0,
            metavar="N",
            help=tr("scale factor for high-resolution screens (default 1)"),
        )
        parser.add_argument(
            "--theme",
            choices=tuple(THEMES),
            default="dark",
            help=tr("colour theme"),
        )
        add_run_queries_option(parser)
        parser.add_argument(
            "--window", action="store_true", help=tr("render the whole window, with its panels")
        )

    def run(self, args: argparse.Namespace) -> int:
        """Write the picture; returns 0."""
        from warpline.library.opening import open_path
        from warpline.query.kept_rows import kept_rows
        from warpline.storage.notes_file import notes_of
        from warpline_app.pictures.rendering import Picture, prepare_offscreen, render, save_picture

        if not args.output.absolute().parent.is_dir():
            raise UsageError(tr("there is no folder {path}", path=args.output.absolute().parent))
        opened = open_path(args.file, lambda _fraction, _text: None, lambda: False)
        notes = notes_of(args.file, opened.capture.uuid)
        try:
            rows = kept_rows(opened.capture, args.file, runs_all=args.run_queries)
            tell_foreign_queries(rows)
            picture = Picture(args.range, tuple(args.track), args.size, args.scale, args.theme, notes, rows)
            prepare_offscreen(args.scale)
            draw = _window_drawing() if args.window else render
            save_picture(draw(opened.capture, picture, args.file.name), args.output)
        finally:
            opened.capture.close()
        return 0

    def answer(self, requests: IO[bytes], answers: IO[bytes]) -> None:
        """Draw for `warpline.library.picture_process`, until ``requests`` ends."""
        from warpline_app.pictures.answering import answer_requests

        answer_requests(requests, answers)


def _window_drawing() -> Callable[[Capture, Picture, str], QImage]:
    """Imported on demand: a picture of the timeline alone does not need the window."""
    from warpline_app.window.picture import render_window

    return render_window


command = RenderCommand()
