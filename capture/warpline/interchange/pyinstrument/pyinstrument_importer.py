"""Importer for pyinstrument: its sessions (``.pyisession``), and the JSON of ``pyinstrument -r json``.

A session has the stack of every sample. The JSON is a tree with the time of each frame, so it says how long, not when.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from warpline.i18n import english
from warpline.interchange.framework.columns import MAX_TIME_NS, clean_text
from warpline.interchange.framework.documents import Document, read_document
from warpline.interchange.framework.event_sink import EventSink
from warpline.interchange.framework.importer import CERTAIN, NO, ImportOptions, ImportSummary
from warpline.interchange.framework.samples import add_stack_samples, add_weights
from warpline.interchange.framework.stack_tables import StackChains
from warpline.interchange.framework.value_times import steps_of
from warpline.model.progress import IsCancelled, Progress

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

_SEPARATOR = "\x00"
"""Between function, file and line of a session's frames; attributes follow after \\x01."""


class PyinstrumentImporter:
    """One thread's stacks, weighted by their time."""

    name = "pyinstrument"
    title = english("pyinstrument profile")
    patterns = ("*.pyisession", "*.json")
    position = 63

    def recognise(self, head: bytes, path: Path) -> float:
        """See `Importer.recognise`."""
        del path
        if not head.lstrip().startswith(b"{"):
            return NO
        is_tree = b'"root_frame"' in head and b'"sample_count"' in head
        is_session = b'"frame_records"' in head
        return CERTAIN if is_tree or is_session else NO

    def convert(
        self,
        path: Path,
        builder: CaptureBuilder,
        options: ImportOptions,
        progress: Progress,
        cancelled: IsCancelled,
    ) -> ImportSummary:
        """See `Importer.convert`."""
        document = read_document(path, Document, cancelled)
        progress(0.6, path.name)
        session = document.get("session", document)
        session = session if isinstance(session, dict) else {}
        sink = EventSink(builder, options)
        add_weights(builder, "ns")
        chains = StackChains(builder)
        if isinstance(records := session.get("frame_records"), list):
            entries = [(*chains.add(frames), time) for frames, time in _records(records)]
        else:
            entries = [(*chains.add(frames), time) for frames, time in _own_times(document.get("root_frame"))]
            builder.add_warning(
                english("the file says how long functions ran, not when; they are drawn side by side")
            )
        if entries:
            stacks, names, seconds = np.array(entries, np.float64).T
            lengths = steps_of(seconds.tolist(), "seconds")
            begin = _start_ns(session.get("start_time"))
            program = session.get("target_description") or session.get("program") or "Python"
            add_stack_samples(
                sink,
                sink.thread(clean_text(str(program)), "Python", "Python"),
                begin + np.cumsum(lengths) - lengths,
                stacks.astype(np.int64),
                names.astype(np.uint32),
                durations=lengths,
                weight=lengths,
            )
        return sink.summary(0 if _start_ns(session.get("start_time")) else None)


def _start_ns(value: Any) -> int:
    """Seconds since 1970 as ns; 0 for anything else."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return round(value * 1e9) if is_number and 0 < value * 1e9 < MAX_TIME_NS else 0


def _records(records: list[Any]) -> Iterator[tuple[list[str], float]]:
    for record in records:
        if isinstance(record, list) and len(record) == 2 and isinstance(record[0], list):
            yield [_identified(frame) for frame in record[0] if isinstance(frame, str)], _seconds(record[1])


def _identified(frame: str) -> str:
    """``main (a.py:3)`` for the function, file and line of a session."""
    parts = frame.split("\x01", maxsplit=1)[0].split(_SEPARATOR)
    return _frame(parts[0], parts[1] if len(parts) > 1 else "", parts[2] if len(parts) > 2 else "")


def _own_times(root: Any) -> Iterator[tuple[list[str], float]]:
    """The time that each frame of a tree spent itself, with the stack of the frame."""
    todo: list[tuple[Any, tuple[str, ...]]] = [(root, ())]
    while todo:
        node, above = todo.pop()
        if not isinstance(node, dict) or len(above) > 1000:
            continue
        file = node.get("file_path_short") or node.get("file_path") or ""
        frame = _frame(str(node.get("function", "")), str(file), str(node.get("line_no") or ""))
        stack = (*above, frame)
        children = node.get("children")
        children = children if isinstance(children, list) else []
        inside = sum(_seconds(child.get("time")) for child in children if isinstance(child, dict))
        own = _seconds(node.get("time")) - inside
        if own > 0:
            yield list(stack), own
        todo += [(child, stack) for child in reversed(children)]


def _frame(function: str, file: str, line: str) -> str:
    place = f"{file}:{line}" if line else file
    return clean_text(f"{function} ({place})" if file else function)


def _seconds(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and abs(value) < 1e12 else 0.0


importer = PyinstrumentImporter()
