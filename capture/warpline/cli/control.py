"""``warpline control``: talk to a recording that is running."""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from typing import Any

from warpline.cli.remote_options import add_place_options, chosen_place
from warpline.i18n import english, tr, tr_n, translated
from warpline.model.times import format_duration
from warpline.untrusted import listing


@dataclass(frozen=True)
class ControlCommand:
    """Pauses, resumes or stops a recording, or asks how it is doing."""

    name: str = "control"
    help: str = english("pause, resume or stop a recording, or show its state")

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("action", choices=("pause", "resume", "stop", "status"), help=tr("what to do"))
        parser.add_argument(
            "recording",
            nargs="?",
            metavar="PID|SPOOL",
            help=tr(
                "process id of the program or the recorder, the capture or its spool directory"
                " (default: the one recording there is)"
            ),
        )
        add_place_options(parser)
        parser.add_argument("--json", action="store_true", help=tr("the answer as JSON"))
        parser.add_argument("--terminate", action="store_true", help=tr("with stop: end the program as well"))
        parser.add_argument("--discard", action="store_true", help=tr("with stop: write no capture"))

    def run(self, args: argparse.Namespace) -> int:
        from warpline.recording.control import find_recording, send_command

        fields = {"terminate": args.terminate, "discard": args.discard} if args.action == "stop" else {}
        place = chosen_place(args)
        if place is None:
            answer = send_command(find_recording(args.recording), args.action, **fields)
        else:
            from warpline.recording.remote.near.questions import control_on

            answer = control_on(place, args.recording, args.action, fields)
        answer.pop("ok")
        print(json.dumps(answer) if args.json else _describe(answer))
        return 0


def _describe(answer: dict[str, Any]) -> str:
    lines = [
        tr(
            "{state} for {elapsed}: {events}, {lost:,} lost (process {pid})",
            state=translated(answer["state"]),
            elapsed=format_duration(answer["elapsed_ns"]),
            events=tr_n("{count:,} event", "{count:,} events", answer["events"]),
            lost=answer["lost"],
            pid=answer.get("far_pid") or answer["target_pid"],
        )
    ]
    for source in answer["sources"]:
        state = tr("recorded") if source["enabled"] else tr("not recorded")
        lines.append(
            f"  {source['name']}: {state}" + (f": {translated(source['reason'])}" if source["reason"] else "")
        )
    lines.extend(map(translated, answer["warnings"]))
    return listing(lines)


command = ControlCommand()
