"""``warpline doctor``: how Warpline is installed, what this machine can record, and how to enable the rest."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from warpline.cli.installation import Installation, this_installation
from warpline.i18n import english, tr, translated
from warpline.i18n.width import padded

if TYPE_CHECKING:
    from warpline.recording.doctor import SourceCheck


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

    def run(self, args: argparse.Namespace) -> int:
        from warpline.recording.doctor import check_sources

        checks = check_sources(every_python=not args.quick)
        installation = this_installation()
        if args.json:
            sources = [asdict(check) for check in checks]
            print(json.dumps({"installation": asdict(installation), "sources": sources}))
        else:
            print("\n".join((*_installation_lines(installation), "", *_lines(checks))))
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
