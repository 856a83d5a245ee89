"""Importer for collapsed stacks: a line for each stack, frames separated by ``;``, then a space and a number.

Brendan Gregg's ``stackcollapse-*.pl``, ``py-spy record -f raw``, bpftrace's scripts, async-profiler and inferno write
them. They say how often each stack was seen, not when.
"""

from __future__ import annotations

import codecs
import re
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from warpline.i18n import english
from warpline.interchange.framework.columns import clean_text
from warpline.interchange.framework.documents import text_lines
from warpline.interchange.framework.event_sink import EventSink
from warpline.interchange.framework.importer import LIKELY, NO, ImportOptions, ImportSummary
from warpline.interchange.framework.samples import add_stack_samples, add_weights
from warpline.interchange.framework.stack_tables import StackChains
from warpline.interchange.framework.value_times import steps_of
from warpline.model.progress import IsCancelled, Progress, check_cancelled

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

_LINE = re.compile(r"(?P<stack>\S.*?)\s+(?P<count>\d{1,18}(?:\.\d+)?)\s*")
_PROCESS = re.compile(r"process (\d{1,10})(?::.*)?")
_THREAD = re.compile(
    r"(?:thread|Thread) \(?(0x[0-9A-Fa-f]+|\d+)\)?.*|.* \((0x[0-9A-Fa-f]+|tid: ?\d+)\)|\[?tid[ =]\d+\]?"
)
_LOOKED_AT = 1 << 14


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
        if "\x00" in text or text.lstrip()[:1] in ("{", "[", "<", "#"):
            return NO
        lines = text.splitlines()
        if len(head) > _LOOKED_AT:
            lines = lines[:-1]
        lines = [line for line in lines if line.strip()]
        fitting = [line for line in lines if _LINE.fullmatch(line)]
        stacked = sum(";" in line for line in fitting)
        return (
            LIKELY if stacked and len(fitting) * 10 >= len(lines) * 9 and stacked * 2 >= len(fitting) else NO
        )

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
        chains = StackChains(builder)
        rows: defaultdict[tuple[int | str, str], list[tuple[int, int, float]]] = defaultdict(list)
        unusable = 0
        for number, raw in enumerate(text_lines(path, progress, cancelled)):
            if not number % 65536:
                check_cancelled(cancelled)
            match = _LINE.fullmatch(raw)
            if match is None:
                unusable += bool(raw.strip())
                continue
            frames = [clean_text(frame) for frame in match["stack"].split(";")]
            row, frames = _row_of(frames)
            rows[row].append((*chains.add(frames), float(match["count"])))
        for (process, thread), entries in rows.items():
            stacks, names, weights = np.array(entries, np.float64).T
            lengths = steps_of(weights.tolist(), "none")
            key = sink.thread(process, thread or "all threads", thread or "all threads")
            add_stack_samples(
                sink,
                key,
                np.cumsum(lengths) - lengths,
                stacks.astype(np.int64),
                names.astype(np.uint32),
                durations=lengths,
                weight=np.rint(weights).astype(np.int64),
            )
        sink.skip(english("lines"), unusable, english("they are no stack with a number"))
        builder.add_warning(
            english(
                "the file says how often stacks were seen, not when; they stand side by side, 1 ms for each sample"
            )
        )
        return sink.summary()


def _row_of(frames: list[str]) -> tuple[tuple[int | str, str], list[str]]:
    """The process and thread that the outermost frames name, as py-spy writes them, and the other frames."""
    process: int | str = "profile"
    if len(frames) > 1 and (match := _PROCESS.fullmatch(frames[0])):
        process, frames = int(match[1]), frames[1:]
    if len(frames) > 1 and _THREAD.fullmatch(frames[0]):
        return (process, frames[0]), frames[1:]
    return (process, ""), frames


def _decoded(text: bytes) -> str:
    if text.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return text.decode("utf-16", "replace")
    return text.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace")


importer = CollapsedImporter()
