"""The tables in the header of a Chrome trace, from which importing it restores tracks, processes and counters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from warpline.interchange.export.chrome_json.rows import Rows, TraceRow

if TYPE_CHECKING:
    from warpline.storage import Capture


def header_tables(
    capture: Capture, rows: Rows, written: Mapping[int, TraceRow], counters: Iterable[tuple[int, int, str]]
) -> dict[str, Any]:
    """The tables. ``written`` are the rows of tracks, ``counters`` are (index, pid in the trace, name there).

    Tracks follow their parents; ``up`` is the index of the parent, -1 for none.
    """
    listed = list(counters)
    wanted = [*written, *(capture.counters[number].track for number, _pid, _name in listed)]
    place: dict[int, int] = {}
    tracks: list[dict[str, Any]] = []

    def add(index: int) -> int:
        if index in place:
            return place[index]
        track = capture.tracks[index]
        entry: dict[str, Any] = {
            "uri": track.uri,
            "title": track.title,
            "role": track.role,
            "sort": track.sort_key,
            "up": add(track.parent) if track.parent >= 0 else -1,
        }
        entry |= {
            key: value
            for key in ("device", "context", "stream", "rank")
            if (value := getattr(track, key)) is not None
        }
        if track.process is not None:
            entry["process"] = rows.pid_of(track.process)
        if track.thread is not None:
            entry["thread"] = rows.tid_of(track.thread)
        row = written.get(index)
        if row is not None and not row.is_async:
            entry["row"] = [row.pid, row.tid]
            entry["is_shared"] = row.is_shared
        tracks.append(entry)
        place[index] = len(tracks) - 1
        return place[index]

    for index in dict.fromkeys(wanted):
        add(index)
    processes = [
        {"pid": rows.pid_of(index), "number": process.pid, "name": process.name, "rank": process.rank}
        for index, process in enumerate(capture.processes)
    ]
    threads = [
        {
            "process": rows.pid_of(thread.process),
            "number": rows.tid_of(index),
            "recorded": thread.tid,
            "name": thread.name,
        }
        for index, thread in enumerate(capture.threads)
    ]
    return {
        "tracks": tracks,
        "processes": processes,
        "threads": threads,
        "counters": [
            {
                "pid": pid,
                "name": name,
                "track": place[capture.counters[number].track],
                "title": capture.counters[number].name,
                "unit": capture.counters[number].unit,
            }
            for number, pid, name in listed
        ],
    }
