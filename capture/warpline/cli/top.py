"""``warpline top``: what the threads and GPUs of a recording do now, in a terminal."""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from warpline.cli.arguments import time_ns
from warpline.cli.remote_options import add_place_options, chosen_place
from warpline.i18n import english, tr
from warpline.model.errors import RecordingError, UsageError
from warpline.recording.control import SOCKET_FILE
from warpline.recording.session import SESSION_FILE
from warpline.recording.spool.directory import default_spool, recovering
from warpline.terminal import steered

_HOME, _CLEAR_REST = "\x1b[H", "\x1b[J"


@dataclass(frozen=True)
class TopCommand:
    """Shows the last seconds of a recording, again and again while it runs."""

    name: str = "top"
    help: str = english("show in the terminal what the threads and GPUs of a recording do")

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "recording",
            nargs="?",
            metavar="PID|FILE|SPOOL",
            help=tr(
                "a running recording, by process id, capture or spool directory (default: the only one); "
                "or a finished capture"
            ),
        )
        add_place_options(parser)
        parser.add_argument(
            "--last",
            type=time_ns,
            metavar="T",
            help=tr("show the last T (default: 5s of a running recording, all of a capture)"),
        )
        parser.add_argument(
            "--every",
            type=time_ns,
            default=2_000_000_000,
            metavar="T",
            help=tr("time between two updates (default: 2s); without a terminal, print one and exit"),
        )

    def run(self, args: argparse.Namespace) -> int:
        path = Path(args.recording) if args.recording else None
        if args.last == 0 or args.every == 0:
            raise UsageError(tr("--last and --every need a time longer than 0"))
        last_ns = args.last or 5_000_000_000
        place = chosen_place(args)
        if place is not None:
            from warpline.recording.remote.near.watching import watching

            with watching(place, args.recording) as watched:
                title = f"{place.title}: {watched.name}"
                return _watch(
                    watched.spool, title, watched.check, lambda: watched.has_ended, last_ns, args.every
                )
        if path is not None and path.is_file() and not _is_being_replaced(path):
            return _show_file(path, args.last)
        spool = _spool_of(args.recording)

        def has_ended() -> bool:
            # A recorder removes its socket when it ends; one that was killed does not.
            return not (spool / SOCKET_FILE).exists()

        name = spool.name.removesuffix(".spool")
        return _watch(spool, name, lambda: _need_recorder(spool), has_ended, last_ns, args.every)


command = TopCommand()


def _spool_of(which: str | None) -> Path:
    from warpline.recording.control import find_recording

    spool = find_recording(which)
    if not _is_spool(spool):
        raise RecordingError(
            tr(
                "{spool}: neither a capture nor a recording that runs; record a running program with:"
                " warpline attach PID",
                spool=spool,
            )
        )
    return spool


def _is_spool(path: Path) -> bool:
    return (path / SESSION_FILE).is_file()


def _need_recorder(spool: Path) -> None:
    """Raises RecordingError when nothing records into a spool directory any more."""
    from warpline.recording.control import is_recording
    from warpline.recording.session import load_session

    if not is_recording(spool):
        raise RecordingError(
            tr(
                "{spool}: nothing is recording there any more; if its capture does not appear, write it with:"
                " warpline recover {arguments}",
                spool=spool,
                arguments=recovering(spool.absolute(), load_session(spool).output),
            )
        )


def _show_file(path: Path, last_ns: int | None) -> int:
    from warpline.cli.top_picture import picture
    from warpline.library.opening import open_path
    from warpline.model.progress import never

    with open_path(path, lambda _fraction, _text: None, never).capture as capture:
        start, stop = capture.span
        first = start if last_ns is None else max(start, stop - last_ns)
        print("\n".join(picture(capture, path.name, first, stop, stop - start)))
    return 0


def _is_being_replaced(path: Path) -> bool:
    """Whether a recording runs that will write this capture anew."""
    from warpline.recording.control import is_recording

    return _is_spool(default_spool(path)) and is_recording(default_spool(path))


def _watch(
    spool: Path,
    name: str,
    check: Callable[[], None],
    has_ended: Callable[[], bool],
    last_ns: int,
    every_ns: int,
) -> int:
    """Show the recording until it ends or the user has seen enough. ``check`` raises RecordingError without one."""
    from warpline.cli.top_picture import picture
    from warpline.recording.live.client import SnapshotProcess
    from warpline.recording.live.pace import SHARE
    from warpline.recording.live.snapshots import open_snapshot

    process = SnapshotProcess(spool)
    has_shown = False
    try:
        while True:
            check()
            own_cpu_s = time.process_time()
            snapshot = process.ask_last(last_ns)
            start, stop = max(snapshot.kept_ns, snapshot.head_ns - last_ns), snapshot.head_ns
            with open_snapshot(snapshot) as capture:
                width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
                lines = picture(capture, name, start, stop, stop, width)
            if not sys.stdout.isatty():
                print("\n".join(lines))
                return 0
            _draw(lines, is_first=not has_shown)
            has_shown = True
            cpu_s = snapshot.cpu_s + time.process_time() - own_cpu_s
            time.sleep(max(every_ns / 1e9, cpu_s / SHARE))
    except KeyboardInterrupt:
        return 0
    except RecordingError:
        if not (has_shown and has_ended()):
            raise
        print(tr("The recording has ended."))
    finally:
        process.end()
    return 0


def _draw(lines: list[str], *, is_first: bool) -> None:
    """Draw over the previous picture."""
    size = shutil.get_terminal_size()
    control = steered(sys.stdout)
    control.write((_HOME + _CLEAR_REST) if is_first else _HOME)
    for line in lines[: size.lines - 1]:
        sys.stdout.write(line[: size.columns])
        control.write("\x1b[K\n")
    control.write(_CLEAR_REST)
    control.flush()
