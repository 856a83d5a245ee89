"""Records a running program from outside until it ends or the recording is stopped: ``warpline attach``."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Container, Mapping
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
    check_output,
    describe_host,
    remove_quietly,
    write_capture,
)
from warpline.recording.inside_program import InsideProgram
from warpline.recording.platforms import require_linux
from warpline.recording.proc_files import command_line
from warpline.recording.running import RunningProgram
from warpline.recording.session import RecordingOptions, Session
from warpline.recording.sources.registry import asked_sources
from warpline.recording.sources.source import START_REMEDY
from warpline.recording.spool.directory import default_spool, new_spool, remove_spool
from warpline.recording.spool.secrets import masked

if TYPE_CHECKING:
    from warpline.recording.recorder import Recorder
    from warpline.recording.signals import SignalQueue


def attach(
    pid: int,
    output: Path,
    options: RecordingOptions,
    *,
    spool: Path | None = None,
    report: Report | None = None,
    loads_agent: bool = False,
    is_inside: bool = False,
    finish: Finish | None = None,
) -> Result:
    """Record the process ``pid`` and its children and write the capture. Call it from the main thread.

    With ``loads_agent`` the program loads the agent itself, using the ``variables`` of the *started* status. With
    ``is_inside`` it is asked to (Python 3.14 and later), and to release it at the end.
    ``finish`` handles the spool at the end; by default it writes the capture (`write_capture`).

    Raises RecordingError when there is no such process, the recording cannot begin or its capture cannot be written.
    """
    tell: Report = report or (lambda _status: None)
    require_linux()
    from warpline.recording.signals import SignalQueue

    if pid == os.getpid():
        raise RecordingError(tr("a process cannot attach to itself: {pid} is this process", pid=pid))
    with contextlib.ExitStack() as stack:
        target = RunningProgram(pid)
        stack.callback(target.close)
        if check_owner(pid):
            # The recording of another user's program is readable by its owner only.
            stack.callback(os.umask, os.umask(0o077))
        output = output.absolute()
        if finish is None:
            check_output(output)
        directory = (spool or default_spool(output)).absolute()
        stack.enter_context(new_spool(directory))
        inside = InsideProgram(pid, directory) if is_inside else None
        if inside is not None:
            stack.callback(inside.close)
        signals = SignalQueue()
        stack.callback(signals.close)
        return _attach(
            target,
            directory,
            output,
            options=options,
            signals=signals,
            tell=tell,
            loads_agent=loads_agent,
            inside_program=inside,
            finish=finish or write_capture,
        )


def _attach(
    target: RunningProgram,
    directory: Path,
    output: Path,
    *,
    options: RecordingOptions,
    signals: SignalQueue,
    tell: Report,
    loads_agent: bool,
    inside_program: InsideProgram | None,
    finish: Finish,
) -> Result:
    from warpline.recording.control import announced

    pid = target.pid
    recorder: Recorder | None = None
    try:
        # numpy starts threads: signals must be blocked first, or one of its threads would receive them.
        from warpline.recording.recorder import Recorder

        allow_many_files()
        session = _session(pid, directory, output, options)
        session.save()
        inside = _agent_variables(options) if loads_agent or inside_program is not None else {}
        recorder = Recorder(
            session=session,
            target=target,
            signals=signals,
            report=tell,
            said=_refused_sources(options, inside),
            before_stop=inside_program.end if inside_program is not None else None,
        )
        session = replace(session, start_monotonic_ns=time.monotonic_ns(), start_realtime_ns=time.time_ns())
        session.save()
        recorder.session = session
        with announced(directory, os.getpid(), pid):
            recorder.begin(session.start_monotonic_ns)
            started = {"state": "started", "spool": str(directory), "recorder_pid": os.getpid()}
            variables = {name: value for part in inside.values() for name, value in part.items()}
            if inside_program is not None:
                inside_program.begin(variables)
            tell({**started, "target_pid": pid, **({"variables": variables} if loads_agent else {})})
            outcome = recorder.watch()
        session = recorder.session.ended(outcome.stop_monotonic_ns, None)
        with contextlib.suppress(OSError):
            session.save()
        result = Result(exit_status=0, outcome=outcome)
        if recorder.discard:
            remove_spool(directory)
            tell({"state": "discarded"})
            return result
        return finish(session, outcome, signals, tell, result)
    except (OSError, WarplineError) as error:
        if recorder is None:
            remove_quietly(directory)
        if isinstance(error, OSError):
            raise RecordingError(f"{error.filename or directory}: {error.strerror or error}") from error
        raise


def check_owner(pid: int) -> bool:
    """Whether a process belongs to another user. Raises RecordingError unless root or its owner asks."""
    with contextlib.suppress(OSError):
        owner = os.stat(f"/proc/{pid}").st_uid
        if os.geteuid() not in {0, owner}:
            raise RecordingError(
                tr("no permission to record process {pid}: it belongs to another user", pid=pid)
            )
        return owner != os.geteuid()
    return True


def _session(pid: int, directory: Path, output: Path, options: RecordingOptions) -> Session:
    try:
        folder = os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        folder = ""
    words = tuple(command_line(pid).split("\0"))
    return Session(
        directory=directory,
        output=output,
        command=words if options.keeps_arguments else masked(words),
        working_directory=folder,
        start_monotonic_ns=time.monotonic_ns(),
        start_realtime_ns=time.time_ns(),
        recorder_pid=os.getpid(),
        target_pid=pid,
        options=options,
        host=describe_host(),
        tool=f"warpline {__version__}",
        was_running=True,
    )


def _agent_variables(options: RecordingOptions) -> dict[str, Mapping[str, str]]:
    """Environment variables for a program that loads the agent itself, by source name."""
    variables: dict[str, Mapping[str, str]] = {}
    joined: dict[str, str] = {}
    for source in asked_sources(options.trace):
        own = source.joining(joined)
        if own is not None:
            variables[source.name] = own
            joined.update(own)
    return variables


def _refused_sources(options: RecordingOptions, inside: Container[str]) -> dict[str, Source]:
    """Sources that cannot record a running program, with the reason."""
    return {
        source.name: Source(source.name, False, source.needs_start, 0, START_REMEDY)
        for source in asked_sources(options.trace)
        if source.needs_start and source.name not in inside
    }
