"""``warpline control``: talk to a recording that is running."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from functools import partial
from typing import Any

from warpline.cli.host_list import hosts_of
from warpline.cli.remote_options import add_place_options, chosen_place
from warpline.i18n import english, tr, tr_n, translated
from warpline.model.errors import UsageError
from warpline.model.times import format_duration
from warpline.untrusted import listing

ACTIONS = ("pause", "resume", "mark", "stop", "status", "snapshot")


@dataclass(frozen=True)
class ControlCommand:
    """Pauses, resumes or stops recordings, asks how they are doing, or has them write what comes next."""

    name: str = "control"
    help: str = english(
        "pause, resume or stop a recording, mark a moment, show its state, or take a snapshot"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("action", choices=ACTIONS, help=tr("what to do"))
        parser.add_argument(
            "recording",
            nargs="?",
            metavar="PID|SPOOL",
            help=tr(
                "process id of the program or the recorder, the capture or its spool directory (default: "
                "the only running recording; with snapshot or several hosts, all)"
            ),
        )
        add_place_options(parser)
        parser.add_argument("--json", action="store_true", help=tr("the answer as JSON"))
        parser.add_argument("--terminate", action="store_true", help=tr("with stop: end the program as well"))
        parser.add_argument("--discard", action="store_true", help=tr("with stop: write no capture"))
        parser.add_argument("--name", metavar="TEXT", help=tr("with mark: what the moment is called"))
        parser.add_argument(
            "--next-steps",
            type=_count_of_steps,
            metavar="N",
            help=tr("with snapshot: record the next N training steps, the same ones on every rank"),
        )

    def run(self, args: argparse.Namespace) -> int:
        from warpline.recording.control import LONGEST_MARK, find_recording, send_command

        if args.next_steps is not None and args.action != "snapshot":
            raise UsageError(tr("--next-steps works only with: warpline control snapshot"))
        if args.name is not None and args.action != "mark":
            raise UsageError(tr("--name works only with: warpline control mark"))
        fields: dict[str, Any] = {}
        if args.action == "stop":
            fields = {"terminate": args.terminate, "discard": args.discard}
        elif args.action == "mark":
            fields = {"name": (args.name or "")[:LONGEST_MARK]}
        hosts = hosts_of(args.on)
        if args.action == "snapshot" or len(hosts) > 1:
            return _control_all(args, [host.name for host in hosts], fields)
        args.on = hosts[0].name if hosts else None
        place = chosen_place(args)
        if place is None:
            answer = send_command(find_recording(args.recording), args.action, **fields)
        else:
            from warpline.recording.remote.near.questions import control_on

            answer = control_on(place, args.recording, args.action, fields)
        answer.pop("ok")
        print(json.dumps(answer) if args.json else _describe(answer, args.action))
        return 0


def _control_all(args: argparse.Namespace, hosts: list[str], fields: dict[str, Any]) -> int:
    """One command to several recordings; 1 when one of them refuses."""
    from warpline.cli.several_recordings import SeveralRecordings

    names: list[str | None] = [*hosts] or [None]
    places = [chosen_place(argparse.Namespace(**{**vars(args), "on": name})) for name in names]
    recordings = SeveralRecordings(places, args.recording)
    if args.next_steps is not None:
        answers = recordings.snapshot(args.next_steps)
    else:
        answers = recordings.ask(args.action, **fields)
    if args.json:
        print(json.dumps([{"host": answer.host, **answer.reply} for answer in answers]))
    describe = _describe_snapshot if args.action == "snapshot" else partial(_describe, action=args.action)
    for answer in answers:
        mark = f"[{answer.host}] " if answer.host else ""
        if answer.error:
            text = f"warpline: error: {translated(answer.error)}"
            print(listing([mark + text]), file=sys.stderr)
        elif not args.json:
            print(listing([mark + line for line in describe(answer.reply).splitlines()]))
    return int(any(answer.error for answer in answers))


def _describe_snapshot(answer: dict[str, Any]) -> str:
    if not answer.get("snapshot"):
        return tr("{path}: the capture is being written", path=answer["output"])
    first, until = answer["snapshot"]
    return tr(
        "{path}: will contain steps {first:,} to {last:,}; {count:,} have ended so far",
        path=answer["output"],
        first=first,
        last=until - 1,
        count=answer["steps"],
    )


def _count_of_steps(text: str) -> int:
    from warpline.recording.snapshots import MOST_STEPS

    if not (text.isascii() and text.isdigit() and 0 < int(text) <= MOST_STEPS):
        raise argparse.ArgumentTypeError(tr("{text!r} is not a number of steps", text=text))
    return int(text)


def _describe(answer: dict[str, Any], action: str) -> str:
    values = {
        "state": translated(answer["state"]),
        "elapsed": format_duration(answer["elapsed_ns"]),
        "events": tr_n("{count:,} event", "{count:,} events", answer["events"]),
        "lost": answer["lost"],
        "pid": answer.get("far_pid") or answer["target_pid"],
    }
    if action == "mark":
        return tr("marked after {elapsed} (process {pid})", **values)
    if action == "stop":
        return listing(
            [
                tr("stopped after {elapsed}: {events}, {lost:,} lost (process {pid})", **values),
                *map(translated, answer["warnings"]),
            ]
        )
    lines = [tr("{state} for {elapsed}: {events}, {lost:,} lost (process {pid})", **values)]
    for source in answer["sources"]:
        state = tr("not recorded")
        if source["enabled"]:
            state = tr("recorded where a program uses it") if source.get("is_inside") else tr("recorded")
        lines.append(
            f"  {source['name']}: {state}" + (f": {translated(source['reason'])}" if source["reason"] else "")
        )
    lines.extend(map(translated, answer["warnings"]))
    return listing(lines)


command = ControlCommand()
