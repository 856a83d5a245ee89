"""Adds the counter events (C) of a trace as counters of their processes."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from warpline.i18n import english
from warpline.interchange.framework.columns import clean_text
from warpline.interchange.trace_json.events import Scalar
from warpline.interchange.trace_json.json_repair import json_object
from warpline.interchange.trace_json.piece_columns import Group
from warpline.interchange.trace_json.target import TraceTarget

_JSON_OBJECTS = msgspec.json.Decoder(list[dict[str, Any] | None])


def add_counters(target: TraceTarget, group: Group) -> None:
    """Add counter events: each numeric argument is a series of its process."""
    table = [text or "null" for text in group.texts["payload"].table]
    try:
        arguments = _JSON_OBJECTS.decode(("[" + ",".join(table) + "]").encode())
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        arguments = [json_object(text) for text in table]
    samples: dict[tuple[Scalar, str, str], tuple[list[int], list[float]]] = {}
    names = group.name.table
    unusable = 0
    for thread, name, start, payload in zip(
        group.thread.tolist(),
        group.name.codes.tolist(),
        group.start.tolist(),
        group.texts["payload"].codes.tolist(),
        strict=True,
    ):
        pid = target.thread_of(group.threads[thread])[0]
        usable = False
        for series, value in (arguments[payload] or {}).items():
            number = _number(value)
            if number is None:
                continue
            usable = True
            times, values = samples.setdefault((pid, names[name], series), ([], []))
            times.append(start)
            values.append(number)
        unusable += not usable
    if unusable:
        target.losses[
            english("counter events without a value"), english("none of the arguments is a number")
        ] += unusable
    for (pid, name, series), (times, values) in samples.items():
        exported = target.tracks.header.counters.get((pid, name)) if isinstance(pid, int) else None
        if exported is not None and series == "value":
            track = target.tracks.header_track(exported.track)
            target.builder.add_counter(track, exported.title, exported.unit, times, values)
            target.saw(np.array(times), np.array(times))
            continue
        title = name if series in ("value", "", name) else f"{name} {series}"
        track = target.tracks.counter_track(target.tracks.process(pid), title)
        target.builder.add_counter(track, clean_text(title), "", times, values)
        target.saw(np.array(times), np.array(times))


def _number(value: Any) -> float | None:
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if np.isfinite(number) else None
