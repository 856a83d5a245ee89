"""Records programs on another machine; their streams and spools arrive here, where the captures are written."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from warpline.i18n import tr
from warpline.model.errors import RecordingError
from warpline.recording.capture_of_session import Report, Result, check_output
from warpline.recording.remote.near import run_notes
from warpline.recording.remote.near.local_streams import terminal_size
from warpline.recording.remote.near.run import FarRun
from warpline.recording.remote.near.transport import FarMachine, ask
from warpline.recording.session import RecordingOptions
from warpline.recording.spool.directory import default_spool, held_spool, new_spool


@dataclass(frozen=True, kw_only=True)
class FarSettings:
    """What a program gets on the other machine. ``directory`` is its home by default."""

    directory: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    spool: str = ""
    """Folder for the recording on the other machine; by default one in the user's cache there."""
    ends_with_us: bool = False
    """Whether the program ends when the connection is lost."""


def record_on(
    place: FarMachine,
    command: Sequence[str],
    output: Path,
    options: RecordingOptions,
    settings: FarSettings,
    *,
    spool: Path | None = None,
    report: Report | None = None,
) -> Result:
    """Run a program on another machine, record it there, and write the capture here. Call it from the main thread.

    Raises RecordingError as `warpline.recording.record.record`, and when the connection is lost: the recording goes on
    over there then.
    """
    request = {"action": "record", "command": list(command), "title": " ".join(command)[:200]}
    return _begin(place, request, output, options, settings, spool=spool, report=report)


def attach_on(
    place: FarMachine,
    pid: int,
    output: Path,
    options: RecordingOptions,
    settings: FarSettings,
    *,
    spool: Path | None = None,
    report: Report | None = None,
) -> Result:
    """Record a program that runs on another machine; see `record_on`."""
    request = {"action": "attach", "pid": pid, "title": str(pid)}
    return _begin(place, request, output, options, settings, spool=spool, report=report)


def resume_on(place: FarMachine, output: Path | None, *, report: Report | None = None) -> Result:
    """Take up a recording whose connection was lost.

    Raises RecordingError when there is none or several, and as `record_on`.
    """
    run, note = _choose(place, output)
    target = Path(note.output) if output is None else output.absolute()
    spool = Path(note.spool) if output is None or str(target) == note.output else default_spool(target)
    check_output(target)
    with contextlib.ExitStack() as stack:
        if spool.is_dir():
            stack.enter_context(held_spool(spool))
        else:
            stack.enter_context(new_spool(spool))
        request = {"action": "resume", "run": run, "has_held": True}
        return FarRun(place, request, target, spool, report).finish()


def _begin(
    place: FarMachine,
    request: dict[str, Any],
    output: Path,
    options: RecordingOptions,
    settings: FarSettings,
    *,
    spool: Path | None,
    report: Report | None,
) -> Result:
    output = output.absolute()
    check_output(output)
    directory = (spool or default_spool(output)).absolute()
    terminal = terminal_size() if request["action"] == "record" else None
    of_terminal = {"TERM": os.environ["TERM"]} if terminal and "TERM" in os.environ else {}
    request |= {
        "run": secrets.token_hex(6),
        "output": str(output),
        "options": asdict(options),
        "chdir": settings.directory,
        "environment": {**of_terminal, **settings.environment},
        "spool": settings.spool,
        "with_me": settings.ends_with_us,
        "terminal": terminal,
    }
    with new_spool(directory):
        try:
            return FarRun(place, request, output, directory, report).finish()
        finally:
            with contextlib.suppress(OSError):
                directory.rmdir()  # only when nothing was recorded


def _choose(place: FarMachine, output: Path | None) -> tuple[str, run_notes.RunNote]:
    """The run to resume: the only one of this machine, or the one that was meant for ``output``."""
    known = ask(place, {"action": "runs"}).get("runs")
    runs = [run for run in known if isinstance(run, dict)] if isinstance(known, list) else []
    pairs = [(str(run.get("run")), run_notes.noted(run.get("run"))) for run in runs]
    ours = [(run, note) for run, note in pairs if note is not None]
    if output is not None:
        ours = [pair for pair in ours if pair[1].output == str(output.absolute())]
    if len(ours) == 1:
        return ours[0]
    if not ours:
        raise RecordingError(
            tr("{host}: no recording started from this computer runs or waits there", host=place.title)
        )
    outputs = ", ".join(note.output for _run, note in ours)
    raise RecordingError(
        tr("{host} has several recordings, name one with -o: {outputs}", host=place.title, outputs=outputs)
    )
