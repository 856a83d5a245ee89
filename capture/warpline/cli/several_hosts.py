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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from warpline.i18n import tr
from warpline.model.errors import UsageError, WarplineError
from warpline.platform.systems import can_wait_for_pipes

FAILED = 125
_READ_BYTES = 1 << 16
_LONGEST_LINE = 1 << 16


def hosts_of(text: str | None) -> list[str]:
    """The hosts in a list with commas, in the order of their ranks.

    Raises UsageError for a list that names a host twice or none.
    """
    if text is None or "," not in text:
        return [] if text is None else [text]
    hosts = [host.strip() for host in text.split(",")]
    if not all(hosts) or len(set(hosts)) < len(hosts):
        raise UsageError(tr("--on {text}: name every host once, as in --on a,b,c", text=text))
    return hosts


def output_of(output: Path, rank: int, host: str) -> Path:
    """``run.h5`` becomes ``run-rank0-HOST.h5``."""
    name = re.sub(r"[^A-Za-z0-9._-]", "_", host)
    return output.with_name(f"{output.stem}-rank{rank}-{name}{output.suffix or '.h5'}")


@dataclass
class _Child:
    host: str
    pid: int
    output: Path
    streams: dict[int, int]
    """Descriptors to read from, and ours to write to."""
    rest: dict[int, bytes] = field(default_factory=dict)


def record_on_each(
    args: argparse.Namespace, hosts: Sequence[str], output: Path, record: Callable[[argparse.Namespace], int]
) -> int:
    """Run ``record`` in a process for each host and show their output, each line after its host.

    The programs have no input; each has its number and their count as ``WARPLINE_RANK`` and ``WARPLINE_RANKS``. Returns
    the first status that is not 0. Raises UsageError for options that one machine only can have.
    """
    given = {"--spool": args.spool, "--status-fd": args.status_fd, "--via": args.via}
    option = next((option for option, value in given.items() if value is not None), None)
    if option is not None:
        raise UsageError(tr("{option} does not go with several hosts", option=option))
    if not can_wait_for_pipes():
        raise UsageError(tr("several hosts at once need Linux or macOS here"))
    sys.stdout.flush()
    sys.stderr.flush()
    children = [_begin(args, len(hosts), rank, host, output, record) for rank, host in enumerate(hosts)]
    with _signals_for(children):
        _show(children)
        statuses = [os.waitstatus_to_exitcode(os.waitpid(child.pid, 0)[1]) for child in children]
    captures = [str(child.output) for child in children if child.output.exists()]
    if len(captures) > 1 and not args.quiet:
        text = tr("as a job: {command}", command=shlex.join(("warpline", "job", *captures)))
        print(f"warpline: {text}", file=sys.stderr)
    return next((status if status > 0 else FAILED for status in statuses if status), 0)


@contextlib.contextmanager
def _signals_for(children: Sequence[_Child]) -> Iterator[None]:
    """In this context signals that end programs go to the children, which pass them on."""

    def pass_on(number: int, _frame: object) -> None:
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child.pid, number)

    # Ctrl-C in a terminal reaches the children without us.
    handlers = {signal.SIGINT: signal.SIG_IGN if os.isatty(0) else pass_on, signal.SIGTERM: pass_on}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _begin(
    args: argparse.Namespace,
    count: int,
    rank: int,
    host: str,
    output: Path,
    record: Callable[[argparse.Namespace], int],
) -> _Child:
    pipes = {number: os.pipe() for number in (1, 2)}
    own = argparse.Namespace(**vars(args))
    own.on, own.output = host, output_of(output, rank, host)
    own.env = [*args.env, f"WARPLINE_RANK={rank}", f"WARPLINE_RANKS={count}"]
    pid = os.fork()
    if pid == 0:
        status = FAILED
        try:
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            for number, (_read, write) in pipes.items():
                os.dup2(write, number)
                os.close(write)
            status = record(own)
        except WarplineError as error:
            print(f"warpline: error: {' '.join(str(error).split())}", file=sys.stderr)
        except BaseException as error:  # a forked process: an error must not run on into the caller's code
            print(f"warpline: error: {type(error).__name__}: {error}", file=sys.stderr)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    for _read, write in pipes.values():
        os.close(write)
    return _Child(host, pid, own.output, {read: number for number, (read, _write) in pipes.items()})


def _show(children: Sequence[_Child]) -> None:
    """Write what the children write, line by line, until they have ended."""
    with selectors.DefaultSelector() as selector:
        for child in children:
            for descriptor in child.streams:
                selector.register(descriptor, selectors.EVENT_READ, child)
        while selector.get_map():
            for key, _events in selector.select():
                child, descriptor = key.data, key.fd
                data = os.read(descriptor, _READ_BYTES)
                _write_lines(child, descriptor, data)
                if not data:
                    selector.unregister(descriptor)
                    os.close(descriptor)


def _write_lines(child: _Child, descriptor: int, data: bytes) -> None:
    *lines, rest = (child.rest.pop(descriptor, b"") + data).split(b"\n")
    if rest and (not data or len(rest) > _LONGEST_LINE):
        lines, rest = [*lines, rest], b""
    child.rest[descriptor] = rest
    text = b"".join(b"[%s] %s\n" % (child.host.encode(), line) for line in lines)
    while text:
        text = text[os.write(child.streams[descriptor], text) :]
