"""Options of commands that can do their work on another machine."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from warpline.i18n import tr
from warpline.model.errors import UsageError

if TYPE_CHECKING:
    from warpline.recording.remote.near.begin import FarSettings
    from warpline.recording.remote.near.transport import FarMachine


def add_place_options(parser: argparse.ArgumentParser) -> None:
    """``--on``, ``--via`` and ``--python``."""
    parser.add_argument(
        "--on",
        metavar="HOST",
        help=tr("do this on another machine, over your ssh; that machine needs only Python 3.9 or later"),
    )
    parser.add_argument(
        "--via",
        metavar="COMMAND",
        help=tr("like --on, but reach the machine by this command, such as 'docker exec -i NAME'"),
    )
    parser.add_argument("--python", default="", metavar="PATH", help=tr("the Python to use on that machine"))


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """Options of a recording on another machine."""
    parser.add_argument(
        "--chdir", default="", metavar="DIR", help=tr("with --on: where to run the command (default: home)")
    )
    parser.add_argument(
        "--env",
        action="append",
        default=[],
        metavar="NAME[=VALUE]",
        help=tr("with --on: set an environment variable on that machine (default: its value here)"),
    )
    parser.add_argument(
        "--with-me",
        action="store_true",
        help=tr("with --on: end the command when the connection is lost; otherwise it runs on"),
    )
    parser.add_argument(
        "--far-spool",
        default="",
        metavar="DIR",
        help=tr("with --on: folder on that machine for the running recording (default: in ~/.cache)"),
    )


def chosen_place(args: argparse.Namespace) -> FarMachine | None:
    """The machine that the options name; None for this one.

    Raises UsageError.
    """
    if args.on is None and args.via is None:
        _refuse_far_settings(args)
        return None
    if args.on is not None and args.via is not None:
        raise UsageError(tr("--on and --via both name a machine; leave one out"))
    from warpline.recording.remote.near.transport import machine_of

    return machine_of(args.on, args.via, args.python)


def _refuse_far_settings(args: argparse.Namespace) -> None:
    given = {
        "--chdir": getattr(args, "chdir", ""),
        "--env": getattr(args, "env", ()),
        "--with-me": getattr(args, "with_me", False),
        "--far-spool": getattr(args, "far_spool", ""),
    }
    option = next((option for option, value in given.items() if value), None)
    if option is not None:
        raise UsageError(tr("{option} needs --on or --via", option=option))


def far_settings(args: argparse.Namespace) -> FarSettings:
    """What the program gets on the other machine.

    Raises UsageError.
    """
    from warpline.recording.remote.near.begin import FarSettings

    environment: dict[str, str] = {}
    for word in args.env:
        name, equals, value = word.partition("=")
        if not name or (not equals and name not in os.environ):
            raise UsageError(tr("--env {word}: there is no such variable here", word=word))
        environment[name] = value if equals else os.environ[name]
    return FarSettings(
        directory=args.chdir, environment=environment, spool=args.far_spool, ends_with_us=args.with_me
    )
