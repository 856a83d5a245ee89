"""``warpline record --on A,B,C``: the same command on several machines at once, one capture each."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import selectors
import shlex
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from warpline.cli.host_list import Host, variables_of
from warpline.i18n import tr
from warpline.model.errors import UsageError, WarplineError
from warpline.model.times import format_duration
from warpline.platform.systems import can_wait_for_pipes, fork, is_linux, stop_waiting

if TYPE_CHECKING:
    from warpline.recording.remote.near.local_streams import LocalSignals
    from warpline.recording.signals import SignalQueue

FAILED = 125
_INTERRUPTED = 130
_READ_BYTES = 1 << 16
_LONGEST_LINE = 1 << 16


def filled_in(output: Path, rank: int, host: str) -> Path:
    """The output, with ``{host}`` and ``{rank}`` in its name replaced."""
    name = re.sub(r"[^A-Za-z0-9._-]", "_", host)
    return output.with_name(output.name.replace("{host}", name).replace("{rank}", str(rank)))


def output_of(output: Path, rank: int, host: str) -> Path:
    """``run-rank0-HOST.h5`` for ``run.h5``; ``{host}`` and ``{rank}`` in a name are filled in instead."""
    named = filled_in(output, rank, host)
    if named != output:
        return named
    name = re.sub(r"[^A-Za-z0-9._-]", "_", host)
    return output.with_name(f"{output.stem}-rank{rank}-{name}{output.suffix or '.h5'}")


@dataclass
class _Child:
    host: str
    pid: int
    output: Path
    streams: dict[int, int]
    """Descriptors to read from, and ours to write to."""
    alive: int
    """A descriptor that reaches its end when the process ends: programs that it starts do not inherit the other end."""
    rest: dict[int, bytes] = field(default_factory=dict)


def record_on_each(
    args: argparse.Namespace, hosts: Sequence[Host], output: Path, record: Callable[[argparse.Namespace], int]
) -> int:
    """Run ``record`` in a process for each host and show their output, each line after its host.

    The programs have no input; each has its number and their count in its environment (`variables_of`). Returns the
    first status that is not 0. Raises UsageError for options that one machine only can have.
    """
    given = {"--spool": args.spool, "--status-fd": args.status_fd, "--via": args.via}
    option = next((option for option, value in given.items() if value is not None), None)
    if option is not None:
        raise UsageError(tr("{option} does not work with several hosts", option=option))
    if not can_wait_for_pipes():
        raise UsageError(tr("several hosts at once need Linux or macOS here"))
    outputs = [output_of(output, rank, host.name) for rank, host in enumerate(hosts)]
    if len(set(outputs)) < len(outputs):
        raise UsageError(tr("{output}: a host is named twice; add {{rank}} to the name", output=output))
    before = [_identity(path) for path in outputs]
    sys.stdout.flush()
    sys.stderr.flush()
    # Before the first process starts, so that an early signal is passed on to all of them.
    signals = _signal_queue()
    try:
        children: list[_Child] = []
        for rank, (host, path) in enumerate(zip(hosts, outputs, strict=True)):
            own = argparse.Namespace(**vars(args))
            own.on, own.output = host.name, path
            own.env = [*(f"{name}={value}" for name, value in variables_of(hosts, rank).items()), *args.env]
            children.append(_begin(own, children, signals, record))
        _show(children, signals)
        statuses = [os.waitstatus_to_exitcode(os.waitpid(child.pid, 0)[1]) for child in children]
    finally:
        signals.close()
    captures = [str(path) for path, former in zip(outputs, before, strict=True) if _identity(path) != former]
    if len(captures) > 1 and not args.quiet:
        if (bound_ns := _clock_bound_ns(captures)) is not None:
            text = tr("clocks compared by pings, to within {time}", time=format_duration(bound_ns))
            print(f"warpline: {text}", file=sys.stderr)
        text = tr("as a job: {command}", command=shlex.join(("warpline", "job", *captures)))
        print(f"warpline: {text}", file=sys.stderr)
    return next((status if status > 0 else FAILED for status in statuses if status), 0)


def _clock_bound_ns(captures: Sequence[str]) -> int | None:
    """By how much two of the captures may be apart; None when a clock was not compared."""
    from warpline.analysis.jobs.pinged_clocks import pinged_clock
    from warpline.storage import open_capture

    bounds: list[int] = []
    for path in captures:
        try:
            with open_capture(Path(path)) as capture:
                clock = pinged_clock(capture.meta)
        except (WarplineError, OSError):
            clock = None
        if clock is None:
            return None
        bounds.append(clock.bound_ns)
    return sum(sorted(bounds)[-2:])


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns


def _signal_queue() -> SignalQueue | LocalSignals:
    """Collects the signals that end programs."""
    if is_linux():
        from warpline.recording.signals import SignalQueue

        return SignalQueue()
    from warpline.recording.remote.near.local_streams import LocalSignals

    return LocalSignals()


def _pass_on(signals: SignalQueue | LocalSignals, children: Sequence[_Child]) -> None:
    """Pass signals on to the children, except those that a terminal sends to all of us."""
    for received in signals.take():
        if received.by_terminal or (not is_linux() and received.number == signal.SIGINT and os.isatty(0)):
            continue
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child.pid, received.number)


def _begin(
    args: argparse.Namespace,
    before: Sequence[_Child],
    signals: SignalQueue | LocalSignals,
    record: Callable[[argparse.Namespace], int],
) -> _Child:
    pipes = {number: os.pipe() for number in (1, 2)}
    alive, alive_here = os.pipe()
    pid = fork()
    if pid == 0:
        status = FAILED
        try:
            signals.close()
            # Only our parent reads these; if it was killed, nobody does.
            for descriptor in (alive, *(read for read, _write in pipes.values()), *_descriptors(before)):
                os.close(descriptor)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            for number, (_read, write) in pipes.items():
                os.dup2(write, number)
                os.close(write)
            status = record(args)
        except WarplineError as error:
            print(f"warpline: error: {' '.join(str(error).split())}", file=sys.stderr)
        except KeyboardInterrupt:
            status = _INTERRUPTED
        except SystemExit as request:
            status = request.code if isinstance(request.code, int) else FAILED
        except BaseException as error:  # a forked process: an error must not run on into the caller's code
            print(f"warpline: error: {type(error).__name__}: {error}", file=sys.stderr)
        finally:
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(Exception):
                    stream.flush()
            os._exit(status)
    os.close(alive_here)
    for _read, write in pipes.values():
        os.close(write)
    streams = {read: number for number, (read, _write) in pipes.items()}
    return _Child(args.on, pid, args.output, streams, alive)


def _descriptors(children: Sequence[_Child]) -> list[int]:
    return [descriptor for child in children for descriptor in (child.alive, *child.streams)]


def _show(children: Sequence[_Child], signals: SignalQueue | LocalSignals) -> None:
    """Print the children's output, line by line, until they have ended; pass signals on to them.

    What they started may live on with their streams, such as a shared connection of ssh.
    """
    running = {child.alive for child in children}
    with selectors.DefaultSelector() as selector:
        selector.register(signals.descriptor, selectors.EVENT_READ)
        for child in children:
            for descriptor in (child.alive, *child.streams):
                selector.register(descriptor, selectors.EVENT_READ, child)
        while running:
            for key, _events in selector.select():
                child, descriptor = key.data, key.fd
                if child is None:
                    _pass_on(signals, children)
                elif descriptor in running:
                    running.remove(descriptor)
                    for stream in child.streams:
                        _write_rest(child, stream)
                        if stream in selector.get_map():
                            selector.unregister(stream)
                    selector.unregister(descriptor)
                elif descriptor in selector.get_map() and not _take(child, descriptor):
                    selector.unregister(descriptor)
    for descriptor in _descriptors(children):
        os.close(descriptor)


def _write_rest(child: _Child, descriptor: int) -> None:
    """Write what has arrived from a child that has ended."""
    stop_waiting(descriptor)
    with contextlib.suppress(BlockingIOError):
        while _take(child, descriptor):
            pass
    _write_lines(child, descriptor, b"")


def _take(child: _Child, descriptor: int) -> bool:
    """Write what a child has written; False at its end."""
    data = os.read(descriptor, _READ_BYTES)
    _write_lines(child, descriptor, data)
    return bool(data)


def _write_lines(child: _Child, descriptor: int, data: bytes) -> None:
    *lines, rest = (child.rest.pop(descriptor, b"") + data).split(b"\n")
    if rest and (not data or len(rest) > _LONGEST_LINE):
        lines, rest = [*lines, rest], b""
    child.rest[descriptor] = rest
    text = b"".join(b"[%s] %s\n" % (os.fsencode(child.host), line) for line in lines)
    # The reader has gone: drop the rest, as any program would; the recordings go on.
    with contextlib.suppress(BrokenPipeError):
        while text:
            text = text[os.write(child.streams[descriptor], text) :]
