"""What this machine can record, from ``warpline doctor --json``."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from warpline.i18n import tr, translated
from warpline.model.errors import RecordingError
from warpline.model.progress import IsCancelled, Progress
from warpline.own_python import own_python
from warpline.untrusted import visible
from warpline_app.look.ssh_environment import silent_environment

_TIMEOUT_S = 60
_OWN_ERROR = "warpline: error: "


@dataclass(frozen=True, kw_only=True)
class SourceReport:
    """A source: whether it is available, and if not, why and how to enable it. Texts are translated."""

    name: str
    title: str
    available: bool
    reason: str = ""
    remedy: str = ""
    trace: str = ""
    remark: str = ""
    """What it would record, in a few words."""


def read_doctor(_progress: Progress, is_cancelled: IsCancelled) -> tuple[SourceReport, ...]:
    """What the Python that runs Warpline can record.

    Raises RecordingError when the doctor does not answer.
    """
    return _ask(["--quick"], is_cancelled)


def read_doctor_on(
    words: Sequence[str], _progress: Progress, is_cancelled: IsCancelled
) -> tuple[SourceReport, ...]:
    """Like `read_doctor`, for the machine that options of ``warpline doctor`` name.

    Raises RecordingError when it cannot be reached or cannot record.
    """
    return _ask(["--quick", *words], is_cancelled)


def read_doctor_of_every_python(_progress: Progress, is_cancelled: IsCancelled) -> tuple[SourceReport, ...]:
    """Like `read_doctor`, for each Python on this machine; takes seconds.

    Raises RecordingError when the doctor does not answer.
    """
    return _ask([], is_cancelled)


def _ask(words: Sequence[str], is_cancelled: IsCancelled) -> tuple[SourceReport, ...]:
    # In a child process: probing for GPUs and drivers loads libraries the window does not need.
    command = [*own_python("warpline"), "doctor", "--json", *words]
    # Without a terminal: a machine that is only looked at must not ask for passwords.
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **silent_environment()},
        start_new_session=True,
    )
    waited = 0.0
    while True:
        try:
            out, err = process.communicate(timeout=0.1)
            break
        except subprocess.TimeoutExpired as error:
            waited += 0.1
            if is_cancelled() or waited > _TIMEOUT_S:
                process.kill()
                process.communicate()
                raise RecordingError(tr("warpline doctor does not respond")) from error
    try:
        return parse_doctor(json.loads(out))
    except ValueError as error:
        lines = err.decode(errors="replace").strip().splitlines()
        reason = lines[-1] if lines else tr("no output")
        if reason.startswith(_OWN_ERROR):
            raise RecordingError(_with_question(reason.removeprefix(_OWN_ERROR), lines[:-1])) from error
        raise RecordingError(tr("warpline doctor failed: {reason}", reason=reason)) from error


def _with_question(reason: str, before: list[str]) -> str:
    """The reason, and that ssh would ask: it says so in a line of its own."""
    refusals = ("Host key verification failed", "Permission denied")
    line = next((line for line in before if any(refusal in line for refusal in refusals)), "")
    if not line:
        return reason
    return tr(
        "{reason}: {line} It may ask you when the recording starts.",
        reason=reason,
        line=visible(line.strip()),
    )


def parse_doctor(answer: object) -> tuple[SourceReport, ...]:
    """The sources in the output of ``doctor --json``. Raises ValueError for other data."""
    entries = answer.get("sources") if isinstance(answer, dict) else None
    if not isinstance(entries, list):
        raise ValueError("no sources in the answer")
    reports: list[SourceReport] = []
    for entry in entries:
        if isinstance(entry, dict) and entry.get("name"):
            name = str(entry["name"])
            reports.append(
                SourceReport(
                    name=name,
                    title=translated(str(entry.get("title") or name)),
                    available=bool(entry.get("available", entry.get("enabled"))),
                    reason=translated(str(entry.get("reason") or "")),
                    remedy=translated(str(entry.get("remedy") or "")),
                    trace=str(entry.get("trace") or ""),
                )
            )
    return tuple(reports)
