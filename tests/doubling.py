"""Captures that grow in one way, and what a command takes for them: twice as much must not cost four times as much."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from warpline.cli import main

Event = dict[str, Any]


def _span(i: int, **fields: Any) -> Event:
    return {"ph": "X", "name": "work", "ts": i * 10, "dur": 5, "pid": 1, "tid": 1, **fields}


def events(count: int) -> Iterator[Event]:
    """Events one after the other on one thread."""
    return (_span(i, name=f"work {i % 7}") for i in range(count))


def same(count: int) -> Iterator[Event]:
    """Events that begin and end together: one inside the other."""
    return (_span(0) for _ in range(count))


def depth(count: int) -> Iterator[Event]:
    """One deep stack."""
    return (_span(0, name=f"level {i}", ts=i, dur=2 * (count - i)) for i in range(count))


def threads(count: int) -> Iterator[Event]:
    """Threads of one process with one event each."""
    return (_span(i, tid=i + 1) for i in range(count))


def processes(count: int) -> Iterator[Event]:
    """Processes with one event each."""
    return (_span(i, pid=i + 1, tid=i + 1) for i in range(count))


def names(count: int) -> Iterator[Event]:
    """Events with names of their own, alike in their beginnings."""
    return (_span(i, name=f"{'a common beginning ' * 5}{i}") for i in range(count))


def strings(count: int) -> Iterator[Event]:
    """Events with a text of their own in their arguments."""
    return (_span(i, args={"text": f"argument {i}"}) for i in range(count))


def counters(count: int) -> Iterator[Event]:
    """Counters with one value each, and an event, without which nothing is exported."""
    yield _span(0)
    for i in range(count):
        yield {"ph": "C", "name": f"counter {i}", "pid": 1, "ts": i, "args": {"value": i}}


def devices(count: int) -> Iterator[Event]:
    """Kernels, each on a GPU of its own."""
    return (
        _span(i, cat="kernel", name="kernel", tid=7, args={"device": i, "stream": 7, "correlation": i})
        for i in range(count)
    )


SHAPES: dict[str, Callable[[int], Iterator[Event]]] = {
    shape.__name__: shape
    for shape in (events, same, depth, threads, processes, names, strings, counters, devices)
}
COMMANDS: dict[str, tuple[str, ...]] = {
    "info": ("info", "{capture}"),
    "check": ("check", "--all", "{capture}"),
    "reports": ("stats", "--report", "all", "{capture}"),
    "json": ("export", "{capture}", "{folder}/out.json"),
    "csv": ("export", "{capture}", "{folder}/out.csv"),
    "svg": ("export", "{capture}", "{folder}/out.svg"),
    "html": ("export", "{capture}", "{folder}/out.html"),
    "range": ("export", "{capture}", "{folder}/out.h5"),
}
"""Command lines by what they do; {capture} and {folder} stand for paths."""


def write_trace(shape: str, count: int, path: Path) -> Path:
    """A Chrome trace of this shape."""
    path.write_text(json.dumps({"traceEvents": list(SHAPES[shape](count))}))
    return path


def run(*words: str) -> None:
    """Run a command line of Warpline in this process. Raises RuntimeError when it fails."""
    said = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        status = main(list(words))
    if status != 0:
        raise RuntimeError(f"warpline {' '.join(words)}: {status}: {said.getvalue()}")


def command(name: str, capture: Path) -> tuple[str, ...]:
    """The words of one of `COMMANDS` for a capture."""
    return tuple(word.format(capture=capture, folder=capture.parent) for word in COMMANDS[name])


def python_steps(call: Callable[[], object]) -> int:
    """How many instructions of Python a call takes: the same on a busy machine."""
    steps = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal steps
        del argument
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        steps += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return steps
