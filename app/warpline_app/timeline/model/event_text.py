"""Tooltip text of an event: time, duration, place, shape, and what matters most about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from warpline.i18n import tr, tr_n, translated
from warpline.model import Flag, format_duration, format_time
from warpline_app.timeline.model.curves import counter_text, share_text
from warpline_app.timeline.model.links import delay_of_launch, launching_call
from warpline_app.timeline.model.wait_text import state_line, wait_lines

if TYPE_CHECKING:
    from warpline.storage import Capture


@dataclass(frozen=True)
class EventText:
    """``title`` is the name; ``lines`` follow in order, the first in full colour."""

    title: str
    lines: tuple[str, ...]

    def plain(self) -> str:
        """The whole text, for the clipboard and assistive technology."""
        return "\n".join((self.title, *self.lines))


def describe_event(capture: Capture, row: int, origin_ns: int) -> EventText:
    """The text of an event; times count from ``origin_ns``."""
    start, stop = capture.event_span(row)
    code = int(capture.events.kind[row])
    kind = capture.kind_of_code.get(code, "other")
    values = capture.kinds[kind].at(row) if kind in capture.kinds else {}
    name = capture.strings[int(capture.events.name[row])] or tr("(no name)", "timeline")
    full = values.get("demangled_name")
    if isinstance(full, int) and capture.strings[full]:
        name = capture.strings[full]
    if kind == "thread_state":
        name = translated(name)
    where = place_of(capture, row)
    resolution = max(1, (stop - start) // 100)
    at = format_time(start - origin_ns, resolution)
    if stop == start:
        first = tr("at {time}   {where}", "timeline", time=at, where=where)
    else:
        first = tr(
            "{duration}   at {time}   {where}",
            "timeline",
            duration=format_duration(stop - start),
            time=at,
            where=where,
        )
    lines = [first, *_shape(capture, kind, values)]
    lines += _sentence(capture, row, kind, values)
    lines += wait_lines(capture, row)
    lines += state_line(capture, row)
    lines += _flags(int(capture.events.flags[row]))
    return EventText(name, tuple(line for line in lines if line))


def place_of(capture: Capture, row: int) -> str:
    """An event's place: its track's title, plus its thread or device if needed."""
    track = capture.tracks[capture.track_of_row(row)]
    if track.thread is not None:
        thread = capture.threads[track.thread]
        owner = f"{thread.name} {thread.tid}".strip()
        return owner if track.role in {"thread", "state"} else f"{translated(track.title)} · {owner}"
    if track.device is not None and track.role == "stream":
        return translated(f"GPU {track.device} · {track.title}")
    return translated(track.title) or track.uri


def _shape(capture: Capture, kind: str, values: dict[str, Any]) -> list[str]:
    parts: list[str] = []
    if kind == "kernel":
        for title, key in ((tr("grid", "timeline"), "grid"), (tr("block", "timeline"), "block")):
            size = [values.get(f"{key}_{axis}") for axis in "xyz"]
            if None not in size and any(size):
                parts.append(f"{title} {'×'.join(str(value) for value in size)}")
        registers = values.get("registers_per_thread")
        if registers:
            parts.append(tr_n("{count} reg", "{count} regs", registers, "timeline"))
        shared = (values.get("static_shared_memory_bytes") or 0) + (
            values.get("dynamic_shared_memory_bytes") or 0
        )
        if shared:
            parts.append(tr("shared {size}", "timeline", size=counter_text(shared, "bytes")))
        occupancy = values.get("occupancy_ratio")
        if occupancy is not None:
            parts.append(tr("occupancy {share}", "timeline", share=share_text(float(occupancy))))
    elif kind in {"memcpy", "memset"}:
        size_bytes = values.get("bytes")
        if size_bytes is not None:
            parts.append(counter_text(float(size_bytes), "bytes"))
        parts += _enumerated(capture, kind, values, ("copy_kind", "src_kind", "dst_kind", "memory_kind"))
    elif kind == "operator":
        parts += _strings(capture, values, ("input_shapes",))
    elif kind == "range":
        parts += _strings(capture, values, ("domain", "category", "payload"))
    elif kind == "memory":
        parts += _enumerated(capture, kind, values, ("operation", "memory_kind"))
        if values.get("bytes") is not None:
            parts.append(counter_text(float(values["bytes"]), "bytes"))
    elif kind in {"phase", "osrt", "other"}:
        parts += _strings(capture, values, ("category", "arguments"))
    elif kind == "thread_state":
        # The reason for a wait is in its own lines.
        parts += () if values.get("wait") else map(translated, _strings(capture, values, ("reason",)))
        if values.get("cpu") is not None and values["cpu"] >= 0:
            parts.append(tr("core {number}", "timeline", number=values["cpu"]))
    return ["   ".join(parts)] if parts else []


def _enumerated(capture: Capture, kind: str, values: dict[str, Any], names: tuple[str, ...]) -> list[str]:
    specs = {spec.name: spec for spec in capture.kinds[kind].spec.attributes}
    texts = []
    for name in names:
        value = values.get(name)
        if value is not None and name in specs:
            text = specs[name].enum.get(int(value), str(value))
            if text != "unknown":
                texts.append(translated(text))
    return texts


def _strings(capture: Capture, values: dict[str, Any], names: tuple[str, ...]) -> list[str]:
    texts = []
    for name in names:
        value = values.get(name)
        text = capture.strings[value] if isinstance(value, int) else ""
        if text:
            texts.append(text if len(text) <= 120 else text[:119] + "…")
    return texts


def _sentence(capture: Capture, row: int, kind: str, values: dict[str, Any]) -> list[str]:
    call = launching_call(capture, row)
    result = []
    if call is not None:
        name = capture.strings[int(capture.events.name[call])]
        delay = delay_of_launch(capture, call, row)
        if delay is None:
            result.append(tr("started before {call} returned", "timeline", call=name))
        else:
            length = format_duration(delay)
            result.append(
                tr("started {duration} after {call} returned", "timeline", duration=length, call=name)
            )
    elif kind == "cuda_api":
        started = [int(other) for other in capture.links_from(row)[0].tolist() if other >= 0]
        if len(started) == 1:
            result.append(_work_of_call(capture, row, started[0]))
        elif started:
            result.append(
                tr_n(
                    "launched {count} GPU activity",
                    "launched {count} GPU activities",
                    len(started),
                    "timeline",
                )
            )
        failed = values.get("return_value")
        if failed:
            text = values.get("return_name")
            named = capture.strings[text] if isinstance(text, int) else ""
            result.append(tr("failed with {error}", "timeline", error=named or failed))
    return result


def _work_of_call(capture: Capture, call: int, work: int) -> str:
    name = capture.strings[int(capture.events.name[work])][:60]
    delay = delay_of_launch(capture, call, work)
    if delay is None:
        return tr("{name} started before the call returned", "timeline", name=name)
    length = format_duration(delay)
    return tr("{name} started {duration} after the call returned", "timeline", name=name, duration=length)


def _flags(flags: int) -> list[str]:
    descriptions = (
        (Flag.CUT_START, tr("started before the recording", "timeline")),
        (Flag.CUT_END, tr("still running when the recording ended", "timeline")),
        (Flag.TRUNCATED, tr("start or end was lost and is inferred", "timeline")),
        (Flag.ESTIMATED, tr("estimated from samples", "timeline")),
    )
    return [text for flag, text in descriptions if flags & flag]
