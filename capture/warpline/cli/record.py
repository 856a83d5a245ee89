"""``warpline record``: run a program and record what it does."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpline.cli.arguments import time_ns
from warpline.cli.host_list import hosts_of
from warpline.cli.limits import add_limit_options, check_beginning
from warpline.cli.recording_options import add_recording_options
from warpline.cli.remote_options import add_place_options, add_run_options, chosen_place, far_settings
from warpline.cli.several_hosts import filled_in, record_on_each
from warpline.i18n import english, tr, tr_n, translated
from warpline.library.losses import lost_text
from warpline.model.times import format_duration
from warpline.recording.session import RecordingOptions
from warpline.recording.sources.registry import (
    capture_ranges,
    recording_sources,
    source_of_range,
)
from warpline.untrusted import listing

if TYPE_CHECKING:
    from warpline.recording.capture_of_session import Result

MAX_PYTHON_HZ = 1_000


@dataclass(frozen=True)
class RecordCommand:
    """Records a program; its exit status is the program's."""

    name: str = "record"
    help: str = english("run a program and record what it does")
    failure_status: int = 125

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.usage = (
            "warpline record [OPTION ...] -- COMMAND [ARGUMENT ...]\n"
            "       warpline record --again CAPTURE [-o FILE]\n"
            "       warpline record --on HOST[,HOST ...]|@FILE [OPTION ...] -- COMMAND [ARGUMENT ...]\n"
            "       warpline record --resume HOST [-o FILE]"
        )
        parser.epilog = tr(
            "The exit status is the command's; 128+n when signal n ended it, 126 or 127 when it could not be run,"
            " 125 when the recording failed. Ctrl-C goes to the command, and the capture is still written;"
            " a second Ctrl-C stops waiting for the command."
        )
        parser.add_argument(
            "-o",
            "--output",
            type=Path,
            metavar="FILE",
            help=tr(
                "the capture (default: named after the command); with --on, {host} and {rank} in its name are filled in"
            ),
        )
        parser.add_argument(
            "--duration",
            type=time_ns,
            metavar="T",
            help=tr("stop recording after this time (10s, 500ms); the command continues"),
        )
        parser.add_argument(
            "--delay", type=time_ns, default=0, metavar="T", help=tr("start recording after this time")
        )
        add_limit_options(parser)
        parser.add_argument(
            "--capture-range",
            type=capture_range,
            default="none",
            metavar="RANGE",
            help=tr("record only inside: none, cuda-profiler (cudaProfilerStart to Stop) or nvtx:NAME"),
        )
        parser.add_argument(
            "--cuda-graphs",
            choices=("node", "graph"),
            default="node",
            help=tr("record each kernel of a CUDA graph, or each launch"),
        )
        parser.add_argument(
            "--cuda-memory", action="store_true", help=tr("record allocations of device memory too")
        )
        parser.add_argument(
            "--osrt-threshold",
            type=time_ns,
            default=RecordingOptions(trace=()).osrt_threshold_ns,
            metavar="T",
            help=tr("leave out OS runtime calls shorter than T (default: 1us)"),
        )
        parser.add_argument(
            "--torch-shapes",
            type=count_of_steps,
            default=RecordingOptions(trace=()).torch_shapes,
            metavar="STEPS",
            help=tr(
                "record PyTorch operators with shapes, types and FLOPs in the first STEPS training steps"
            ),
        )
        parser.add_argument(
            "--torch-memory",
            action="store_true",
            help=tr(
                "record tensor memory after every PyTorch training step, and how much each module call keeps allocated"
            ),
        )
        parser.add_argument(
            "--python-hz",
            type=samples_per_second,
            default=RecordingOptions(trace=()).python_hz,
            metavar="N",
            help=tr(
                "samples of Python stacks per second, 0 for none (default: {hz})",
                hz=RecordingOptions(trace=()).python_hz,
            ),
        )
        parser.add_argument(
            "--native-hz",
            type=samples_per_second,
            default=RecordingOptions(trace=()).native_hz,
            metavar="N",
            help=tr(
                "samples of native stacks per second of CPU time, 0 for none (default: {hz})",
                hz=RecordingOptions(trace=()).native_hz,
            ),
        )
        parser.add_argument(
            "--no-stderr",
            action="store_true",
            help=tr("do not keep the last lines of the command's standard error in the capture"),
        )
        parser.add_argument(
            "--terminate",
            action="store_true",
            help=tr("also end the command when the recording ends first"),
        )
        parser.add_argument(
            "--again",
            type=Path,
            metavar="CAPTURE",
            help=tr("repeat the command and settings of this capture, into CAPTURE-2.h5 and so on"),
        )
        parser.add_argument(
            "--resume",
            nargs="?",
            const="",
            metavar="HOST",
            help=tr("resume a recording whose connection was lost"),
        )
        add_place_options(parser)
        add_run_options(parser)
        add_recording_options(parser)
        parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND", help=argparse.SUPPRESS)

    def run(self, args: argparse.Namespace) -> int:
        command = args.command[1:] if args.command[:1] == ["--"] else args.command
        if args.again is not None:
            if command:
                raise _usage(
                    tr("--again records the command of the capture; leave out {word}", word=command[0])
                )
            return self._record_again(args)
        if args.resume is not None:
            return self._resume(args)
        if not command:
            raise _usage(tr("no command to record; write: warpline record -o run.h5 -- python train.py"))
        if not command[0]:
            raise _usage(tr("the command to record is empty"))
        check_beginning(args)
        hosts = hosts_of(args.on)
        if len(hosts) > 1:
            return record_on_each(args, hosts, args.output or Path(_default_name(command)), self.run)
        args.on = hosts[0].name if hosts else None
        from warpline.recording.record import record
        from warpline.recording.sources.registry import default_trace, default_trace_of

        report, place = status_writer(args.status_fd), chosen_place(args)
        # A command on another machine cannot be inspected from here.
        usual = default_trace_of(command) if place is None else default_trace()
        options = RecordingOptions(
            trace=with_operators(args.trace or usual, args.torch_shapes),
            duration_ns=args.duration,
            delay_ns=args.delay,
            capture_range=args.capture_range,
            cuda_graphs=args.cuda_graphs,
            terminate=args.terminate,
            cuda_memory=args.cuda_memory,
            osrt_threshold_ns=args.osrt_threshold,
            python_hz=args.python_hz,
            native_hz=args.native_hz,
            torch_shapes=args.torch_shapes,
            torch_memory=args.torch_memory,
            keeps_stderr=not args.no_stderr,
            keeps_arguments=args.keep_arguments,
            ring_ns=args.ring,
            max_duration_ns=args.max_duration,
            max_size_bytes=args.max_size,
            waits=args.wait,
        )
        output = args.output or Path(_default_name(command))
        if args.on is not None:
            output = filled_in(output, 0, args.on)
        if place is None:
            result = record(command, output, options, spool=args.spool, report=report)
        else:
            from warpline.recording.remote.near.begin import record_on

            settings = far_settings(args)
            result = record_on(place, command, output, options, settings, spool=args.spool, report=report)
        self._tell(args, result)
        return result.exit_status

    def _resume(self, args: argparse.Namespace) -> int:
        """Take up a recording on another machine."""
        from warpline.recording.remote.near.begin import resume_on
        from warpline.recording.remote.near.transport import machine_of

        place = chosen_place(args) or machine_of(args.resume, None, args.python)
        result = resume_on(place, args.output, report=status_writer(args.status_fd))
        self._tell(args, result)
        return result.exit_status

    def _record_again(self, args: argparse.Namespace) -> int:
        """Repeats the command of a capture with its settings, in the folder where it ran."""
        from warpline.recording.again import next_output, read_recipe
        from warpline.recording.record import record

        before = args.again.absolute()
        recipe = read_recipe(before)
        output = (args.output or next_output(before)).absolute()
        spool = args.spool.absolute() if args.spool is not None else None
        here = Path.cwd()
        try:
            os.chdir(recipe.working_directory)
        except OSError as error:
            folder = recipe.working_directory
            raise _usage(tr("{path}: {reason}", path=folder, reason=error.strerror or error)) from error
        report = status_writer(args.status_fd)
        result = record(recipe.command, output, recipe.options, spool=spool, report=report)
        # Messages show paths relative to the folder of the user.
        os.chdir(here)
        self._tell(args, result)
        if result.path is not None and not args.quiet:
            print(f"warpline: {_what_next(result, before, result.path)}", file=sys.stderr)
        return result.exit_status

    def _tell(self, args: argparse.Namespace, result: Result) -> None:
        """Prints one line about the recording and one with the first finding."""
        if not args.quiet or result.error:
            print(f"warpline: {summary_line(result)}", file=sys.stderr)
        if result.path is not None and not (args.quiet or args.no_check):
            from warpline.cli.first_finding import first_finding_line

            line = first_finding_line(result.path, shortest(result.path), result.events)
            if line:
                print(listing([f"warpline: {line}"]), file=sys.stderr)


def _what_next(result: Result, before: Path, path: Path) -> str:
    """The hint after ``--again``: how to compare, or why a comparison would say nothing."""
    if result.exit_status:
        return tr(
            "the program ended with status {status}, so its time is not compared; how it failed: {command}",
            status=result.exit_status,
            command=shlex.join(("warpline", "info", str(shortest(path)))),
        )
    paths = shlex.join(map(str, (shortest(before), shortest(path))))
    return tr("what changed: warpline compare {paths}", paths=paths)


def samples_per_second(text: str) -> int:
    """``type=`` for ``--python-hz`` and ``--native-hz``: 0 to `MAX_PYTHON_HZ`."""
    if not text.isdigit() or int(text) > MAX_PYTHON_HZ:
        raise argparse.ArgumentTypeError(
            tr(
                "{text!r} is not a number of samples per second from 0 to {most}",
                text=text,
                most=MAX_PYTHON_HZ,
            )
        )
    return int(text)


def count_of_steps(text: str) -> int:
    """``type=`` for ``--torch-shapes``."""
    if not text.isdigit():
        raise argparse.ArgumentTypeError(tr("{text!r} is not a number of steps", text=text))
    return int(text)


def with_operators(trace: tuple[str, ...], shapes: int) -> tuple[str, ...]:
    """The sources, with ``torch`` added if shapes of operators were asked for."""
    return (*trace, "torch") if shapes and "torch" not in trace else trace


def capture_range(text: str) -> str:
    """``type=`` for ``--capture-range``."""
    try:
        source_of_range(text)
    except ValueError as error:
        known = ", ".join(capture_ranges())
        raise argparse.ArgumentTypeError(
            tr("not a capture range: {text!r} (one of {known})", text=text, known=known)
        ) from error
    return text


def status_writer(descriptor: int | None) -> Callable[[dict[str, Any]], None]:
    """A function that writes each status as a JSON line; if the reader has gone, recording continues."""
    if descriptor is None:
        return lambda _status: None
    try:
        # The program must not inherit it: the reader at the other end waits until every writer has closed it.
        os.set_inheritable(descriptor, False)
    except OSError as error:
        raise _usage(tr("--status-fd {number}: {error}", number=descriptor, error=error.strerror)) from error
    open_ = True

    def write(status: dict[str, Any]) -> None:
        nonlocal open_
        if open_:
            try:
                os.write(descriptor, json.dumps(status).encode() + b"\n")
            except OSError:
                open_ = False

    return write


def summary_line(result: Result) -> str:
    """One line about a recording: the file, the number of events, and what was lost or not recorded."""
    if result.path is None:
        return result.error or tr("the recording was discarded")
    lost = (
        lost_text(result.lost, result.events)
        if result.lost
        else tr("{sources} could not be read", sources=", ".join(result.damaged))
        if result.damaged
        else tr("nothing lost")
    )
    text = tr_n(
        "{path}: {count:,} event in {duration}, {lost}",
        "{path}: {count:,} events in {duration}, {lost}",
        result.events,
        path=shortest(result.path),
        duration=format_duration(result.duration_ns),
        lost=lost,
    )
    if result.left_ring_ns:
        text += tr("; {time} before have left the ring", time=format_duration(result.left_ring_ns))
    if result.outcome is not None and result.outcome.ended_early:
        text += f"; {translated(result.outcome.ended_early)}"
    if result.damaged:
        text += tr("; the recording is kept beside it, for warpline recover with another version")
    consequences = {source.name: source.without for source in recording_sources() if source.without}
    for source in result.outcome.sources if result.outcome is not None else ():
        if source.name in consequences and not source.enabled and source.remedy:
            text += tr(
                "; {consequence}, because {reason}; {remedy}",
                consequence=translated(consequences[source.name]),
                reason=translated(source.reason),
                remedy=translated(source.remedy),
            )
        elif source.enabled and source.lost and source.reason:
            text += f"; {source.name}: {translated(source.reason)}"
    return text


def shortest(path: Path) -> Path:
    """The path relative to the current folder, if that is shorter."""
    try:
        return path.relative_to(Path.cwd())
    except (ValueError, OSError):
        return path


def _default_name(command: list[str]) -> str:
    # Name "python train.py" after train, not after python.
    script = next((word for word in command[1:] if word.endswith(".py")), command[0])
    return f"{Path(script).stem or 'capture'}-{time.strftime('%Y%m%d-%H%M%S')}.h5"


def _usage(text: str) -> Exception:
    from warpline.model.errors import UsageError

    return UsageError(text)


command = RecordCommand()
