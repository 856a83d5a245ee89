"""Importer for collapsed stacks: a line for each stack, frames separated by ``;``, then a space and a number.

Brendan Gregg's ``stackcollapse-*.pl``, ``py-spy record -f raw``, bpftrace's scripts, async-profiler and inferno write
them. They say how often each stack was seen, not when.
"""

from __future__ import annotations

import codecs
import re
from array import array
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from warpline.i18n import english
from warpline.interchange.framework.columns import clean_text
from warpline.interchange.framework.documents import text_lines
from warpline.interchange.framework.event_sink import EventSink
from warpline.interchange.framework.importer import LIKELY, NO, ImportOptions, ImportSummary
from warpline.interchange.framework.samples import add_stack_samples, add_weights
from warpline.interchange.framework.stack_tables import FrameNames, innermost_frames
from warpline.interchange.framework.value_times import steps_of
from warpline.model.progress import IsCancelled, Progress, check_cancelled

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

_LINE = re.compile(r"(?P<stack>\S(?:.*\S)?)\s+(?P<count>\d{1,18}(?:\.\d+)?)\s*")
_PROCESS = re.compile(r"process (\d{1,10})(?::.*)?")
_THREAD = re.compile(
    r"(?:thread|Thread) \(?(0x[0-9A-Fa-f]+|\d+)\)?.*|.* \((0x[0-9A-Fa-f]+|tid: ?\d+)\)|\[?tid[ =]\d+\]?"
)
_LOOKED_AT = 1 << 14
_COMMENTS = ("#", "//")
_ENOUGH = 4
"""With this many stacks, a single other line is no reason to refuse a short file."""
_FRAMES_AT_ONCE = 1 << 19
_Row = tuple[int | str, str]
"""A process and a thread."""


class CollapsedImporter:
    """Stacks become samples with their counts as weights, side by side."""

    name = "collapsed"
    title = english("Collapsed stacks (py-spy raw, stackcollapse)")
    patterns = ("*.folded", "*.collapsed", "*.raw", "*.txt")
    position = 62

    def recognise(self, head: bytes, path: Path) -> float:
        """See `Importer.recognise`."""
        del path
        text = _decoded(head[:_LOOKED_AT])
        if "\x00" in text:
            return NO
        lines = text.splitlines()
        if len(head) > _LOOKED_AT:
            lines = lines[:-1]
        lines = [line for line in lines if line.strip() and not line.startswith(_COMMENTS)]
        fitting = [line for line in lines if _LINE.fullmatch(line)]
        stacked = sum(";" in line for line in fitting)
        unusable = len(lines) - len(fitting)
        is_rare = unusable <= max(len(fitting) >= _ENOUGH, len(lines) // 10)
        return LIKELY if stacked and is_rare and stacked * 2 >= len(fitting) else NO

    def convert(
        self,
        path: Path,
        builder: CaptureBuilder,
        options: ImportOptions,
        progress: Progress,
        cancelled: IsCancelled,
    ) -> ImportSummary:
        """See `Importer.convert`."""
        sink = EventSink(builder, options)
        add_weights(builder, "")
        samples = _Samples(builder)
        unusable = 0
        for number, raw in enumerate(text_lines(path, progress, cancelled)):
            if not number % 65536:
                check_cancelled(cancelled)
            match = _LINE.fullmatch(raw)
            if match is None:
                unusable += bool(raw.strip()) and not raw.startswith(_COMMENTS)
                continue
            samples.add(match["stack"].split(";"), float(match["count"]))
        for (process, thread), (stacks, names, weights) in samples.by_row():
            lengths = steps_of(weights, "none")
            key = sink.thread(process, thread or "all threads", thread or "all threads")
            add_stack_samples(
                sink,
                key,
                np.cumsum(lengths) - lengths,
                stacks,
                names,
                durations=lengths,
                weight=np.rint(weights).astype(np.int64),
            )
        sink.skip(english("lines"), unusable, english("they are not a stack followed by a number"))
        builder.add_warning(
            english(
                "the file says how often stacks were seen, not when; they are drawn side by side, 1 ms per sample"
            )
        )
        return sink.summary()


class _Samples:
    """Collects samples, 24 bytes each beside the stacks."""

    def __init__(self, builder: CaptureBuilder) -> None:
        self._builder = builder
        self._ids = FrameNames(builder)
        self._rows: dict[_Row, int] = {}
        self._places = array("I")
        """The row of each sample."""
        self._weights = array("d")
        self._parts: list[tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32]]] = []
        """Stacks and innermost frames."""
        self._frames = array("I")
        self._sizes = array("q")

    def add(self, frames: list[str], weight: float) -> None:
        """Adds a stack, outermost frame first."""
        row, above = _row_of(frames)
        self._places.append(self._rows.setdefault(row, len(self._rows)))
        self._weights.append(weight)
        self._frames.extend(map(self._ids.__getitem__, frames[above:]))
        self._sizes.append(len(frames) - above)
        if len(self._frames) > _FRAMES_AT_ONCE:
            self._flush()

    def _flush(self) -> None:
        frames, sizes = np.array(self._frames, np.uint32), np.array(self._sizes, np.int64)
        self._parts.append((self._builder.stacks(frames, sizes), innermost_frames(frames, sizes)))
        self._frames, self._sizes = array("I"), array("q")

    def by_row(self) -> Iterator[tuple[_Row, tuple[npt.NDArray[Any], ...]]]:
        """Each row with its stacks, innermost frames and weights."""
        self._flush()
        stacks, names = (np.concatenate(column) for column in zip(*self._parts, strict=True))
        self._parts.clear()
        places, weights = np.array(self._places), np.array(self._weights)
        order = np.argsort(places, kind="stable")
        borders = np.searchsorted(places[order], np.arange(1, len(self._rows)))
        for row, chosen in zip(self._rows, np.split(order, borders), strict=False):
            yield row, (stacks[chosen], names[chosen], weights[chosen])


def _row_of(frames: list[str]) -> tuple[_Row, int]:
    """The process and thread that the outermost frames name, as py-spy writes them, and how many frames do so."""
    process: int | str = "profile"
    above = 0
    if len(frames) > 1 and (number := _process_of(frames[0])) is not None:
        process, above = number, 1
    if len(frames) > above + 1 and (thread := _thread_of(frames[above])):
        return (process, thread), above + 1
    return (process, ""), above


@lru_cache(1 << 14)
def _process_of(frame: str) -> int | None:
    match = _PROCESS.fullmatch(clean_text(frame))
    return int(match[1]) if match else None


@lru_cache(1 << 14)
def _thread_of(frame: str) -> str:
    frame = clean_text(frame)
    return frame if _THREAD.fullmatch(frame) else ""


def _decoded(text: bytes) -> str:
    if text.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return text.decode("utf-16", "replace")
    return text.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace")


importer = CollapsedImporter()
