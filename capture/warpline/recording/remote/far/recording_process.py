"""The process that records on the other machine: the same recorder as here, whose spool stays where it is."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from warpline.model.errors import WarplineError
from warpline.recording.remote.far.places import RESULT_FILE, write_json
from warpline.recording.session import RecordingOptions


def record_here(run: Path, request: dict[str, Any], status: int) -> None:
    """Record what a request asks for, and leave the result in the run's folder."""

    def tell(values: dict[str, Any]) -> None:
        nonlocal status
        if status >= 0:
            try:
                os.write(status, json.dumps(values).encode() + b"\n")
            except OSError:
                status = -1  # the keeper was killed; the recording goes on

    try:
        result = _record(request, tell)
    except WarplineError as error:
        result = {"failed": str(error)}
    except Exception as error:  # nobody sees our standard error
        result = {"failed": f"{type(error).__name__}: {error}"}
    write_json(run / RESULT_FILE, result)


def _record(request: dict[str, Any], tell: Any) -> dict[str, Any]:
    values = dict(request["options"])
    values["trace"] = tuple(values["trace"])
    options = RecordingOptions(**values)
    spool = Path(request["spool"])
    output = Path(request["output"])
    if request["action"] == "attach":
        from warpline.recording.attach import attach

        result = attach(request["pid"], output, options, spool=spool, report=tell, finish=keep_spool)
    else:
        from warpline.recording.record import record

        result = record(request["command"], output, options, spool=spool, report=tell, finish=keep_spool)
    outcome = result.outcome
    return {
        "exit_status": result.exit_status,
        "error": result.error,
        "outcome": None
        if outcome is None
        else {
            **asdict(replace(outcome, sources=())),
            "sources": [asdict(source) for source in outcome.sources],
        },
    }


def keep_spool(session: Any, outcome: Any, _signals: Any, tell: Any, result: Any) -> Any:
    """Leave the spool where it is: the capture is written at the other end."""
    tell({"state": "recorded", "stop_monotonic_ns": outcome.stop_monotonic_ns})
    return replace(result, duration_ns=outcome.stop_monotonic_ns - session.start_monotonic_ns)
