"""Options that ``warpline record`` and ``warpline attach`` share."""

from __future__ import annotations

import argparse
from pathlib import Path

from warpline.i18n import tr
from warpline.model.errors import UsageError
from warpline.recording.sources.registry import default_trace, parse_trace, trace_names


def add_recording_options(parser: argparse.ArgumentParser) -> None:
    """What to record, where to keep it meanwhile, and what to print."""
    parser.add_argument(
        "--trace",
        type=trace_sources,
        metavar="LIST",
        help=tr(
            "what to record, a list of {all}; warpline doctor explains them (default: {default}, and native for "
            "programs of your own that are not Python)",
            all=", ".join(trace_names()),
            default=",".join(default_trace()),
        ),
    )
    parser.add_argument(
        "--keep-arguments",
        action="store_true",
        help=tr("keep arguments that look like secrets (passwords, tokens)"),
    )
    parser.add_argument(
        "--spool",
        type=Path,
        metavar="DIR",
        help=tr("folder for the data of the running recording (default: FILE.spool)"),
    )
    parser.add_argument("-q", "--quiet", action="store_true", help=tr("print no summary"))
    parser.add_argument("--no-check", action="store_true", help=tr("do not look for findings at the end"))
    parser.add_argument(
        "--status-fd",
        type=int,
        metavar="N",
        help=tr(
            "for programs that start warpline: write the state of the recording to the open file "
            "descriptor N, one JSON object per line"
        ),
    )


def trace_sources(text: str) -> tuple[str, ...]:
    """``type=`` for ``--trace``: a comma-separated list of sources."""
    try:
        return parse_trace(text)
    except UsageError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
