"""Keeps the diagnosis of a whole capture in the user's cache, so that opening or checking it again takes no time.

An entry belongs to a capture's UUID, size and time of change, and to the version and the files of the analysis that
made it.
"""

from __future__ import annotations

import contextlib
import json
import os
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import fields
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

import warpline.analysis
from warpline import plugins
from warpline._version import __version__
from warpline.analysis.findings import finding
from warpline.analysis.findings.finding import Diagnosis
from warpline.analysis.findings.rule import ENTRY_POINT_GROUP
from warpline.analysis.framework.selection import View
from warpline.i18n.message import Message
from warpline.model.progress import IsCancelled, Progress, unwatched
from warpline.platform.folders import cache_folder
from warpline.storage import Capture
from warpline.storage.cache import whole_or_absent

WORTH_KEEPING = 200_000
"""Number of events; smaller captures are diagnosed about as fast as an entry is read."""
_MOST_BYTES = 32 << 20
_MOST_ENTRIES = 32
_DAMAGE = (ValueError, TypeError, LookupError, AttributeError, RecursionError, zlib.error)
"""What reading a damaged entry raises; it counts as missing."""
_VALUES = {
    value.__name__: value
    for value in (
        *(finding.Diagnosis, finding.Budget, finding.BudgetPart, finding.BudgetStep),
        *(finding.Finding, finding.Where, finding.Hop, finding.Evidence),
    )
}


def whole_diagnosis(
    capture: Capture, progress: Progress = unwatched, cancelled: IsCancelled | None = None
) -> Diagnosis:
    """`diagnose` of the whole capture, from the user's cache if it is there.

    Raises Cancelled. A cache that cannot be written is skipped.
    """
    from warpline.analysis.findings.diagnose import (
        diagnose,
    )  # slow to import; not needed for a kept diagnosis

    def compute() -> Diagnosis:
        return diagnose(View(capture, cancelled=cancelled), progress)

    place = _place(capture)
    return compute() if place is None else kept(place, compute)


def kept(place: Path, compute: Callable[[], Diagnosis]) -> Diagnosis:
    """The diagnosis in a file; else it is computed and, if it is small enough, written."""
    with contextlib.suppress(OSError, *_DAMAGE):
        diagnosis = _decoded(json.loads(place.read_text("utf-8")))
        if isinstance(diagnosis, Diagnosis):
            with contextlib.suppress(OSError):  # the cache may be read-only
                os.utime(place)
            return diagnosis
    diagnosis = compute()
    with contextlib.suppress(OSError, TypeError):
        text = json.dumps(_encoded(diagnosis))
        if len(text) <= _MOST_BYTES:
            with whole_or_absent(place) as making:
                making.write_text(text, "utf-8")
            for old in sorted(kept_diagnoses(), key=lambda path: path.stat().st_mtime)[:-_MOST_ENTRIES]:
                old.unlink(missing_ok=True)
    return diagnosis


def kept_diagnoses() -> dict[Path, int]:
    """The entries of the user's cache, with the bytes each takes on disk."""
    sizes: dict[Path, int] = {}
    with contextlib.suppress(OSError):
        for path in (cache_folder() / "diagnoses").glob("*.json"):
            sizes[path] = path.stat().st_size
    return sizes


def forget_diagnoses() -> None:
    """Remove all entries from the user's cache."""
    for path in kept_diagnoses():
        with contextlib.suppress(OSError):
            path.unlink()


def _place(capture: Capture) -> Path | None:
    """The file of a capture's diagnosis; None where none is kept: for what still grows, or with others' rules."""
    is_finished = type(capture) is Capture and bool(capture.uuid)
    if not is_finished or len(capture.events) < WORTH_KEEPING or plugins.entry_points(ENTRY_POINT_GROUP):
        return None
    try:
        status = capture.path.stat()
        rules = _version_of_rules()
    except OSError:
        return None
    key = f"{capture.uuid}\0{status.st_size}\0{status.st_mtime_ns}\0{rules}"
    name = blake2b(key.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
    return cache_folder() / "diagnoses" / f"{name}.json"


def _version_of_rules() -> str:
    """Changes with every release, and with every file of the analysis where these are files. Raises OSError."""
    folders = [Path(folder) for folder in warpline.analysis.__path__]
    files = sorted(path for folder in folders for path in folder.rglob("*.py"))
    states = [(str(path), path.stat()) for path in files]
    return repr([__version__, *((name, state.st_size, state.st_mtime_ns) for name, state in states)])


def _encoded(value: Any) -> Any:
    """A value of a diagnosis for JSON. Raises TypeError for others."""
    if isinstance(value, finding.Severity):
        return {"Severity": value.value}
    if isinstance(value, Message):
        return {
            "Message": [str(value), value.template, {key: _encoded(v) for key, v in value.fields.items()}]
        }
    if isinstance(value, finding.Doing):
        return {"Doing": [_encoded(part) for part in value]}
    if type(value) in (str, int, float, bool, type(None)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        if value.dtype.kind != "i" or value.shape[1:] != (2,):
            raise TypeError(f"{value.dtype} {value.shape} is no array of a diagnosis")
        # Evidence may be millions of numbers, which JSON would take seconds for.
        return {"array": b64encode(zlib.compress(value.astype("<i8").tobytes(), 1)).decode("ascii")}
    if type(value) in (tuple, list):
        return [_encoded(part) for part in value]
    name = type(value).__name__
    if _VALUES.get(name) is not type(value):
        raise TypeError(f"{name} is no part of a diagnosis")
    return {name: {item.name: _encoded(getattr(value, item.name)) for item in fields(value)}}


def _decoded(value: Any) -> Any:
    """The value that `_encoded` was given, with tuples for lists. Raises one of `_DAMAGE`."""
    if isinstance(value, list):
        return tuple(map(_decoded, value))
    if not isinstance(value, dict):
        return value
    [(name, content)] = value.items()
    if name == "Severity":
        return finding.Severity(content)
    if name == "Message":
        text, template, values = content
        return Message(text, template, {key: _decoded(part) for key, part in values.items()})
    if name == "Doing":
        return finding.Doing(*map(_decoded, content))
    if name == "array":
        return np.frombuffer(zlib.decompress(b64decode(content)), "<i8").astype(np.int64).reshape(-1, 2)
    return _VALUES[name](**{key: _decoded(part) for key, part in content.items()})
