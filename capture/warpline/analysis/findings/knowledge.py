"""Who recorded a capture, and so what can be done to learn more of the same program."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING

from warpline.i18n import english

if TYPE_CHECKING:
    from warpline.storage import Capture

_LINES = ("cpu", "osrt", "python")
"""Sources that tell what a thread did, and on which line."""
_TELLS_LINES = {
    "torch": english("profile(with_stack=True) of PyTorch, or warpline record, tells the line"),
    "ascend": english("profile(with_stack=True) of torch_npu, or warpline record, tells the line"),
    "nsys": english("nsys profile --python-sampling=true, or warpline record, tells the line"),
    "nsys-hdf5": english("nsys profile --python-sampling=true, or warpline record, tells the line"),
}
_TELLS_WAITS = {
    "nsys": english("nsys profile --trace=osrt, or warpline record, tells what threads wait for"),
    "nsys-hdf5": english("nsys profile --trace=osrt, or warpline record, tells what threads wait for"),
}


class Origin(Enum):
    """How a capture came about."""

    RECORDED = 0
    ATTACHED = 1
    IMPORTED = 2


def origin(capture: Capture) -> Origin:
    """Whether Warpline started the program, attached to it, or read what another profiler had recorded."""
    recording = capture.meta.get("recording")
    if not isinstance(recording, Mapping):
        return Origin.IMPORTED
    return Origin.ATTACHED if recording.get("attached") else Origin.RECORDED


def for_lines(capture: Capture) -> str:
    """What would tell on which line something happened; empty where all that there is was recorded."""
    came = origin(capture)
    if came is Origin.IMPORTED:
        if {"python", "sample"} & set(capture.kinds):
            return ""
        return _of_format(capture, _TELLS_LINES, english("warpline record tells the line"))
    missing = _not_recorded(capture, _LINES if came is Origin.RECORDED else ("cpu", "python"))
    return _with_sources(missing)


def for_waits(capture: Capture) -> str:
    """What would tell why threads are blocked; empty where all that there is was recorded."""
    came = origin(capture)
    if came is Origin.ATTACHED:
        return english("who attaches does not see reasons of waits: start the program with warpline record")
    if came is Origin.IMPORTED:
        return _of_format(capture, _TELLS_WAITS, english("warpline record tells what threads wait for"))
    return _with_sources(_not_recorded(capture, ("osrt",)))


def _with_sources(missing: list[str]) -> str:
    return english("record with --trace {sources}", sources=",".join(missing)) if missing else ""


def _not_recorded(capture: Capture, wanted: tuple[str, ...]) -> list[str]:
    """Which sources were not asked for, by their words of ``--trace``."""
    asked = capture.meta["recording"].get("trace")
    return [name for name in wanted if name not in asked] if isinstance(asked, list) else []


def _of_format(capture: Capture, texts: Mapping[str, str], otherwise: str) -> str:
    files = capture.meta.get("imported_from")
    formats = (
        [file.get("format") for file in files if isinstance(file, Mapping)] if isinstance(files, list) else []
    )
    return next((texts[name] for name in map(str, formats) if name in texts), otherwise)
