"""Table of one rank: its host, its GPU, its peak memory, and its clock."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.report import Table
from warpline.analysis.framework.selection import View
from warpline.analysis.jobs.distribution import recorded
from warpline.analysis.jobs.pinged_clocks import BOUND, ORIGIN, REFERENCE, pinged_clock
from warpline.analysis.jobs.rank_case import RankCase
from warpline.analysis.structure.gpus import gpus
from warpline.analysis.structure.memory_events import memory_events
from warpline.i18n import english

FACTS = "rank_facts"
_HOST_KEYS = ("host_name", "hostname", "host")


def rank_facts(case: RankCase) -> Table:
    """One row: host, GPU, peak bytes allocated, reserved by the allocator, and in use on the GPU, and when the capture
    begins by the clock that pinged its machine. Unrecorded values are masked or None.
    """
    columns = (
        Column("host", english("Host"), Role.TEXT),
        Column("gpu", english("GPU"), Role.TEXT),
        Column("allocated_bytes", english("Peak allocated"), Role.SIZE),
        Column("reserved_bytes", english("Peak reserved"), Role.SIZE),
        Column("used_bytes", english("Peak in use on the GPU"), Role.SIZE),
        Column(REFERENCE, english("Clock"), Role.CODE),
        Column(ORIGIN, english("Start"), Role.TIME),
        Column(BOUND, english("Clock error"), Role.DURATION),
    )
    view = case.view
    allocated, reserved = _allocator(view)
    clock = pinged_clock(view.capture.meta)
    return Table(
        columns,
        {
            "host": [_host(view)],
            "gpu": [_gpu_name(view)],
            "allocated_bytes": recorded(np.array([allocated])),
            "reserved_bytes": recorded(np.array([reserved])),
            "used_bytes": recorded(np.array([_in_use(view)])),
            REFERENCE: [None if clock is None else clock.reference],
            ORIGIN: np.array([0 if clock is None else clock.origin_ns], np.int64),
            BOUND: np.array([0 if clock is None else clock.bound_ns], np.int64),
        },
    )


def _gpu_name(view: View) -> str | None:
    numbers = {(gpu.rank, gpu.device) for gpu in gpus(view)}
    devices = view.capture.devices
    names = [
        device.name
        for device in devices
        if (device.rank, device.index) in numbers or (None, device.index) in numbers
    ]
    return next((name for name in names if name), None)


def _host(view: View) -> str | None:
    """The host name from the recording or from a trace header (Kineto's ``host_name``)."""
    meta = view.capture.meta
    host = meta.get("host")
    if isinstance(host, dict) and isinstance(host.get("name"), str) and host["name"]:
        return str(host["name"])
    headers = meta.get("trace_header")
    for header in headers.values() if isinstance(headers, dict) else []:
        if name := _header_host(header):
            return name
    return None


def _header_host(header: Any) -> str | None:
    if isinstance(header, dict):
        for key in _HOST_KEYS:
            value = header.get(key)
            if isinstance(value, str) and value.strip():
                return value.strip()
    return None


def _allocator(view: View) -> tuple[float, float]:
    """Peak bytes allocated and reserved by the framework's allocator; NaN when not recorded."""
    if not view.has("memory"):
        return np.nan, np.nan
    events = memory_events(view)
    return _peak(events.allocated), _peak(events.total_reserved)


def _peak(values: npt.NDArray[np.int64]) -> float:
    known = np.ma.getdata(values)[~np.ma.getmaskarray(values)]
    return float(known.max()) if len(known) else np.nan


def _in_use(view: View) -> float:
    """Peak bytes in use on any GPU by its counters; NaN without such a counter."""
    most = np.nan
    for track, counters in view.capture.counters_of_tracks.items():
        if view.capture.tracks[track].device is None:
            continue
        for counter in counters:
            if counter.unit == "bytes" and "memory used" in counter.name.lower() and len(counter.values):
                most = np.fmax(most, float(np.nanmax(counter.values)))
    return float(most)
