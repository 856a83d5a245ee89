"""Reads from a capture how to record it again: its command, its settings, and the name of the next capture.

``python -m warpline.recording.again FILE`` prints the recipe as JSON. The recorder runs it as a separate process,
because it must fork the program before it imports the capture reader.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpline.i18n import tr
from warpline.model.errors import CaptureFormatError, RecordingError, WarplineError
from warpline.own_python import own_python
from warpline.recording.session import RecordingOptions
from warpline.recording.spool.secrets import has_masked

if TYPE_CHECKING:
    from warpline.storage import Capture

_NUMBERED = re.compile(r"^(?P<base>.+)-(?P<number>[1-9]\d*)$")
_NOT_REMEMBERED = ("is_driven",)


@dataclass(frozen=True)
class Recipe:
    """How a capture was recorded, without its environment."""

    command: tuple[str, ...]
    working_directory: str
    options: RecordingOptions


def remembered_options(options: RecordingOptions) -> dict[str, Any]:
    """The options that a capture stores."""
    return {name: value for name, value in asdict(options).items() if name not in _NOT_REMEMBERED}


def recipe_of(capture: Capture) -> Recipe:
    """How a capture was recorded. Raises RecordingError when that is unknown or cannot be repeated."""
    meta = capture.meta
    command, folder = meta.get("command_line"), meta.get("working_directory")
    given = meta.get("recording")
    if not isinstance(command, list) or not command or not str(meta.get("tool", "")).startswith("warpline"):
        raise RecordingError(
            tr(
                "{path}: has no recorded command, because Warpline did not record it;"
                " to record it: warpline record -- COMMAND",
                path=capture.path,
            )
        )
    if isinstance(given, Mapping) and given.get("attached"):
        raise RecordingError(
            tr("{path}: the program was already running when it was recorded", path=capture.path)
        )
    words = tuple(map(str, command))
    if has_masked(words):
        raise RecordingError(
            tr(
                "{path}: arguments of its command that looked like secrets were not stored; to record it, type them:"
                " warpline record -o {next} -- {command}",
                path=capture.path,
                next=next_output(capture.path).name,
                command=shlex.join(words),
            )
        )
    return Recipe(words, str(folder or "."), _options(given, meta.get("trace"), capture.uuid))


def _options(given: object, trace: object, uuid: str) -> RecordingOptions:
    """The options that a capture stores, with defaults for missing or invalid values."""
    values = dict(given) if isinstance(given, Mapping) else {"trace": trace}
    defaults = RecordingOptions(trace=())
    known: dict[str, Any] = {}
    for entry in fields(RecordingOptions):
        value = values.get(entry.name)
        default = getattr(defaults, entry.name)
        if entry.name == "duration_ns":
            known[entry.name] = value if isinstance(value, int) and value > 0 else None
        elif entry.name not in ("trace", "series") and type(value) is type(default):
            known[entry.name] = value
    names = values.get("trace") or trace
    series = values.get("series")
    return RecordingOptions(
        **known,
        trace=tuple(map(str, names)) if isinstance(names, list) else (),
        series=series if isinstance(series, str) and series else uuid,
    )


def read_recipe(path: Path) -> Recipe:
    """`recipe_of` a file, read in a separate process. Raises RecordingError."""
    command = [*own_python("warpline.recording.again"), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or [tr("{path}: cannot be read", path=path)]
        raise RecordingError(last[0])
    values = json.loads(done.stdout)
    options = dict(values["options"])
    options["trace"] = tuple(options["trace"])
    return Recipe(tuple(values["command"]), values["working_directory"], RecordingOptions(**options))


def next_output(path: Path) -> Path:
    """The next free name of a series: ``run.h5``, ``run-2.h5``, ``run-3.h5`` …"""
    base, number = _base_of(path), 2
    while (candidate := path.with_name(f"{base}-{number}{path.suffix}")).exists():
        number += 1
    return candidate


def _base_of(path: Path) -> str:
    match = _NUMBERED.match(path.stem)
    # "run-2" belongs to a series if "run" exists; "resnet-50" alone is a name.
    if match is not None and path.with_name(f"{match['base']}{path.suffix}").exists():
        return match["base"]
    return path.stem


def series_files(path: Path) -> list[Path]:
    """The files whose names belong to the same series as ``path``, in recording order."""
    base = _base_of(path)
    first = path.with_name(f"{base}{path.suffix}")
    numbered = []
    for other in path.parent.glob(f"{_escaped(base)}-*{path.suffix}"):
        match = _NUMBERED.match(other.stem)
        if match is not None and match["base"] == base:
            numbered.append((int(match["number"]), other))
    return [*([first] if first.exists() else []), *(other for _number, other in sorted(numbered))]


def _escaped(name: str) -> str:
    return re.sub(r"([\[\]*?])", r"[\1]", name)


def series_id(capture: Capture) -> str:
    """The id of a capture's series: the UUID of its first capture."""
    given = capture.meta.get("recording")
    series = given.get("series") if isinstance(given, Mapping) else None
    return series if isinstance(series, str) and series else capture.uuid


def main() -> int:
    """Print the recipe of the file in ``sys.argv``."""
    from warpline.storage import is_capture, open_capture

    path = Path(sys.argv[1])
    try:
        try:
            capture = open_capture(path)
        except CaptureFormatError:
            # Report damage of captures; other files cannot be recorded again at all.
            if is_capture(path) or not path.is_file():
                raise
            raise RecordingError(
                tr(
                    "{path}: not recorded by Warpline, so its command is unknown; to record it:"
                    " warpline record -- COMMAND",
                    path=path,
                )
            ) from None
        with capture:
            print(json.dumps(asdict(recipe_of(capture))))
    except WarplineError as error:
        print(" ".join(str(error).split()), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
