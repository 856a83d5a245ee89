"""Questions to another machine that are answered at once."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from warpline.i18n import tr, tr_n
from warpline.model.errors import RecordingError
from warpline.recording.doctor import SourceCheck
from warpline.recording.remote.near.transport import FarMachine, ask
from warpline.untrusted import visible


def doctor_on(place: FarMachine, *, every_python: bool) -> tuple[list[SourceCheck], dict[str, str]]:
    """What another machine can record, and its ``host``, ``system`` and ``python``.

    Raises RecordingError.
    """
    answer = ask(place, {"action": "doctor", "quick": not every_python})
    rows = answer.get("sources")
    checks = [_check(row) for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    if not checks:
        raise RecordingError(tr("{host}: its answer makes no sense", host=place.title))
    machine = {name: visible(str(answer.get(name, ""))) for name in ("host", "system", "python")}
    return checks, machine


def control_on(
    place: FarMachine, recording: str | None, command: str, values: dict[str, Any]
) -> dict[str, Any]:
    """The reply of a recording on another machine (`warpline.recording.control.send_command`).

    Raises RecordingError.
    """
    request = {"action": "control", "recording": recording, "command": command, "fields": values}
    return _reply(ask(place, request))


def control_all_on(
    place: FarMachine, recording: str | None, command: str, values: dict[str, Any]
) -> list[dict[str, Any]]:
    """The replies of the recordings on another machine (`warpline.recording.control.send_to_all`).

    Raises RecordingError.
    """
    request = {"action": "control_all", "recording": recording, "command": command, "fields": values}
    replies = ask(place, request).get("replies")
    rows = [row for row in replies if isinstance(row, dict)] if isinstance(replies, list) else []
    if not rows:
        raise RecordingError(tr("{host}: its answer makes no sense", host=place.title))
    return [
        _reply(row)
        if row.get("ok") is True
        else {"ok": False, "error": visible(str(row.get("error"))), "is_late": row.get("is_late") is True}
        for row in rows
    ]


def _reply(answer: dict[str, Any]) -> dict[str, Any]:
    """The reply of a recorder, with values of the expected types only."""
    numbers = {name: _number(answer.get(name)) for name in ("elapsed_ns", "events", "lost", "target_pid")}
    asked = answer.get("snapshot")
    sources, warnings = answer.get("sources"), answer.get("warnings")
    return {
        "ok": True,
        "state": visible(str(answer.get("state"))),
        **numbers,
        "output": visible(str(answer.get("output", ""))),
        "steps": _number(answer.get("steps")),
        "snapshot": [_number(step) for step in asked][:2] if isinstance(asked, list) else None,
        "sources": [
            {
                "name": str(row.get("name")),
                "enabled": row.get("enabled") is True,
                "is_inside": row.get("is_inside") is True,
                "reason": str(row.get("reason")),
            }
            for row in (sources if isinstance(sources, list) else [])
            if isinstance(row, dict)
        ],
        "warnings": [visible(str(text)) for text in (warnings if isinstance(warnings, list) else [])],
    }


def clean_on(place: FarMachine) -> str:
    """Remove our files from another machine; returns what was done.

    Raises RecordingError.
    """
    answer = ask(place, {"action": "clean"})
    runs = answer.get("runs")
    count = len(runs) if isinstance(runs, list) else 0
    folder = visible(str(answer.get("folder")))
    if not count:
        return tr("{host}: {folder} is removed", host=place.title, folder=folder)
    return tr_n(
        "{host}: {count} unfinished recording stays in {folder}",
        "{host}: {count} unfinished recordings stay in {folder}",
        count,
        host=place.title,
        folder=folder,
    )


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _check(row: dict[str, Any]) -> SourceCheck:
    values: dict[str, Any] = {
        field.name: visible(str(row.get(field.name, ""))) for field in fields(SourceCheck)
    }
    return SourceCheck(**{**values, "available": row.get("available") is True})
