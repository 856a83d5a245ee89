"""Turns Paddle's events into operators and ranges below their threads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.i18n import english
from warpline.model import AttributeSpec, Flag, KindSpec
from warpline.recording.agent.reported_sources import add_agent_source
from warpline.recording.session import LATEST_NS
from warpline.recording.sources.paddle.records import (
    FRAMEWORK_EVENT,
    FRAMEWORK_INPUT,
    FRAMEWORK_MEMORY,
    framework_event,
    framework_input,
    framework_memory,
)
from warpline.recording.sources.paddle.static_phases import PHASES, RUN, phases_of_runs, role_of
from warpline.recording.spool.reader import Records, SpoolFile
from warpline.recording.spool.spool_to_tracks import Translation
from warpline.recording.spool.string_columns import capture_strings
from warpline.storage import CaptureBuilder

_OPERATORS = {0: "Operator", 8: "OperatorInner", 15: "DygraphKernelLaunch", 16: "StaticKernelLaunch"}
_RANGES = {7: "UserDefined", 12: "Communication"}
"""Names of Paddle's types of events, by Paddle's numbers (`warpline.analysis.structure.event_types`)."""
_CATEGORY = AttributeSpec("category", "string", "Category")
_SHAPES = AttributeSpec("input_shapes", "string", "Input shapes")
_PLACES = {1: "CPU", 2: "GPU", 3: "pinned memory", 4: "XPU", 5: "XPU pinned memory", 7: "IPU"}
"""Paddle's types of places (``AllocationType`` in paddle/phi/common/place.h)."""
_HAS_NUMBER = frozenset({2, 4, 7})
_MEMORY = ("allocation", "release", "reserved allocation", "reserved release")
"""Names of memory events, by Paddle's numbers (``TracerMemEventType``)."""


def translate(translation: Translation, spools: Sequence[SpoolFile], builder: CaptureBuilder) -> None:
    """Add Paddle's operators with their parts, and its other ranges."""
    is_used = False
    for spool in spools:
        if spool.header.producer != "agent":
            continue
        events = spool.records(FRAMEWORK_EVENT, framework_event)
        start, stop = events.values["start_ns"].astype(np.int64), events.values["end_ns"].astype(np.int64)
        good = (start > 0) & (start <= stop) & (stop < LATEST_NS)
        if not good.any():
            continue
        if not is_used:
            is_used = True
            builder.add_kind(KindSpec("operator", "Operator", "range", "operator", (_CATEGORY, _SHAPES)))
        values, start, stop = events.values[good], start[good], stop[good]
        thread = translation.threads.lookup(spool.header.pid, events.tid[good], start)
        shapes = _shapes(spool, builder, events.tid[good], start)
        kinds = (("operator", "operators", _OPERATORS), ("range", "ranges", _RANGES))
        for number in np.unique(thread).tolist():
            for kind, path, names in kinds:
                rows = np.flatnonzero((thread == number) & np.isin(values["type"], list(names)))
                if not len(rows):
                    continue
                texts = np.zeros(max(names) + 1, np.uint32)
                texts[list(names)] = builder.strings(list(names.values()))
                builder.add_events(
                    translation.below_thread(number, path),
                    kind,
                    translation.capture_time(start[rows]),
                    stop[rows] - start[rows],
                    capture_strings(spool, builder, values["name"][rows].copy()),
                    attributes={
                        "category": texts[values["type"][rows]],
                        **({"input_shapes": shapes[rows]} if kind == "operator" else {}),
                    },
                )
        _add_phases(translation, spool, builder, values, thread, start, stop)
        _add_memory(translation, spool, builder)
    add_agent_source(
        translation, spools, builder, name="paddle", never_used=english("no recorded process imported Paddle")
    )


def _add_phases(
    translation: Translation,
    spool: SpoolFile,
    builder: CaptureBuilder,
    values: npt.NDArray[np.void],
    thread: npt.NDArray[np.int64],
    start: npt.NDArray[np.int64],
    stop: npt.NDArray[np.int64],
) -> None:
    """Add the phases of static graphs, on the threads that ran these."""
    names, code = np.unique(values["name"], return_inverse=True)
    texts = [spool.text(number) for number in names.tolist()]
    is_run = np.array([text == RUN for text in texts], bool)[code]
    if not is_run.any():
        return
    runs, operators = np.flatnonzero(is_run), np.flatnonzero(values["type"] == 0)
    roles = np.array([role_of(text) for text in texts], np.int64)[code]
    run, phase, begin, end = phases_of_runs(
        start[runs], stop[runs], start[operators], stop[operators], roles[operators]
    )
    if not len(run):
        return
    builder.add_kind(KindSpec("phase", "Phase", "range", "phase", (_CATEGORY,)))
    titles = np.array(builder.strings(list(PHASES)), np.uint32)
    for number in np.unique(thread[runs[run]]).tolist():
        own = np.flatnonzero(thread[runs[run]] == number)
        builder.add_events(
            translation.below_thread(number, "phases"),
            "phase",
            translation.capture_time(begin[own]),
            end[own] - begin[own],
            titles[phase[own]],
            attributes={"category": titles[phase[own]]},
        )


def _shapes(
    spool: SpoolFile, builder: CaptureBuilder, tid: npt.NDArray[Any], start: npt.NDArray[np.int64]
) -> npt.NDArray[Any]:
    """String ids of the shapes of each event's inputs, masked where they were not recorded."""
    inputs: Records = spool.records(FRAMEWORK_INPUT, framework_input)
    found = np.ma.MaskedArray(np.zeros(len(start), np.uint32), True)
    if not len(inputs.tid):
        return found
    own = inputs.tid.astype(np.int64), inputs.values["start_ns"].astype(np.int64)
    order = np.lexsort(own[::-1])
    keys = np.rec.fromarrays([column[order] for column in own])
    wanted = np.rec.fromarrays([tid.astype(np.int64), start])
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    is_known = keys[place] == wanted
    texts = capture_strings(spool, builder, inputs.values["shapes"][order].copy())
    found[is_known] = texts[place[is_known]]
    return found


def _add_memory(translation: Translation, spool: SpoolFile, builder: CaptureBuilder) -> None:
    """Add allocations and releases of the threads that made them."""
    records = spool.records(FRAMEWORK_MEMORY, framework_memory)
    time = records.values["time_ns"].astype(np.int64)
    good = (time > 0) & (time < LATEST_NS) & (records.values["operation"] < len(_MEMORY))
    if not good.any():
        return
    values, time, tid = records.values[good], time[good], records.tid[good]
    thread = translation.threads.lookup(spool.header.pid, tid, time)
    names = np.array(builder.strings(list(_MEMORY)), np.uint32)
    codes = values["place_type"].astype(np.int64) << 8 | values["device"]
    known, code = np.unique(codes, return_inverse=True)
    devices = np.array(builder.strings([_device(number >> 8, number & 255) for number in known.tolist()]))
    for number in np.unique(thread).tolist():
        rows = np.flatnonzero(thread == number)
        part = values[rows]
        builder.add_events(
            translation.below_thread(number, "memory"),
            "memory",
            translation.capture_time(time[rows]),
            0,
            names[part["operation"]],
            flags=Flag.INSTANT,
            attributes={
                "operation": (part["operation"] & 1).astype(np.uint8),
                "address": part["address"],
                "bytes": part["bytes"].astype(np.int64),
                "device": devices[code[rows]].astype(np.uint32),
            },
        )


def _device(place: int, number: int) -> str:
    name = _PLACES.get(place, f"place {place}")
    return f"{name} {number}" if place in _HAS_NUMBER else name
