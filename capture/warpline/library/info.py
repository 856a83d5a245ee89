"""The contents of a capture as plain values, for `info --json`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from warpline.storage import Capture


def describe(capture: Capture) -> dict[str, Any]:
    """The contents of a capture as plain values, with the keys of ``info --json``."""
    lanes = {track.index: len(capture.track_lanes(track.index)) for track in capture.tracks}
    events = {
        track.index: capture.rows_of_track(track.index).stop - capture.rows_of_track(track.index).start
        for track in capture.tracks
    }
    return {
        "format_version": capture.format_version[0],
        "format_minor_version": capture.format_version[1],
        "writer": capture.writer,
        "uuid": capture.uuid,
        "path": str(capture.path),
        "duration_ns": capture.duration_ns,
        "span_ns": list(capture.span),
        "events": len(capture.events),
        "kinds": {name: len(table) for name, table in capture.kinds.items()},
        "tracks": [
            {
                "uri": track.uri,
                "title": track.title,
                "role": track.role,
                "events": events[track.index],
                "lanes": lanes[track.index],
                **({"attributes": dict(track.attributes)} if track.attributes else {}),
            }
            for track in capture.tracks
        ],
        "links": capture.links.counts(),
        "processes": [asdict(process) for process in capture.processes],
        "threads": [asdict(thread) for thread in capture.threads],
        "gpus": [{**asdict(device), "properties": dict(device.properties)} for device in capture.devices],
        "counters": [
            {
                "track": capture.tracks[counter.track].uri,
                "name": counter.name,
                "unit": counter.unit,
                "samples": len(counter.values),
            }
            for counter in capture.counters
        ],
        "clocks": [asdict(clock) for clock in capture.clocks],
        "pauses_ns": capture.pauses.tolist(),
        "sources": [asdict(source) for source in capture.sources],
        "skipped": [asdict(entry) for entry in capture.skipped],
        "warnings": list(capture.warnings),
        "notices": list(capture.notices),
        "unknown": list(capture.unknown),
        "meta": dict(capture.meta),
    }
