"""Helpers for importer tests: write a trace, import it, inspect the capture."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from warpline.interchange import import_files
from warpline.storage import Capture, open_capture

Row = tuple[str, int, int, str]
THREAD = "process/1.1/thread/1.1/ranges"
"""The track of complete events with process 1 and thread 1."""


def imported(tmp_path: Path, *files: Path, **options: Any) -> Capture:
    """Imports the files and opens the capture."""
    return open_capture(import_files(list(files), tmp_path / "capture.h5", **options))


def trace_file(tmp_path: Path, events: object, name: str = "trace.json", **header: object) -> Path:
    """A trace with these events, as an object when there is a header, else as an array."""
    path = tmp_path / name
    path.write_text(json.dumps({**header, "traceEvents": events} if header else events))
    return path


def text_file(tmp_path: Path, text: str | bytes, name: str = "trace.json") -> Path:
    """A file with exactly this content."""
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def rows(capture: Capture, *kinds: str) -> list[Row]:
    """(name, start ns, duration ns, track URI) of the events of these kinds (all without any), in time order."""
    events = capture.events
    chosen: Iterable[int] = (
        range(len(events))
        if not kinds
        else sorted(row for kind in kinds for row in capture.kinds[kind].rows.tolist())
    )
    return sorted(
        (
            (
                capture.strings[int(events.name[row])],
                int(events.start[row]),
                int(events.duration[row]),
                capture.tracks[capture.track_of_row(row)].uri,
            )
            for row in chosen
        ),
        key=lambda row: (row[1], -row[2], row[0]),
    )


def named(capture: Capture, name: str) -> int:
    """The only row with this name."""
    found = [
        row for row in range(len(capture.events)) if capture.strings[int(capture.events.name[row])] == name
    ]
    assert len(found) == 1, f"{len(found)} events are called {name!r}"
    return found[0]


def attributes(capture: Capture, name: str) -> dict[str, Any]:
    """All attributes of the only event with this name."""
    row = named(capture, name)
    kind = capture.kind_of_code[int(capture.events.kind[row])]
    table = capture.kinds[kind]
    texts = {spec.name for spec in table.spec.attributes if spec.dtype == "string"}
    return {
        key: capture.strings[value] if key in texts and value is not None else value
        for key, value in table.at(row).items()
    }


def count(capture: Capture, kind: str) -> int:
    """How many events of a kind there are."""
    return len(capture.kinds[kind].rows) if kind in capture.kinds else 0


def links(capture: Capture, kind: str) -> set[tuple[str, str]]:
    """Names of the events joined by links of a kind."""
    name = capture.events.name
    found = set()
    for source, target, code in zip(
        capture.links.from_row.tolist(),
        capture.links.to_row.tolist(),
        capture.links.kind.tolist(),
        strict=True,
    ):
        if capture.links.kind_name(code) == kind:
            found.add((capture.strings[int(name[source])], capture.strings[int(name[target])]))
    return found


def nesting(capture: Capture, uri: str) -> list[tuple[int, str]]:
    """(depth, name) of a track's events in order of start, then depth."""
    track = capture.track(uri)
    found: list[tuple[int, int, str]] = []
    for depth, lane in enumerate(capture.track_lanes(track.index)):
        first = int(capture.lanes.first[lane])
        found += [
            (int(capture.events.start[row]), depth, capture.strings[int(capture.events.name[row])])
            for row in range(first, first + int(capture.lanes.count[lane]))
        ]
    return [(depth, name) for _start, depth, name in sorted(found)]


def x(
    name: str, ts: float | str, dur: float | str | None, *, pid: Any = 1, tid: Any = 1, **more: Any
) -> dict[str, Any]:
    """A complete event; times may be invalid."""
    return {"ph": "X", "name": name, "ts": ts, "dur": dur, "pid": pid, "tid": tid, **more}


def e(phase: str, name: str, ts: float, *, pid: Any = 1, tid: Any = 1, **more: Any) -> dict[str, Any]:
    """An event of any other phase."""
    return {"ph": phase, "name": name, "ts": ts, "pid": pid, "tid": tid, **more}


def skipped(capture: Capture) -> dict[str, int]:
    """Counts of skipped items."""
    return {entry.what: entry.count for entry in capture.skipped}


def rank_file(
    tmp_path: Path,
    rank: int,
    shift_us: float,
    *,
    base: int | None = None,
    steps: range = range(3),
    info: bool = True,
    all_reduce: bool = False,
    late_us: float = 0,
) -> Path:
    """A trace of three steps; the clock of the rank is ahead by ``shift_us``, its steps end ``late_us`` late."""
    events: list[dict[str, Any]] = []
    for step in steps:
        start = shift_us + step * 1000
        events += [
            x(f"ProfilerStep#{step}", start, 900 + late_us, pid=40, tid=41, cat="user_annotation"),
            x("cudaLaunchKernel", start + 10, 5, pid=40, tid=41, cat="cuda_runtime", args={"correlation": 100 + step}),
            x(f"kernel of rank {rank}", start + 50, 100, pid=0, tid=7, cat="kernel",
              args={"device": 0, "context": 1, "stream": 7, "correlation": 100 + step}),
        ]  # fmt: skip
        if all_reduce:
            events.append(
                x("ncclDevKernel_AllReduce_Sum_f32_RING_LL", start + 300, 200, pid=0, tid=9, cat="kernel",
                  args={"device": 0, "context": 1, "stream": 9, "correlation": 0})
            )  # fmt: skip
    header: dict[str, Any] = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU"}]}
    if info:
        header["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": 2}
    if base is not None:
        header["baseTimeNanoseconds"] = base
    return trace_file(tmp_path, events, f"rank{rank}.json", **header)
