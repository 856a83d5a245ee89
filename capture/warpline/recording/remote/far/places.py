"""Folders of the recorder on the other machine: its own files by version, and one folder for each run."""

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
    """The folder of a new run, which the other end has named.

    Raises OSError.
    """
    parent = runs_folder(root)
    parent.mkdir(mode=0o700, exist_ok=True)
    run = parent / os.path.basename(name)
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
    """The content of a small file; nothing if it cannot be read."""
    try:
        values = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return values if isinstance(values, dict) else {}


def known_runs(root: Path) -> list[dict[str, Any]]:
    """All runs of this user, with ``is_running``, oldest first."""
    runs: list[dict[str, Any]] = []
    with contextlib.suppress(OSError):
        for run in sorted(runs_folder(root).iterdir(), key=lambda path: path.stat().st_mtime):
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
    """Remove all versions that no run uses, except the newest ones."""
    used = {run.get("version") for run in known_runs(root)} | {root.name}
    with contextlib.suppress(OSError):
        folders = [path for path in root.parent.iterdir() if path.name != "runs" and _is_own_folder(path)]
        folders.sort(key=lambda path: path.stat().st_mtime, reverse=True)
        for folder in folders[newest:]:
            if folder.name not in used:
                shutil.rmtree(folder, ignore_errors=True)


def clean(root: Path) -> dict[str, Any]:
    """Remove everything except runs that are not finished, and what these need. Returns the runs that stay."""
    runs = known_runs(root)
    if not runs:
        shutil.rmtree(root.parent, ignore_errors=True)
    else:
        remove_old_versions(root, 0)
    return {"folder": str(root.parent), "runs": runs}


def _is_own_folder(path: Path) -> bool:
    status = path.lstat()
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
