"""Tools that open captures and say what is in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warpline.agents.session import ToolCall
from warpline.agents.texts import joined, paged
from warpline.agents.tool import CAPTURE, TRACK, Tool, ToolArgument
from warpline.model.errors import UsageError, WarplineError
from warpline.model.times import format_duration

if TYPE_CHECKING:
    from warpline.library.capture_reader import CaptureReader

_MOST_KINDS = 40
_MOST_ARGUMENTS = 300
_MOST_REASONS = 4


def _open(call: ToolCall, given: dict[str, Any]) -> str:
    session = call.session
    path = session.roots.checked(given["path"])
    if not path.exists():
        raise UsageError(f"{path}: no such file")
    is_new = not session.contains(path)
    name = session.name(path)
    try:
        reader = call.reader(name)
    except WarplineError:
        if is_new:
            session.forget(name)
        raise
    return joined([f"opened as: {name}", *_contents(call, reader, _MOST_REASONS)])


def _contents(call: ToolCall, reader: CaptureReader, most_reasons: int | None = None) -> list[str]:
    """What is in a capture, and what is not: why, unless that would be more than ``most_reasons`` lines."""
    capture = reader.storage
    counts = (
        f"{len(capture.events):,} events in {format_duration(capture.duration_ns)}; {len(capture.tracks):,} tracks, "
        f"{len(capture.processes):,} processes, {len(capture.threads):,} threads"
    )
    lines = [counts]
    words = capture.meta.get("command_line")
    if isinstance(words, list) and not call.session.privacy.is_redacted:
        lines.append(f"command: {' '.join(map(str, words))[:_MOST_ARGUMENTS]}")
    lines += [f"GPU {device.index}: {device.name or 'unnamed'}" for device in capture.devices[:16]]
    kinds = [f"{name} {len(table):,}" for name, table in capture.kinds.items() if len(table)]
    lines.append(f"kinds: {', '.join(kinds[:_MOST_KINDS]) or 'none'}")
    recorded = [source.name for source in capture.sources if source.enabled]
    if recorded:
        lines.append(f"recorded: {', '.join(recorded)}")
    missing = [source.name for source in capture.sources if not source.enabled]
    is_short = most_reasons is not None and len(missing) > most_reasons
    if is_short:
        lines.append(f"not recorded: {', '.join(missing)} (info says why, and how to record it)")
    for source in capture.sources:
        if not source.enabled:
            if is_short:
                continue
            remedy = f"; to record it: {source.remedy}" if source.remedy else ""
            lines.append(f"not recorded: {source.name}: {source.reason}{remedy}")
        elif source.lost:
            lines.append(f"lost: {source.name}: {source.lost:,} records")
    if capture.skipped:
        lines.append(f"left out of the file: {sum(entry.count for entry in capture.skipped):,} entries")
    lines += [f"warning: {text}" for text in (*capture.notices, *capture.warnings)[:5]]
    from warpline.library.program_end import how_it_failed

    if failure := how_it_failed(capture.program_end):
        lines.append(f"the program {failure}")
    return lines


def _info(call: ToolCall, given: dict[str, Any]) -> str:
    if given["capture"] is None and not call.session.names:
        roots = ", ".join(map(str, call.session.roots.folders)) or "none"
        return f"no capture is open; open_capture opens files below: {roots}"
    if given["capture"] is None and len(call.session.names) > 1:
        return f"open: {', '.join(call.session.names)}"
    reader = call.reader(given["capture"])
    if given["track"] is None:
        return joined(_contents(call, reader))
    from warpline.model.track_patterns import match_tracks

    chosen = match_tracks(reader.tracks, [given["track"]])
    tracks = [track for track in reader.tracks if chosen is None or track.index in chosen]
    first, rows = given["offset"], given["rows"]
    shown = tracks[first : first + rows]
    lines = ["uri\trole\tevents\ttitle"]
    for track in shown:
        own = reader.storage.rows_of_track(track.index)
        lines.append(f"{track.uri}\t{track.role}\t{own.stop - own.start}\t{track.title}")
    return joined([*lines, paged(first, len(shown), len(tracks), "tracks")])


TOOLS = (
    Tool(
        name="open_capture",
        description="Open a capture or another profiler's trace. Says what it holds, what was not recorded and why.",
        run=_open,
        arguments={"path": ToolArgument("string", "file below the allowed folders")},
        required=("path",),
    ),
    Tool(
        name="info",
        description="What a capture holds; with track (* for all) the URIs of its tracks.",
        run=_info,
        arguments={
            "capture": CAPTURE,
            "track": TRACK,
            "rows": ToolArgument("integer", default=20, most=200),
            "offset": ToolArgument("integer", default=0),
        },
    ),
)
