"""Allocations and releases in PyTorch and Paddle traces, as events and as counters of used memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from warpline.i18n import english
from warpline.interchange.framework.columns import NO_INTEGER, TextColumn, distinct_rows
from warpline.interchange.trace_json.piece_columns import Group
from warpline.interchange.trace_json.target import TraceTarget, name_ids, payload_of
from warpline.model import Flag

# c10::DeviceType: 0 CPU, 1 CUDA, 6 HIP, 9 XLA, 20 privately used.
_DEVICE_TYPES: Mapping[int, str] = {0: "CPU", 1: "GPU", 6: "GPU", 9: "XLA", 12: "XPU", 20: "device"}


def add_memory(target: TraceTarget, group: Group) -> None:
    """Add the memory instants of a Kineto trace, and counters of their totals.

    ``group.numbers`` holds size (negative for releases), address, totals, and the type and number of the device.
    """
    kinds, places = group.numbers["device_type"], group.numbers["device"]
    pairs, codes = distinct_rows(np.ma.filled(kinds, NO_INTEGER), np.ma.filled(places, NO_INTEGER))
    names = [
        device_name(None if kind == NO_INTEGER else kind, None if place == NO_INTEGER else place)
        for kind, place in pairs
    ]
    add_allocations(
        target,
        group,
        TextColumn(codes.astype(np.uint32), names),
        size=group.numbers["size"],
        address=group.numbers["address"],
        allocated=group.numbers["allocated"],
        reserved=group.numbers["reserved"],
    )


def device_name(kind: int | None, index: int | None) -> str:
    """``CPU``, ``GPU 0`` … for PyTorch's device type and number; "" if unknown."""
    if kind is None:
        return ""
    name = _DEVICE_TYPES.get(kind, f"device type {kind}")
    return name if index is None or index < 0 else f"{name} {index}"


def add_allocations(
    target: TraceTarget,
    group: Group,
    devices: TextColumn,
    *,
    size: Any,
    address: Any,
    allocated: Any,
    reserved: Any,
) -> None:
    """Add instants as memory events of their threads, and the totals as counters of their processes.

    ``size`` is the change in bytes, negative for a release; all columns may be masked.
    """
    builder = target.builder
    release = np.ma.getdata(size) < 0
    names = np.where(release, builder.string("release"), builder.string("allocation")).astype(np.uint32)
    device_ids = name_ids(builder, devices)
    target.add_slices(
        group,
        "memory",
        "memory",
        {
            "operation": release.astype(np.uint8),
            "address": np.ma.masked_less(address, 0),
            "bytes": np.ma.abs(size),
            "total_allocated_bytes": allocated,
            "total_reserved_bytes": reserved,
            "device": np.ma.MaskedArray(device_ids, device_ids == 0),
            **({"event_index": group.numbers["index"]} if "index" in group.numbers else {}),
            **payload_of(builder, group),
        },
        flags=int(Flag.INSTANT),
        names=names,
    )
    for title, values in (
        (english("Allocated memory {device}"), allocated),
        (english("Reserved memory {device}"), reserved),
    ):
        _add_totals(target, group, devices, title, values)


def _add_totals(target: TraceTarget, group: Group, devices: TextColumn, title: str, values: Any) -> None:
    known = ~np.ma.getmaskarray(values)
    if not known.any():
        return
    pids = [target.thread_of(key)[0] for key in group.threads]
    distinct = list(dict.fromkeys(pids))
    pid_of = np.array([distinct.index(pid) for pid in pids])[group.thread]
    for number, pid in enumerate(distinct):
        for code, device in enumerate(devices.table):
            chosen = np.flatnonzero(known & (pid_of == number) & (devices.codes == code))
            if len(chosen):
                name = title.format(device=device).strip()
                track = target.tracks.counter_track(target.tracks.process(pid), name)
                totals = np.ma.getdata(values)[chosen].astype(np.float64)
                target.builder.add_counter(track, name, "bytes", group.start[chosen], totals)
