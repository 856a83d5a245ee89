"""Opens a file that lies on another machine: it is fetched into the cache, and again only when it has changed."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
import time
import urllib.parse
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from warpline.i18n import tr
from warpline.model.errors import RecordingError, UsageError
from warpline.platform.folders import cache_folder
from warpline.recording.remote.frames import FrameError, FrameType, file_of, values_of
from warpline.recording.remote.near.transport import Connection, machine_of
from warpline.untrusted import read_json, visible

SCHEME = "ssh://"
_MOST_BYTES = 20 << 30
"""Size limit of the cache; the files opened least recently are removed first."""
_ABANDONED_S = 24 * 3600.0
"""A partial file that has not grown for this long belongs to a process that was killed."""
Progress = Callable[[int, int], None]
"""Called with the number of bytes that have arrived, and of all bytes."""


def fetch_location(
    location: str,
    progress: Progress,
    *,
    check: Callable[[], None] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Path:
    """The copy of ``ssh://[USER@]HOST[:PORT]/PATH`` here; a path that begins with ``/~/`` is relative to home.

    ``check`` is called again and again while nothing arrives, and may raise Cancelled; ``progress`` may, too.
    ``environment`` is added to that of ssh.

    Raises UsageError for another text, RecordingError when it cannot be fetched.
    """
    # Not by urllib: it changes capital letters of hosts, which name other hosts in ssh_config(5), and cuts off ``?``.
    place, _, path = location.removeprefix(SCHEME).partition("/")
    path = urllib.parse.unquote(f"/{path}")
    name = os.path.basename(path)
    if not location.startswith(SCHEME) or not place or name in {"", ".", ".."} or "\0" in path:
        raise UsageError(tr("not a location: {text} (write ssh://HOST/PATH/run.h5)", text=location))
    # ssh itself takes locations, with their user and port, and judges them.
    host = f"{SCHEME}{place}" if "@" in place or ":" in place else place
    folder = cache_folder() / "remote-files" / hashlib.sha256(location.encode()).hexdigest()[:16]
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        connect = partial(Connection, check=check, environment=environment)
        copy = _fetch(connect, host, path.removeprefix("/~/"), folder / name, progress)
        os.utime(folder)
        _keep_bound(folder)
        return copy
    except OSError as error:
        raise RecordingError(f"{folder}: {error.strerror}") from error
    except FrameError as error:
        raise RecordingError(tr("{host}: {why}", host=host, why=error)) from error


def _fetch(connect: Callable[..., Connection], host: str, path: str, copy: Path, progress: Progress) -> Path:
    # Beside the folder, not in it: the fetched file may have any name, including this one.
    note = copy.parent.with_suffix(".json")
    known = _read(note) if copy.is_file() else {}
    connection = connect(machine_of(host, None), {"action": "file", "path": path, "known": known})
    try:
        answer = connection.answer()
        size = answer.get("size")
        if answer.get("is_same"):
            return copy
        if not isinstance(size, int) or not 0 <= size < 1 << 50:
            raise FrameError("a file without a size")
        if size > shutil.disk_usage(copy.parent).free:
            raise RecordingError(
                tr("{path}: {size:,} bytes do not fit on this disk", path=copy.parent, size=size)
            )
        # Two windows may fetch the same file.
        with tempfile.NamedTemporaryFile(
            dir=copy.parent.parent, prefix=f"{copy.parent.name}.", suffix=".part", delete=False
        ) as file:
            try:
                _take(connection, file.write, size, progress)
                file.close()
                os.replace(file.name, copy)
            finally:
                Path(file.name).unlink(missing_ok=True)
        note.write_text(json.dumps({"size": size, "mtime_ns": answer.get("mtime_ns")}))
        changed = answer.get("mtime_ns")
        if isinstance(changed, int) and 0 <= changed < 1 << 62:
            os.utime(copy, ns=(changed, changed))
    finally:
        connection.close()
    return copy


def _keep_bound(newest: Path) -> None:
    """Remove abandoned partial files, and the oldest files beyond the cache's limit, except the newest."""
    left, now = _MOST_BYTES, time.time()
    folders: list[tuple[float, Path, int]] = []
    for entry in newest.parent.iterdir():
        with contextlib.suppress(OSError):
            changed = entry.stat().st_mtime
            if entry.is_dir():
                folders.append((changed, entry, sum(path.stat().st_size for path in entry.iterdir())))
            elif entry.suffix == ".part" and now - changed > _ABANDONED_S:
                entry.unlink()
    for _changed, folder, size in sorted(folders, reverse=True):
        left -= size
        if left < 0 and folder != newest:
            shutil.rmtree(folder, ignore_errors=True)
            folder.with_suffix(".json").unlink(missing_ok=True)


def _take(connection: Connection, write: Callable[[bytes], Any], size: int, progress: Progress) -> None:
    arrived = 0
    while True:
        for kind, body in connection.following():
            if kind is FrameType.FAILED:
                raise RecordingError(visible(str(values_of(body).get("message"))))
            if kind is not FrameType.FILE:
                continue
            _name, _offset, data = file_of(body)
            if not data and arrived == size:
                return
            arrived += len(data)
            if not data or arrived > size:
                raise FrameError("the file changed while it was fetched")
            write(data)
            progress(arrived, size)
        connection.flush()
        connection.wait(1.0)


def _read(note: Path) -> dict[str, Any]:
    try:
        values = read_json(note.read_text())
    except (OSError, ValueError):
        return {}
    return values if isinstance(values, dict) else {}
