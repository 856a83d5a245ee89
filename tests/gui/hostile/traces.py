"""Traces of another profiler that take a while to import."""

from __future__ import annotations

from pathlib import Path

_EVENT = '{{"ph":"X","cat":"cpu_op","name":"aten::op{name}","pid":1,"tid":{tid},"ts":{ts}.5,"dur":{dur}}}'


def write_trace(path: Path, events: int) -> Path:
    """Operators of four threads, one inside the other now and then."""
    made = (
        _EVENT.format(name=number % 50, tid=number % 4 + 1, ts=number * 3, dur=2 + number % 7)
        for number in range(events)
    )
    path.write_text('{"schemaVersion":1,"traceEvents":[' + ",\n".join(made) + "]}")
    return path
