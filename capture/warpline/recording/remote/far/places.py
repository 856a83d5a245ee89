"""Folders of the recorder on the other machine: its own files by version, and one folder for each run.

Recorders of several versions may start, run and clean up there at once. A process holds the folder of its version
(`boot.hold`), and a folder is removed under another name, so that one that has its name is complete.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

INFO_FILE, RESULT_FILE, SOCKET_FILE = "run.json", "result.json", "keeper.sock"


def runs_folder(root: Path) -> Path:
    """Where the runs are. ``root`` is the folder of this version."""
    return root.parent / "runs"


def new_run(root: Path, name: str, info: dict[str, Any]) -> Path:
    """Make the folder of a new run; the other end chose its name.

    Raises OSError.
    """
    run = runs_folder(root) / os.path.basename(name)
    try:
        run.mkdir(mode=0o700)
    except FileNotFoundError:
        run.parent.mkdir(mode=0o700, exist_ok=True)
        run.mkdir(mode=0o700)
    write_json(run / INFO_FILE, {**info, "version": root.name, "run": run.name})
    return run


def write_json(path: Path, values: dict[str, Any]) -> None:
    """Write a small file as a whole.

    Raises OSError.
    """
    unfinished = path.with_suffix(".part")
    unfinished.write_text(json.dumps(values))
    os.replace(unfinished, path)


def read_json(path: Path) -> dict[str, Any]:
    """The content of a small file; empty if it cannot be read."""
    try:
        values = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return values if isinstance(values, dict) else {}


def known_runs(root: Path) -> list[dict[str, Any]]:
    """All runs of this user, with ``is_running``, oldest first."""
    runs: list[dict[str, Any]] = []
    for run in _by_time(runs_folder(root)):
        info = read_json(run / INFO_FILE)
        if info:
            runs.append({**info, "run": run.name, "is_running": not (run / RESULT_FILE).exists()})
    return runs


@contextlib.contextmanager
def in_folder(folder: Path) -> Iterator[None]:
    """In this context relative names lie in ``folder``: addresses of sockets are too short for some paths."""
    before = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    os.chdir(folder)
    try:
        yield
    finally:
        os.fchdir(before)
        os.close(before)


def connect(run: Path) -> socket.socket:
    """A connection to the keeper of a run.

    Raises OSError when there is none.
    """
    client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with in_folder(run):
            client.connect(SOCKET_FILE)
    except OSError:
        client.close()
        raise
    return client


def remove_run(run: Path) -> None:
    """Remove the folder of a run and its spool."""
    spool = read_json(run / INFO_FILE).get("spool")
    if isinstance(spool, str):
        shutil.rmtree(spool, ignore_errors=True)
    shutil.rmtree(run, ignore_errors=True)


def remove_old_versions(root: Path, newest: int = 2) -> None:
    """Remove all versions that no run and no process uses, except the newest ones."""
    used = {run.get("version") for run in known_runs(root)} | {root.name}
    versions = [path for path in _by_time(root.parent) if path.name != "runs" and _is_own_folder(path)]
    for folder in versions[: len(versions) - newest]:
        if folder.name not in used:
            _remove_version(folder)


def clean(root: Path, held: int = -1) -> dict[str, Any]:
    """Remove everything except runs without a written capture and what these need. Returns the runs that stay.

    ``held`` is the descriptor by which this process holds the folder of its version.
    """
    remove_old_versions(root, 0)
    runs = known_runs(root)
    if held >= 0:
        os.close(held)
    if not runs and _remove_version(root):
        with contextlib.suppress(OSError):  # a run that begins at this moment keeps both
            runs_folder(root).rmdir()
        with contextlib.suppress(OSError):
            root.parent.rmdir()
    return {"folder": str(root.parent), "runs": runs}


def _remove_version(folder: Path) -> bool:
    """Remove a version, unless a process holds it."""
    gone = folder.with_name(f".gone-{folder.name}-{os.getpid()}")
    with _held_alone(folder) as is_free:
        if not is_free:
            return False
        try:
            folder.rename(gone)
        except OSError:
            return False
        shutil.rmtree(gone, ignore_errors=True)
        return True


@contextlib.contextmanager
def _held_alone(folder: Path) -> Iterator[bool]:
    import fcntl

    try:
        own = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        yield False
        return
    try:
        fcntl.flock(own, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        yield False
    except OSError:  # a file system without locks
        yield True
    else:
        yield True
    finally:
        os.close(own)


def _by_time(folder: Path) -> list[Path]:
    """What is in a folder, the oldest first; others may remove it meanwhile."""
    times: list[tuple[int, Path]] = []
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    for name in names:
        with contextlib.suppress(OSError):
            times.append(((folder / name).lstat().st_mtime_ns, folder / name))
    return [path for _time, path in sorted(times)]


def _is_own_folder(path: Path) -> bool:
    try:
        status = path.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
