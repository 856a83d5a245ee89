"""Reads source files from disk and judges whether they are the version that ran."""

from __future__ import annotations

import re
import tokenize
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from warpline.i18n import tr
from warpline.model.errors import Cancelled, RecordingError, WarplineError
from warpline_app.look.files_there import local_time

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from warpline.storage import Capture

MAX_BYTES = 8 << 20
_HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@:-]*")


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
    host: str = ""
    """The machine that it lies on and can be fetched from, or was; empty for this one."""


def far_host(capture: Capture) -> str:
    """What the user called the machine that was recorded; empty for one that was recorded from itself."""
    host = capture.meta.get("host")
    name = host.get("reached_as") if isinstance(host, dict) else None
    return name if isinstance(name, str) else ""


def fetch_source(capture: Capture, file: str, check: Callable[[], None]) -> SourceText:
    """Fetch the file that a capture's stacks call ``file`` from the machine that was recorded, over ssh.

    ``check`` is called again and again, and may raise Cancelled.
    """
    from warpline.recording.remote.near.remote_files import SCHEME, fetch_location
    from warpline_app.look.ssh_environment import asking_environment

    host = far_host(capture)
    path = Path(str(capture.meta.get("working_directory") or "")) / file

    def bound(_count: int, size: int) -> None:
        check()
        if size > MAX_BYTES:
            raise RecordingError(tr("{path} is too large for a source file", path=path))

    try:
        location = f"{SCHEME}{host}{quote(str(path))}"
        copy = fetch_location(location, bound, check=check, environment=asking_environment())
        lines, status = _lines(copy), copy.stat()
    except (WarplineError, OSError) as error:
        if isinstance(error, Cancelled):
            raise
        return SourceText(path, None, problem=str(error), host=host)
    note, is_doubtful = _age(capture, status.st_mtime_ns, is_of_machine=True)
    return SourceText(path, lines, f"{tr('from {host}', host=host)} · {note}", is_doubtful, host=host)


def read_source(capture: Capture, file: str) -> SourceText:
    """Read the file that a capture's stacks call ``file``; not for a recording of another machine, whose files are
    others (`fetch_source`).
    """
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
    if host := far_host(capture):
        # A command that leads to a machine (--via) is not taken from a file.
        can_fetch = _HOST.fullmatch(host) is not None and path.is_absolute()
        text = (
            tr("{path} is on {host}. Fetch it to see it.", path=path, host=host)
            if can_fetch
            else tr(
                "{path} is on the machine that {command} reaches; files can be fetched only from ssh hosts.",
                path=path,
                command=host,
            )
        )
        return SourceText(path, None, problem=text, host=host if can_fetch else "")
    try:
        status = path.stat()
        if status.st_size > MAX_BYTES:
            return SourceText(path, None, problem=tr("{path} is too large for a source file", path=path))
        lines = _lines(path)
    except OSError as error:
        return SourceText(path, None, problem=_missing(capture.meta, path, error))
    note, is_doubtful = _age(capture, status.st_mtime_ns)
    return SourceText(path, lines, note, is_doubtful)


def _lines(path: Path) -> tuple[str, ...]:
    # Python ends lines only at line breaks; splitlines() also splits at form feeds.
    text = _text(path).removesuffix("\n")
    return tuple(text.split("\n")) if text else ()


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


def _age(capture: Capture, modified_ns: int, *, is_of_machine: bool = False) -> tuple[str, bool]:
    """Describes the file's age, and whether its lines may differ. ``is_of_machine``: of the one that was recorded."""
    begin = capture.meta.get("start_utc_ns")
    changed = _local(modified_ns)
    if not isinstance(begin, int):
        return tr("changed {time}; the capture does not record when the program ran", time=changed), True
    machine = _machine(capture.meta)
    if modified_ns > begin + capture.duration_ns:
        return tr("changed {time}, after this recording; lines may have moved", time=changed), True
    if modified_ns > begin:
        return tr("changed {time}, during this recording; lines may have moved", time=changed), True
    if machine and machine != _this_machine() and not is_of_machine:
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
