"""``warpline render``: the timeline as a picture, without a display."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from warpline.cli.arguments import add_range_option, add_track_option, size_px
from warpline.i18n import english, tr
from warpline.model.errors import UsageError

if TYPE_CHECKING:
    from PySide6.QtGui import QImage

    from warpline.storage import Capture
    from warpline_app.pictures.rendering import Picture

MAX_SCALE = 8.0


def scale_factor(text: str) -> float:
    """``type=`` for ``--scale``."""
    try:
        value = float(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(tr("not a number: {text!r}", text=text)) from error
    if not 0.5 <= value <= MAX_SCALE:
        raise argparse.ArgumentTypeError(tr("a scale is between 0.5 and 8: {text!r}", text=text))
    return value


class RenderCommand:
    """Draws what the window would show into a file."""

    name = "render"

    help: str = english("draw the timeline into a picture, without a display")

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """The file, where to write, which part of it and how large."""
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
            help=tr("draw each of these pixels as N by N, for screens of high resolution (default 1)"),
        )
        parser.add_argument(
            "--theme",
            choices=("dark", "light", "contrast", "contrast-light"),
            default="dark",
            help=tr("colours"),
        )
        parser.add_argument("--window", action="store_true", help=tr("the whole window, with its panels"))

    def run(self, args: argparse.Namespace) -> int:
        """Writes the picture; 0 when it is there."""
        from warpline.library.opening import open_path
        from warpline_app.pictures.rendering import Picture, prepare_offscreen, render, save_picture

        if not args.output.absolute().parent.is_dir():
            raise UsageError(tr("there is no folder {path}", path=args.output.absolute().parent))
        picture = Picture(args.range, tuple(args.track), args.size, args.scale, args.theme)
        opened = open_path(args.file, lambda _fraction, _text: None, lambda: False)
        try:
            prepare_offscreen(args.scale)
            draw = _window_drawing() if args.window else render
            save_picture(draw(opened.capture, picture, args.file.name), args.output)
        finally:
            opened.capture.close()
        return 0


def _window_drawing() -> Callable[[Capture, Picture, str], QImage]:
    """Loaded when asked for: a picture of the timeline needs none of the window."""
    from warpline_app.window.picture import render_window

    return render_window


command = RenderCommand()
