"""Remembers here which recordings run on other machines, so that they can be resumed."""

from __future__ import annotations

import contextlib
import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path

from warpline.platform.folders import cache_folder
from warpline.untrusted import read_json

_RUN = re.compile(r"[A-Za-z0-9_]{4,32}")


@dataclass(frozen=True, kw_only=True)
class RunNote:
    """A run on another machine: where its capture belongs and where its mirror lies."""

    run: str
    place: str
    output: str
    spool: str
    title: str = ""
    received: tuple[int, ...] = (0, 0)
    """Bytes of standard output and error that have been written here."""


def notes_folder() -> Path:
    """Where the notes are."""
    return cache_folder() / "remote-runs"


def is_run(name: object) -> bool:
    """Whether a text is valid as the name of a run, and so as a file name."""
    return isinstance(name, str) and _RUN.fullmatch(name) is not None


def remember(note: RunNote) -> None:
    """Write a note, if possible; errors are ignored."""
    with contextlib.suppress(OSError):
        notes_folder().mkdir(mode=0o700, parents=True, exist_ok=True)
        (notes_folder() / f"{note.run}.json").write_text(json.dumps(asdict(note)))


def forget(run: str) -> None:
    """Remove a note."""
    with contextlib.suppress(OSError):
        (notes_folder() / f"{run}.json").unlink()


def noted(run: object) -> RunNote | None:
    """The note about a run; None without one."""
    if not is_run(run):
        return None
    try:
        values = read_json((notes_folder() / f"{run}.json").read_text())
        received = tuple(map(int, values.pop("received")))
        return RunNote(**{key: str(value) for key, value in values.items()}, received=received)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
