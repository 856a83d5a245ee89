"""Reads source files from disk and judges whether they are the version that ran."""

from __future__ import annotations

import tokenize
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from warpline.i18n import tr
from warpline_app.look.files_there import local_time

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from warpline.storage import Capture

MAX_BYTES = 8 << 20


@dataclass(frozen=True)
class SourceText:
    """A file's ``lines``; None if it cannot be shown, with the reason in ``problem``.

    ``note`` describes the file's age, ``is_doubtful`` warns that it may differ from what ran.
    """

    path: Path
    lines: tuple[str, ...] | None
    note: str = ""
    is_doubtful: bool = False
    problem: str = ""


def read_source(capture: Capture, file: str) -> SourceText:
    """Read the file that a capture's stacks call ``file``."""
    path = Path(file)
    if file.startswith("<"):
        return SourceText(
            path,
            None,
            problem=tr("{file}: this code does not come from a file", file=file),
        )
    folder = capture.meta.get("working_directory")
    if not path.is_absolute() and not folder:
        why = tr("{file}: the capture does not record the program's working directory", file=file)
        return SourceText(path, None, problem=why)
    path = Path(str(folder or "")) / path
    try:
        status = path.stat()
        if status.st_size > MAX_BYTES:
            return SourceText(path, None, problem=tr("{path} is too large for a source file", path=path))
        # Python ends lines only at line breaks; splitlines() also splits at form feeds.
        text = _text(path).removesuffix("\n")
        lines = tuple(text.split("\n")) if text else ()
    except OSError as error:
        return SourceText(path, None, problem=_missing(capture.meta, path, error))
    note, is_doubtful = _age(capture, status.st_mtime_ns)
    return SourceText(path, lines, note, is_doubtful)


def _text(path: Path) -> str:
    try:
        with tokenize.open(path) as file:  # like Python, honours the coding line
            return file.read()
    except (SyntaxError, UnicodeDecodeError):
        return path.read_text("utf-8", errors="replace")


def _missing(meta: Mapping[str, Any], path: Path, error: OSError) -> str:
    reason = error.strerror or str(error)
    machine = _machine(meta)
    if machine and machine != _this_machine():
        return tr(
            "{path}: {reason}. The program ran on {machine}; this is {here}. Copy the file to this path to see it.",
            path=path,
            reason=reason,
            machine=machine,
            here=_this_machine(),
        )
    return tr("{path}: {reason}. Restore the file to see it.", path=path, reason=reason)


def _age(capture: Capture, modified_ns: int) -> tuple[str, bool]:
    """Describes the file's age, and whether its lines may differ."""
    begin = capture.meta.get("start_utc_ns")
    changed = _local(modified_ns)
    if not isinstance(begin, int):
        return tr("changed {time}; the capture does not record when the program ran", time=changed), True
    machine = _machine(capture.meta)
    if modified_ns > begin + capture.duration_ns:
        return tr("changed {time}, after this recording; lines may have moved", time=changed), True
    if modified_ns > begin:
        return tr("changed {time}, during this recording; lines may have moved", time=changed), True
    if machine and machine != _this_machine():
        return tr("the program ran on {machine}; this file may be different", machine=machine), True
    return tr("unchanged since the recording"), False


def _machine(meta: Mapping[str, Any]) -> str:
    host = meta.get("host")
    name = host.get("name") if isinstance(host, dict) else None
    return name if isinstance(name, str) else ""


def _this_machine() -> str:
    import platform

    return platform.node()


def _local(time_ns: int) -> str:
    return local_time(time_ns / 1e9).strftime("%Y-%m-%d %H:%M")
