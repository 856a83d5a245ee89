"""Runs a recording from start to end: directory, program, collectors, capture. ``warpline record`` calls it.

Nothing here imports numpy before the program is forked.
"""

from __future__ import annotations

import contextlib
import os
import select
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from warpline._version import __version__
from warpline.i18n import tr
from warpline.model.errors import RecordingError, WarplineError
from warpline.model.tracks import Source
from warpline.recording.capture_of_session import (
    Finish,
    Report,
    Result,
    allow_many_files,
    capture_failed,
    check_output,
    describe_host,
    remove_quietly,
    write_capture,
)
from warpline.recording.environment import environment_for_target
from warpline.recording.platforms import require_linux
from warpline.recording.session import RecordingOptions, Session
from warpline.recording.sources.registry import source_of_range
from warpline.recording.spool.directory import default_spool, new_spool, remove_spool
from warpline.recording.spool.error_ring import make_error_ring
from warpline.recording.spool.secrets import masked

if TYPE_CHECKING:
    from warpline.recording.launch import Target
    from warpline.recording.signals import SignalQueue


def record(
    command: Sequence[str],
    output: Path,
    options: RecordingOptions,
    *,
    spool: Path | None = None,
    report: Report | None = None,
    finish: Finish | None = None,
) -> Result:
    """Run a program, record it, write the capture.

    ``report`` receives status updates as plain values (docs/recording.md, *Status*). Call it from the main thread: it
    handles signals until it returns.
    ``finish`` handles the spool at the end; by default it writes the capture (`write_capture`).

    Raises RecordingError when the recording cannot begin or its capture cannot be written. If the capture fails, the
    spool directory is kept and the message names it.
    """
    tell: Report = report or (lambda _status: None)
    require_linux()
    from warpline.recording.launch import spawn
    from warpline.recording.signals import SignalQueue

    output = output.absolute()
    if finish is None:
        check_output(output)
    directory = (spool or default_spool(output)).absolute()
    with new_spool(directory):
        signals = SignalQueue()
        try:
            target = spawn(command, signals.original_mask)
            return _record(
                command,
                output,
                options,
                directory=directory,
                target=target,
                signals=signals,
                tell=tell,
                finish=finish or write_capture,
            )
        except OSError as error:
            raise RecordingError(f"{error.filename or directory}: {error.strerror or error}") from error
        finally:
            signals.close()
            with contextlib.suppress(OSError):
                directory.rmdir()  # only when nothing was recorded


def _record(
    command: Sequence[str],
    output: Path,
    options: RecordingOptions,
    *,
    directory: Path,
    target: Target,
    signals: SignalQueue,
    tell: Report,
    finish: Finish,
) -> Result:
    from warpline.recording.control import announced
    from warpline.recording.launch import failure_status
    from warpline.recording.recorder import Recorder

    recorder = None
    allow_many_files()
    try:
        session = Session(
            directory=directory,
            output=output,
            command=tuple(command) if options.keeps_arguments else masked(command),
            working_directory=os.getcwd(),
            start_monotonic_ns=time.monotonic_ns(),
            start_realtime_ns=time.time_ns(),
            recorder_pid=os.getpid(),
            target_pid=target.pid,
            options=options,
            host=describe_host(),
            tool=f"warpline {__version__}",
        )
        additions = environment_for_target(session, os.environ)
        _check_capture_range(options, additions.sources)
        session.save()
        if options.keeps_stderr:
            make_error_ring(directory)
        recorder = Recorder(
            session=session,
            target=target,
            signals=signals,
            report=tell,
            said=additions.sources,
            warnings=list(additions.warnings),
        )
        session = replace(session, start_monotonic_ns=time.monotonic_ns(), start_realtime_ns=time.time_ns())
        session.save()
        recorder.session = session
    except (OSError, WarplineError):
        if recorder is not None:
            recorder.abandon()
        target.abandon()
        remove_quietly(directory)
        raise
    refused = target.release(additions.variables)
    if refused is not None:
        recorder.abandon()
        remove_spool(directory)
        return Result(exit_status=failure_status(refused), error=f"{command[0]}: {refused.strerror}")
    try:
        with announced(directory, os.getpid(), target.pid):
            recorder.begin(session.start_monotonic_ns)
            tell(
                {
                    "state": "started",
                    "spool": str(directory),
                    "recorder_pid": os.getpid(),
                    "target_pid": target.pid,
                }
            )
            outcome = recorder.watch()
    except (OSError, MemoryError) as error:
        # The program has begun: let it run to its end, then report the failure.
        outlive(target, signals)
        raise capture_failed(session, error, tell) from error
    has_ended = target.has_ended()
    status = target.wait() if has_ended else None
    session = recorder.session.ended(outcome.stop_monotonic_ns, status, target.exit_signal)
    with contextlib.suppress(OSError):
        session.save()
    result = Result(exit_status=status if status is not None else 0, outcome=outcome)
    try:
        if recorder.discard:
            remove_spool(directory)
            tell({"state": "discarded"})
            if options.waits:
                result = replace(result, error=tr("nothing was recorded: nobody asked for a snapshot"))
        else:
            result = finish(session, outcome, signals, tell, result)
    finally:
        if status is None:
            interrupted_by = outcome.interrupted_by
            status = 128 + interrupted_by if interrupted_by is not None else outlive(target, signals)
    return replace(result, exit_status=status)


def outlive(target: Target, signals: SignalQueue) -> int:
    """Wait for a program that outlives its recording; a second interrupt ends the wait. Returns its status."""
    ended = target.watch()
    interrupts = 0
    poller = select.poll()
    poller.register(signals.descriptor, select.POLLIN)
    if ended is not None:
        poller.register(ended, select.POLLIN)
    try:
        while not target.has_ended():
            poller.poll(1000 if ended is not None else 100)
            for received in signals.take():
                interrupts += 1
                if interrupts > 1:
                    return 128 + received.number
                if not received.by_terminal:
                    target.send(received.number)
        return target.wait()
    finally:
        if ended is not None:
            os.close(ended)


def _check_capture_range(options: RecordingOptions, said: Mapping[str, Source]) -> None:
    needed = source_of_range(options.capture_range)
    if needed is None:
        return
    source = said.get(needed.name)
    if source is None or not source.enabled:
        raise RecordingError(
            tr(
                "--capture-range {range} needs the {source} source{reason}",
                range=options.capture_range,
                source=needed.name,
                reason=f": {source.reason}" if source is not None else "",
            )
        )
