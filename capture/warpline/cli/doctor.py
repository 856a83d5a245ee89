"""``warpline doctor``: how Warpline is installed, what this machine can record, and how to enable the rest."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from warpline.cli.installation import Installation, this_installation
from warpline.cli.remote_options import add_place_options, chosen_place
from warpline.i18n import english, tr, translated
from warpline.i18n.width import padded
from warpline.model.errors import UsageError
from warpline.untrusted import listing

if TYPE_CHECKING:
    from warpline.recording.doctor import SourceCheck
    from warpline.recording.remote.near.transport import FarMachine


@dataclass(frozen=True)
class DoctorCommand:
    """Tries every source."""

    name: str = "doctor"
    help: str = english("show what this machine can record, and how to enable the rest")

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help=tr("as JSON"))
        parser.add_argument(
            "--quick",
            action="store_true",
            help=tr("with this Python only, not with every one of the machine"),
        )
        add_place_options(parser)
        parser.add_argument(
            "--clean",
            action="store_true",
            help=tr("with --on: remove the recorder's files from that machine"),
        )

    def run(self, args: argparse.Namespace) -> int:
        place = chosen_place(args)
        if args.clean:
            return _clean(place)
        if place is None:
            from warpline.recording.doctor import check_sources

            checks, installation = check_sources(every_python=not args.quick), this_installation()
            about = {"installation": asdict(installation)}
            lines = _installation_lines(installation)
        else:
            from warpline.recording.remote.near.questions import doctor_on

            checks, machine = doctor_on(place, every_python=not args.quick)
            about = {"machine": machine}
            lines = [tr("{host}: {system}, Python {python}", **machine)]
        if args.json:
            print(json.dumps({**about, "sources": [asdict(check) for check in checks]}))
        else:
            print(listing((*lines, "", *_lines(checks))))
        return 0


def _clean(place: FarMachine | None) -> int:
    if place is None:
        raise UsageError(tr("--clean needs --on or --via"))
    from warpline.recording.remote.near.questions import clean_on

    print(clean_on(place))
    return 0


def _installation_lines(installation: Installation) -> list[str]:
    forms = {"checkout": tr("checkout"), "wheel": tr("wheel"), "bundle": tr("bundle")}
    return [
        f"warpline {installation.version} · {forms[installation.form]} · {installation.folder}",
        tr(
            "compiled: {names}",
            names=", ".join(installation.compiled)
            or tr("nothing; everything but recording works, more slowly"),
        ),
        *(tr("does not load: {name}", name=name) for name in installation.broken),
        tr("to upgrade: {command}", command=translated(installation.upgrade)),
    ]


def _lines(checks: list[SourceCheck]) -> list[str]:
    width = max(len(check.name) for check in checks)
    lines: list[str] = []
    for check in checks:
        state = tr("yes") if check.available else tr("no")
        lines.append(f"{check.name:<{width}}  {padded(state, 3)}  {translated(check.title)}")
        indent = " " * (width + 7)
        reason = translated(check.reason)
        if reason:
            lines.append(indent + (reason if check.available else tr("because: {reason}", reason=reason)))
        if check.remedy and not check.available:
            lines.append(indent + tr("remedy: {remedy}", remedy=translated(check.remedy)))
    return lines


command = DoctorCommand()
