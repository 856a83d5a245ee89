"""How a capture came about, and which recording would show more of the same program."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING

from warpline.i18n import english

if TYPE_CHECKING:
    from warpline.storage import Capture

_LINES = ("cpu", "osrt", "python")
"""Sources that record what a thread did and on which line."""
_LINE_TEXTS = {
    "torch": english("To see the line, use PyTorch's profile(with_stack=True) or warpline record."),
    "ascend": english("To see the line, use torch_npu's profile(with_stack=True) or warpline record."),
    "nsys": english("To see the line, use nsys profile --python-sampling=true or warpline record."),
    "nsys-hdf5": english("To see the line, use nsys profile --python-sampling=true or warpline record."),
}
_WAIT_TEXTS = {
    "nsys": english("To see what threads wait for, use nsys profile --trace=osrt or warpline record."),
    "nsys-hdf5": english("To see what threads wait for, use nsys profile --trace=osrt or warpline record."),
}


class Origin(Enum):
    """How a capture came about."""

    RECORDED = 0
    ATTACHED = 1
    IMPORTED = 2


def origin(capture: Capture) -> Origin:
    """Whether Warpline started the program, attached to it, or imported another profiler's file."""
    recording = capture.meta.get("recording")
    if not isinstance(recording, Mapping):
        return Origin.IMPORTED
    return Origin.ATTACHED if recording.get("attached") else Origin.RECORDED


def for_lines(capture: Capture) -> str:
    """How to record the code line; empty when every source for it was on."""
    source = origin(capture)
    if source is Origin.IMPORTED:
        if {"python", "sample"} & set(capture.kinds):
            return ""
        return _of_format(capture, _LINE_TEXTS, english("To see the line, use warpline record."))
    missing = _not_recorded(capture, _LINES if source is Origin.RECORDED else ("cpu", "python"))
    if not missing:
        return ""
    return english("To see the line, record with --trace {sources}.", sources=",".join(missing))


def for_waits(capture: Capture) -> str:
    """How to record why threads are blocked; empty when every source for it was on."""
    source = origin(capture)
    if source is Origin.ATTACHED:
        return english(
            "To see what threads wait for, start the program with warpline record instead of attaching."
        )
    if source is Origin.IMPORTED:
        return _of_format(capture, _WAIT_TEXTS, english("To see what threads wait for, use warpline record."))
    if not _not_recorded(capture, ("osrt",)):
        return ""
    return english("To see what threads wait for, record with --trace {sources}.", sources="osrt")


def _not_recorded(capture: Capture, wanted: tuple[str, ...]) -> list[str]:
    """The sources, by their ``--trace`` names, that the recording left out."""
    traced = capture.meta["recording"].get("trace")
    return [name for name in wanted if name not in traced] if isinstance(traced, list) else []


def _of_format(capture: Capture, texts: Mapping[str, str], otherwise: str) -> str:
    files = capture.meta.get("imported_from")
    formats = (
        [file.get("format") for file in files if isinstance(file, Mapping)] if isinstance(files, list) else []
    )
    return next((texts[name] for name in map(str, formats) if name in texts), otherwise)
