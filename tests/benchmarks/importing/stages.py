"""Where the time of an import goes: CPU time and wall time of each of its parts, whichever thread does them.

What one part calls of another counts for that one alone. Each part is a function or method of the package, which is
replaced by one that looks at the clocks before and after; they are called some times for each piece of a trace.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

_DETAIL = "storage.write.level_writer:DetailMaker"
PARTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("recognise, begin", ("interchange.framework.importing:detect", "interchange.framework.importing:_import")),
    ("read, unpack", ("interchange.trace_json.json_stream:EventStream._fill",)),
    ("scan", ("interchange.trace_json.scanner:Scanner.scan",)),
    ("columns", ("interchange.trace_json.decoding:CompiledDecoder.piece",)),
    ("arguments", ("interchange.trace_json.scanned_arguments:ScannedArguments.of",)),
    ("decode the rest", ("interchange.trace_json.decoding:TextDecoder.piece",)),
    ("to tracks and kinds", ("interchange.trace_json.converter:TraceConverter.absorb",)),
    ("texts", ("storage.write.table_builder:TableBuilder.strings",)),
    ("take events", ("storage.write.event_builder:EventBuilder.add_events",)),
    ("sort runs", ("storage.write.event_builder:EventBuilder._spill_events",)),
    ("match", ("interchange.torch.converter:TorchConverter.finish",)),
    ("lanes, events", ("storage.write.assemble:_write_events",)),
    ("attributes", ("storage.write.assemble:write_kinds",)),
    ("links", ("storage.write.assemble:write_links",)),
    ("level of detail", (f"{_DETAIL}._make", f"{_DETAIL}.write")),
    ("rest of the file", ("storage.write.assemble:assemble",)),
)  # fmt: skip


@dataclass
class Spent:
    """Seconds in one part, without those of parts that it called."""

    cpu: float = 0.0
    wall: float = 0.0
    calls: int = 0


class _Clocks(threading.local):
    """What is under way in one thread: for each call the seconds that belong to what it called."""

    def __init__(self) -> None:
        self.within: list[list[float]] = []


@contextmanager
def measured_parts() -> Iterator[dict[str, Spent]]:
    """The parts are measured while the context lasts; the result is complete when it ends."""
    spent = {title: Spent() for title, _places in PARTS}
    clocks, lock = _Clocks(), threading.Lock()
    replaced: list[tuple[Any, str, Callable[..., Any]]] = []
    for title, places in PARTS:
        for place in places:
            module, _, path = place.partition(":")
            owner: Any = import_module(f"warpline.{module}")
            *within, name = path.split(".")
            for one in within:
                owner = getattr(owner, one)
            original = getattr(owner, name)
            replaced.append((owner, name, original))
            setattr(owner, name, _timed(original, spent[title], clocks, lock))
    try:
        yield spent
    finally:
        for owner, name, original in reversed(replaced):
            setattr(owner, name, original)


def _timed(
    call: Callable[..., Any], spent: Spent, clocks: _Clocks, lock: threading.Lock
) -> Callable[..., Any]:
    def timed(*args: Any, **kwargs: Any) -> Any:
        mine = [0.0, 0.0]
        clocks.within.append(mine)
        wall, cpu = time.perf_counter(), time.thread_time()
        try:
            return call(*args, **kwargs)
        finally:
            wall, cpu = time.perf_counter() - wall, time.thread_time() - cpu
            clocks.within.pop()
            with lock:
                spent.cpu += cpu - mine[0]
                spent.wall += wall - mine[1]
                spent.calls += 1
            if clocks.within:
                outer = clocks.within[-1]
                outer[0] += cpu
                outer[1] += wall

    return timed


def table(spent: dict[str, Spent], events: int) -> str:
    """One line for each part, in the order of an import."""
    lines = [f"{'part':>22}{'CPU':>10}{'wall':>10}{'ns an event':>14}{'calls':>8}"]
    lines += [
        f"{title:>22}{one.cpu:>8.3f} s{one.wall:>8.3f} s{1e9 * one.cpu / events:>14.0f}{one.calls:>8}"
        for title, one in spent.items()
    ]
    total = sum(one.cpu for one in spent.values())
    lines.append(f"{'all of them':>22}{total:>8.3f} s{'':>10}{1e9 * total / events:>14.0f}")
    return "\n".join(lines)
