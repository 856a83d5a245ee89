"""Options of ``warpline record`` that say when to record, and how much."""

from __future__ import annotations

import argparse
import re

from warpline.cli.arguments import time_ns
from warpline.i18n import tr
from warpline.model.errors import UsageError

_NUMBER = r"\d{1,18}(?:\.\d{1,18})?"
"""Limited in length: Python turns 400 digits into infinity, which is not an integer."""
_SIZE = re.compile(rf"({_NUMBER})\s*([kmgt]?)(?:i?b)?", re.IGNORECASE)
_UNITS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}


def add_limit_options(parser: argparse.ArgumentParser) -> None:
    """Adds ``--wait``, and ``--ring``, ``--max-duration`` and ``--max-size``, each 0 by default."""
    parser.add_argument(
        "--wait",
        action="store_true",
        help=tr("record nothing until asked to: warpline control snapshot --next-steps 3"),
    )
    parser.add_argument(
        "--ring",
        type=long_time_ns,
        default=0,
        metavar="T",
        help=tr("keep only the last T (10m, 90s), with bounded disk space: for rare problems in long runs"),
    )
    parser.add_argument(
        "--max-duration",
        type=long_time_ns,
        default=0,
        metavar="T",
        help=tr("end the recording after T (8h, 30m), including pauses; the command continues"),
    )
    parser.add_argument(
        "--max-size",
        type=size_bytes,
        default=0,
        metavar="SIZE",
        help=tr("end the recording when it takes SIZE on the disk (500M, 2G); the command continues"),
    )


def check_beginning(args: argparse.Namespace) -> None:
    """Raises UsageError when two options set when to begin."""
    if args.wait and (args.delay or args.capture_range != "none"):
        option = "--delay" if args.delay else "--capture-range"
        raise UsageError(tr("--wait and {option} both say when to begin; leave one out", option=option))


def long_time_ns(text: str) -> int:
    """``type=`` for a time that may also be in minutes and hours (``10m``, ``1.5h``); int64 ns, positive."""
    for unit, seconds in (("min", 60), ("m", 60), ("h", 3600)):
        number = text.removesuffix(unit)
        if number != text and re.fullmatch(_NUMBER, number):
            value = round(float(number) * seconds * 1e9)
            break
    else:
        value = time_ns(text)
    if not 0 < value < 1 << 62:
        raise argparse.ArgumentTypeError(tr("a time must be positive: {text!r}", text=text))
    return value


def size_bytes(text: str) -> int:
    """``type=`` for a size on the disk: ``500M``, ``2G``; bytes, in powers of 1024."""
    match = _SIZE.fullmatch(text.strip())
    value = round(float(match[1]) * (1 << _UNITS[match[2].lower()])) if match else 0
    if not 0 < value < 1 << 62:
        raise argparse.ArgumentTypeError(tr("not a size: {text!r} (write for example 500M or 2G)", text=text))
    return value
